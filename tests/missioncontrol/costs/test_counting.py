"""What model calls cost: told once each, added up by day, agent, model and run."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from guard.turn import Usage
from missioncontrol.costs import selectors
from missioncontrol.runs.models import JournalRow
from missioncontrol.runs.timeline import show_series
from tests.build import NOON, a_call, a_project, a_proposal, a_run, after, judged, report

pytestmark = pytest.mark.django_db

SONNET = {"model": "claude-sonnet-4-5", "provider": "anthropic"}
USAGE = Usage(input=1200, cache_write_5m=300, cache_read=9000, output=42)
"""At 3.00, 3.75, 0.30 and 15.00 dollars a million: 0.008055."""


def attributed(run):
    rows = JournalRow.objects.filter(run=run, type="cost.attributed").order_by("seq")
    return [json.loads(row.payload) for row in rows]


def costs_of(project, group_by, **fields):
    found = selectors.list_costs(projects=[project.id], group_by=group_by, **fields)
    return {row.name: (row.calls, str(row.cost_usd)) for row in found}


def test_a_model_call_is_attributed_with_its_cache_tiers_and_its_price():
    run = report(a_run(), a_call("ls", call_id="m1", usage=USAGE, **SONNET))

    (row,) = attributed(run)
    assert (row["cost_usd"], row["priced_by"], row["source"]) == (
        "0.008055",
        "price list",
        "turns",
    )
    assert (row["call_id"], row["agent"], row["model"]) == ("m1", "coder", "claude-sonnet-4-5")
    assert (row["usage"]["cache_read"], row["usage"]["cache_write_5m"]) == (9000, 300)


def test_it_is_attributed_once_though_a_proposal_a_completion_and_another_turn_carry_it():
    same = {"call_id": "m1", "usage": USAGE, **SONNET}

    run = report(a_run(), a_proposal(key="a", **same))
    run = report(run, a_call(key="a", result="x", **same), a_call("pwd", **same))

    assert len(attributed(run)) == 1
    assert run.meters.cost_usd == Decimal("0.008055")


@pytest.mark.parametrize("own_figure", [None, Decimal("0.01")])
def test_the_turns_of_one_call_add_up_to_the_run(own_figure):
    """A model that asks for three tools at once is shown, and paid, at the first one's turn."""
    same = {"call_id": "m1", "usage": USAGE, "cost_usd": own_figure, **SONNET}
    run = report(a_run(), a_proposal("ls", key="a", **same), a_proposal("pwd", **same))

    run = report(run, a_call("ls", key="a", result="x", **same), a_call("date", **same))

    shown = show_series(run, points=10).points
    assert [point.tokens for point in shown] == [USAGE.total, 0, 0]
    assert sum(Decimal(point.cost_usd or 0) for point in shown) == run.meters.cost_usd


def test_a_call_without_a_price_is_attributed_as_unpriced():
    run = report(a_run(), a_call(usage=Usage(input=10), model="house-model-1"))

    (row,) = attributed(run)
    assert (row["cost_usd"], row["priced_by"]) == (None, None)


def test_the_agents_own_figure_wins_and_is_labelled_even_without_tokens():
    run = report(a_run(), a_call("ls", cost_usd=Decimal("0.5")))

    assert (attributed(run)[0]["priced_by"], run.meters.cost_usd) == ("agent", Decimal("0.5"))


def test_a_turn_that_names_neither_call_nor_key_is_counted_each_time():
    run = report(a_run(), a_call("ls", key=None, cost_usd=Decimal(1)))

    run = report(run, a_call("ls", key=None, cost_usd=Decimal(1)))

    assert (len(attributed(run)), run.meters.cost_usd) == (2, 2)


@pytest.fixture
def month():
    """Two runs, two agents, two models, two days, an unpriced call and a judge's."""
    project = a_project(time_zone="America/New_York")
    first, second = a_run(project, name="fix-auth"), a_run(project, name="docs")
    report(first, a_call("ls", cost_usd=Decimal("1.10"), model="m-big"))
    report(first, a_call("id", cost_usd=Decimal("0.20"), model="m-small", agent="critic"))
    late = NOON + timedelta(hours=16)  # 04:00 UTC of the 22nd, 23:00 of the 21st in New York
    report(second, a_call("pwd", cost_usd=Decimal("0.30"), model="m-big"), at=late)
    next_day = NOON + timedelta(hours=18)
    report(second, a_call("cat a", usage=Usage(input=10), model="house"), at=next_day)
    judged(first, "0.04", agent="coder")
    return project


def test_costs_add_up_by_day_in_the_projects_time_zone(month):
    assert costs_of(month, "day") == {"2026-11-21": (3, "1.6"), "2026-11-22": (1, "None")}


def test_costs_add_up_by_agent(month):
    assert costs_of(month, "agent") == {"coder": (3, "1.4"), "critic": (1, "0.2")}


def test_costs_add_up_by_model_the_dearest_first(month):
    found = costs_of(month, "model")

    assert list(found) == ["m-big", "m-small", "judge-1", "house"]
    assert found["m-big"] == (2, "1.4")


def test_costs_add_up_by_run(month):
    assert costs_of(month, "run") == {"fix-auth": (2, "1.3"), "docs": (2, "0.3")}


def test_the_judges_cost_and_unpriced_calls_stand_apart(month):
    by_day = selectors.list_costs(projects=[month.id], group_by="day")

    assert [(row.judge_calls, str(row.judge_cost_usd)) for row in by_day] == [(1, "0.04"), (0, "0")]
    assert [row.unpriced_calls for row in by_day] == [0, 1]


def test_costs_are_counted_from_since_on_and_before_until(month):
    found = costs_of(month, "agent", since=after(1), until=NOON + timedelta(hours=18))

    assert found == {"coder": (1, "0.3")}


def test_another_projects_costs_are_not_ours(month):
    assert selectors.list_costs(projects=[a_project("elsewhere").id], group_by="day") == []
