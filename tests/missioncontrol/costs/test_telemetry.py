"""Usage is counted from one source a run, the best present, and once."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from guard.turn import Usage
from missioncontrol.costs import selectors
from missioncontrol.costs.ledger import Call
from missioncontrol.costs.models import Spend
from missioncontrol.costs.telemetry import (
    TimedStart,
    attach_calls_to_turns,
    count_calls,
    match_calls_to_tools,
)
from missioncontrol.detection import engine_cache, pipeline
from missioncontrol.runs.models import JournalRow, ModelCall, Run, Turn
from tests.build import NOON, a_call, a_project, a_proposal, a_run, after, judged, put, report

pytestmark = pytest.mark.django_db

USAGE = Usage(input=1200, cache_write_5m=300, cache_read=9000, output=42)
"""Sonnet at 3.00, 3.75, 0.30 and 15.00 dollars a million: 0.008055."""
SONNET = {"model": "claude-sonnet-4-5", "provider": "anthropic", "usage": USAGE}


def a_model_call(call_id="c1", source="logs", **fields):
    fields = {**SONNET, "agent": "coder", **fields}
    return Call(call_id=call_id, source=source, **fields)


def tell(run, *calls, at=NOON):
    count_calls({run.id: calls}, at=at)
    run.refresh_from_db()
    return run


def figures(run):
    meters = run.meters
    return meters.cost_usd, meters.input_tokens, meters.output_tokens, meters.usage_source


def spent(project, scope):
    return {
        row.name: (row.usd, row.tokens)
        for row in Spend.objects.filter(project=project, scope=scope)
    }


def test_the_agents_own_telemetry_is_priced_as_by_hand():
    run = tell(a_run(), a_model_call())

    assert figures(run) == (Decimal("0.008055"), 1200, 42, "logs")


def test_the_agents_own_figure_wins_over_the_price_list():
    run = tell(a_run(), a_model_call(cost_usd=Decimal("0.5")))

    assert run.meters.cost_usd == Decimal("0.5")
    assert ModelCall.objects.get(run=run).cost_usd == Decimal("0.5")


def test_the_same_call_reported_twice_counts_once():
    run = tell(a_run(), a_model_call(), a_model_call())

    assert figures(tell(run, a_model_call())) == (Decimal("0.008055"), 1200, 42, "logs")


def test_a_better_source_replaces_what_a_worse_one_reported():
    run = report(
        a_run(), a_call("ls", call_id="m1", **SONNET), a_call("id", call_id="m2", **SONNET)
    )
    assert figures(run) == (Decimal("0.016110"), 2400, 84, "turns")

    run = tell(run, a_model_call())

    assert figures(run) == (Decimal("0.008055"), 1200, 42, "logs")
    assert [call.call_id for call in ModelCall.objects.filter(run=run).order_by("pk")] == ["c1"]


def test_later_reports_of_a_worse_source_are_ignored():
    run = tell(a_run(), a_model_call())

    run = report(run, a_call("ls", call_id="m1", **SONNET))
    run = tell(run, a_model_call("s1", source="spans"), a_model_call("t1", source="transcript"))

    assert figures(run) == (Decimal("0.008055"), 1200, 42, "logs")
    assert run.meters.tool_calls == 1


def test_of_two_sources_in_one_batch_the_better_is_counted():
    run = tell(
        a_run(),
        a_model_call("s1", source="spans"),
        a_model_call("c1"),
        a_model_call("s2", source="spans"),
    )

    assert figures(run) == (Decimal("0.008055"), 1200, 42, "logs")


@pytest.mark.parametrize("worse", ["turns", "transcript", "spans"])
def test_each_worse_source_gives_way(worse):
    run = tell(a_run(), a_model_call("w", source=worse, cost_usd=Decimal(9)))

    assert figures(tell(run, a_model_call())) == (Decimal("0.008055"), 1200, 42, "logs")


def in_a_resumed_session(run, *, minutes, **moments):
    """Telemetry is switched on long after a transcript told of twelve dollars."""
    old = a_model_call("t1", source="transcript", cost_usd=Decimal(12))
    run = tell(tell(run, old), a_model_call("t2", source="transcript"), at=after(minutes * 60))
    return tell(run, a_model_call("c1", **moments), at=after(minutes * 60 + 5))


def test_what_was_used_before_a_better_source_began_stays_counted():
    run = in_a_resumed_session(a_run(), minutes=60, made_at=after(3601), began_at=after(3600))

    assert figures(run) == (Decimal("12.008055"), 2400, 84, "logs")
    assert [call.call_id for call in ModelCall.objects.filter(run=run).order_by("pk")] == [
        "t1",
        "c1",
    ]
    assert Decimal(run.meters.recent_costs[-1][1]) == Decimal("0.008055")


def test_everything_is_replaced_if_the_better_source_gives_no_time():
    run = in_a_resumed_session(a_run(), minutes=60)

    assert figures(run) == (Decimal("0.008055"), 1200, 42, "logs")


def test_an_agents_clock_that_is_ahead_lets_nothing_count_twice():
    run = in_a_resumed_session(a_run(), minutes=60, made_at=after(9000), began_at=after(8999))

    assert figures(run) == (Decimal("12.008055"), 2400, 84, "logs")


def test_a_better_source_that_tells_its_first_call_last_lets_nothing_count_twice():
    run = tell(a_run(), a_model_call("t1", source="transcript"), at=NOON)
    run = tell(run, a_model_call("t2", source="transcript"), at=after(600))

    run = tell(run, a_model_call("c2", made_at=after(600)), at=after(605))
    run = tell(run, a_model_call("c1", made_at=NOON), at=after(606))

    assert figures(run) == (Decimal("0.016110"), 2400, 84, "logs")
    assert [call.call_id for call in ModelCall.objects.filter(run=run).order_by("pk")] == [
        "c2",
        "c1",
    ]


def test_a_call_that_a_better_source_tells_by_the_same_name_counts_once_from_it():
    run = tell(a_run(), a_model_call("msg_1", source="spans", cost_usd=Decimal(9)))

    assert figures(tell(run, a_model_call("msg_1"))) == (Decimal("0.008055"), 1200, 42, "logs")
    assert ModelCall.objects.get(run=run).source == "logs"


def test_calls_of_no_known_price_are_unpriced_and_taken_back_as_such():
    run = tell(a_run(), a_model_call(source="spans", model="house-1"))
    assert (run.meters.unpriced_calls, run.meters.cost_usd) == (1, 0)

    assert tell(run, a_model_call("c2")).meters.unpriced_calls == 0


def test_the_judges_calls_stay_when_a_source_is_replaced():
    run = report(a_run(), a_call("ls", call_id="m1", **SONNET))
    judged(run, None, usage=USAGE)

    run = tell(run, a_model_call())

    assert run.meters.unpriced_calls == 1
    assert ModelCall.objects.filter(run=run, source="judge").exists()


def test_what_runs_share_is_corrected_too_on_the_day_it_was_counted():
    project = a_project(budgets={"day": {"usd": "50"}})
    run = report(a_run(project), a_call("ls", call_id="m1", **SONNET))

    tell(run, a_model_call(), at=NOON + timedelta(days=1))

    assert spent(project, "agent") == {"coder": (Decimal("0.008055"), 10542)}
    assert spent(project, "day") == {
        "2026-11-21": (Decimal(0), 0),
        "2026-11-22": (Decimal("0.008055"), 10542),
    }


def test_an_agents_ceiling_in_a_run_sees_the_corrected_figure():
    run = a_run(budget={"agents": {"coder": {"usd": "5"}}})
    run = report(run, a_call("ls", call_id="m1", **SONNET))

    run = tell(run, a_model_call(cost_usd=Decimal("0.02")))

    assert Decimal(run.meters.agents_spent["coder"][0]) == Decimal("0.02")


def test_the_next_call_is_held_when_telemetry_used_up_the_budget():
    run = a_run(budget={"usd": "0.01"})
    report(run, a_call("ls"))
    tell(run, a_model_call("c1"), a_model_call("c2"))

    put(run, a_proposal("pwd"))
    pipeline.detect([run.id], at=after(1))

    run.refresh_from_db()
    assert run.status == "holding"


def test_the_cost_events_add_up_to_the_runs_total():
    run = report(
        a_run(), a_call("ls", call_id="m1", **SONNET), a_call("id", call_id="m2", **SONNET)
    )
    run = tell(run, a_model_call())

    events = JournalRow.objects.filter(run=run, type="cost.attributed").order_by("seq")
    payloads = [json.loads(event.payload) for event in events]
    assert sum(Decimal(one["cost_usd"]) for one in payloads) == run.meters.cost_usd
    assert sum(one["usage"]["cache_read"] for one in payloads) == run.meters.cache_read_tokens
    assert [one["taken_back"] for one in payloads] == [0, 0, 2, 0]


def test_telemetry_does_not_revive_an_ended_run():
    run = a_run()
    Run.objects.filter(pk=run.pk).update(status="completed", ended_at=NOON)

    assert tell(run, a_model_call()).status == "completed"


def test_costs_by_model_are_those_of_the_counted_source():
    run = report(a_run(), a_call("ls", call_id="m1", **{**SONNET, "model": "gpt-5.1"}))
    tell(run, a_model_call())

    found = selectors.list_costs(projects=[run.project_id], group_by="model")

    assert [(row.name, str(row.cost_usd)) for row in found] == [("claude-sonnet-4-5", "0.008055")]


# --- at which turn ---------------------------------------------------------------


def began(name, seconds, agent="coder"):
    return TimedStart(name=name, agent=agent, at=after(seconds))


def test_a_call_is_matched_to_the_first_tool_that_began_after_it():
    calls = [began("c1", 0), began("c2", 10), began("c3", 20)]
    tools = [began("t1", 1), began("t2", 2), began("t3", 12)]

    assert match_calls_to_tools(calls, tools) == {"c1": "t1", "c2": "t3"}


def test_a_call_is_not_matched_to_another_agents_tool():
    calls = [began("c1", 0), began("s1", 5, agent="critic")]

    assert match_calls_to_tools(calls, [began("t1", 6)]) == {"c1": "t1"}


def test_a_turn_shows_the_tokens_and_the_cost_of_the_call_it_came_from():
    run = report(a_run(), a_call("ls", key="toolu_1"))
    tell(run, a_model_call(turn_key="toolu_1"), a_model_call("c2"))

    attach_calls_to_turns([run.id], at=NOON)

    turn = Turn.objects.get(run=run)
    assert (turn.cost_usd, turn.usage["cache_read"]) == (Decimal("0.008055"), 9000)
    assert (turn.call_id, turn.model) == ("c1", "claude-sonnet-4-5")


def test_a_call_reported_before_its_turn_is_attached_once_the_turn_arrives():
    run = tell(a_run(), a_model_call(turn_key="toolu_1"))
    attach_calls_to_turns([run.id], at=NOON)

    run = report(run, a_call("ls", key="toolu_1"))
    attach_calls_to_turns([run.id], at=NOON)

    turn = Turn.objects.get(run=run)
    assert (turn.cost_usd, bool(turn.usage)) == (Decimal("0.008055"), True)
    assert figures(run) == (Decimal("0.008055"), 1200, 42, "logs")


def test_a_call_that_a_better_source_attaches_elsewhere_is_shown_at_one_turn():
    """Of two tools asked for at once, the second may begin first: a hook held up the other."""
    run = report(a_run(), a_call("ls", key="toolu_1"), a_call("id", key="toolu_2"))
    tell(run, a_model_call("msg_1", source="transcript", turn_key="toolu_1"))
    attach_calls_to_turns([run.id], at=NOON)

    tell(run, a_model_call("c1", turn_key="toolu_2"))
    attach_calls_to_turns([run.id], at=NOON)

    turns = Turn.objects.filter(run=run).order_by("seq")
    assert [turn.cost_usd for turn in turns] == [None, Decimal("0.008055")]
    assert [bool(turn.usage) for turn in turns] == [False, True]


@pytest.mark.parametrize("own", [{}, {"call_id": "c1", "usage": Usage(input=1)}])
def test_a_cost_attached_after_the_look_ahead_is_kept(monkeypatch, own):
    run = tell(a_run(), a_model_call(turn_key="toolu_1"))
    put(run, a_call("ls", key="toolu_1", **own))
    look_ahead = engine_cache.look_ahead

    def place_after(run_ids):
        ahead = look_ahead(run_ids)
        attach_calls_to_turns(run_ids, at=NOON)
        return ahead

    monkeypatch.setattr(engine_cache, "look_ahead", place_after)
    pipeline.detect([run.id], at=NOON)

    turn = Turn.objects.get(run=run)
    assert (turn.cost_usd, bool(turn.usage)) == (Decimal("0.008055"), True)
