"""Claude Code's telemetry as turns and money."""

import json
from decimal import Decimal

import pytest
from django.db import OperationalError, connection

from missioncontrol.runs.models import ModelCall, TelemetryRecord, Turn
from tests.build import a_call, a_project, a_proposal, a_run, report
from tests.otlp.build import (
    a_log,
    a_span,
    logs,
    model_uses_of,
    read,
    receive,
    session_records_of,
    spans,
    turns_of,
)

SESSION = "0491eb2a-6000-425f-9129-131c383d156c"
RUN_KEY = f"claude-code:{SESSION}"
CALL = {
    "model": "claude-sonnet-4-5",
    "input_tokens": 1200,
    "output_tokens": 42,
    "cache_read_tokens": 9000,
    "cache_creation_tokens": 300,
    "cache_creation_5m_tokens": 0,
    "cache_creation_1h_tokens": 0,
    "cost_usd": 0.008054999999999998,
    "cost_usd_micros": 8055,
}
TOOL = {
    "tool_name": "Bash",
    "tool_use_id": "toolu_1",
    "success": "true",
    "tool_input": json.dumps({"command": "ls"}),
}


def an_event(name, sequence, *, prompt_id="p1", **fields):
    fields = {
        "session__id": SESSION,
        "event__sequence": sequence,
        "prompt__id": prompt_id,
        **fields,
    }
    return a_log(name, **fields)


def a_call_event(sequence=6, **fields):
    return an_event("api_request", sequence, **{**CALL, **fields})


def a_model_span(**fields):
    named = {"session.id": SESSION, "gen_ai.conversation.id": SESSION, **CALL, **fields}
    return a_span("claude_code.llm_request", named)


def test_a_request_is_its_tokens_by_tier_and_its_own_figure():
    (use,) = model_uses_of(logs(a_call_event()))

    assert (use.usage.input, use.usage.cache_read, use.usage.output) == (1200, 9000, 42)
    assert (use.usage.cache_write_5m, use.usage.cache_write_1h) == (300, 0)
    assert (use.cost_usd, use.model) == (Decimal("0.008055"), "claude-sonnet-4-5")


@pytest.mark.parametrize(("longer", "is_read"), [(0, True), (1, False)])
def test_a_session_is_read_whose_id_a_runs_key_has_room_for(longer, is_read):
    session = "s" * (200 - len("claude-code:") + longer)

    assert bool(session_records_of(logs(a_call_event(session__id=session)))) == is_read


def test_writes_of_a_stated_tier_keep_it():
    tiers = {"cache_creation_5m_tokens": 100, "cache_creation_1h_tokens": 200}

    (use,) = model_uses_of(logs(a_call_event(**tiers)))

    assert (use.usage.cache_write_5m, use.usage.cache_write_1h) == (100, 200)


def test_a_cost_of_zero_is_no_cost():
    (use,) = model_uses_of(logs(a_call_event(cost_usd=0.0, cost_usd_micros=0)))

    assert use.cost_usd is None


def test_a_tool_result_is_a_turn_under_the_id_its_hooks_use():
    (turn,) = turns_of(logs(an_event("tool_result", 8, **TOOL)))

    assert (turn.key, turn.tool, turn.args, turn.error) == (
        "toolu_1",
        "Bash",
        {"command": "ls"},
        None,
    )


def test_a_failed_tool_has_its_error():
    failed = {**TOOL, "success": "false", "error": "Shell command failed"}

    (turn,) = turns_of(logs(an_event("tool_result", 8, **failed)))

    assert turn.error == "Shell command failed"


@pytest.mark.parametrize(
    ("prompt", "content"),
    [("fix it", "fix it"), ("<REDACTED>", "(a prompt that was not told)")],
)
def test_a_withheld_prompt_is_a_user_turn_without_text(prompt, content):
    (turn,) = turns_of(logs(an_event("user_prompt", 4, prompt=prompt)))

    assert (turn.role, turn.key, turn.content) == ("user", "prompt:p1", content)


def test_a_subagent_belongs_to_the_session_and_speaks_under_its_own_name():
    span = a_model_span(**{"gen_ai.conversation.id": "a4b5", "agent_id": "a4b5"})
    event = a_call_event(agent_id="a4b5", agent__name="Explore")

    found = [
        *session_records_of(spans(span, service="claude-code")),
        *session_records_of(logs(event)),
    ]

    assert [one.run_key for one in found] == [RUN_KEY, RUN_KEY]
    assert [one.agent for one in found] == ["a4b5", "Explore:a4b5"]


def test_a_resumed_session_counts_its_sequence_anew():
    first, second = a_call_event(5, prompt_id="p1"), a_call_event(5, prompt_id="p2")

    assert len({one.record.key for one in session_records_of(logs(first, second))}) == 2


@pytest.mark.django_db
def test_a_call_in_logs_and_spans_costs_what_the_agent_reports_once():
    project = a_project()

    (run,) = receive(
        project,
        spans(a_model_span(), service="claude-code"),
        logs(a_call_event(6), an_event("tool_result", 8, **TOOL), a_call_event(9)),
        spans(a_model_span(), service="claude-code"),
        logs(a_call_event(6)),
    )

    assert (run.key, run.agent, run.meters.usage_source) == (RUN_KEY, "claude-code", "logs")
    assert (run.meters.cost_usd, run.meters.input_tokens) == (Decimal("0.016110"), 2400)
    assert [turn.tool for turn in Turn.objects.filter(run=run)] == ["Bash"]


@pytest.mark.django_db
def test_each_turn_shows_its_model_call_even_if_that_is_reported_later():
    first, second = {**TOOL, "tool_use_id": "a"}, {**TOOL, "tool_use_id": "b"}

    (run,) = receive(
        a_project(),
        logs(
            an_event("tool_result", 5, at_s=103, duration_ms="500", **first),
            a_call_event(6, at_s=104, duration_ms=2000),
        ),
        logs(an_event("tool_result", 9, at_s=113, duration_ms="500", **second)),
        logs(a_call_event(10, at_s=114, duration_ms=2000), a_call_event(12, at_s=120)),
    )

    turns = Turn.objects.filter(run=run).order_by("seq")
    assert [(turn.key, str(turn.cost_usd)) for turn in turns] == [
        ("a", "0.008055"),
        ("b", "0.008055"),
    ]


@pytest.mark.django_db
def test_turns_reported_by_hooks_are_not_repeated():
    project = a_project()
    run = a_run(project, key=RUN_KEY, agent="claude-code", capabilities={"hold": True})
    report(run, a_proposal("ls", key="toolu_1"), a_call("ls", key="toolu_1", result="a b"))

    (run,) = receive(project, logs(a_call_event(6), an_event("tool_result", 8, **TOOL)))

    assert (Turn.objects.get(run=run).result, run.meters.cost_usd) == ("a b", Decimal("0.008055"))
    assert run.capabilities == {"hold": True}


def fails_to_write(model):
    """A database that is locked whenever rows of this table are written."""

    def execute(run_it, sql, params, many, context):
        if sql.startswith("INSERT") and f'INTO "{model._meta.db_table}"' in sql:
            raise OperationalError("database is locked")
        return run_it(sql, params, many, context)

    return connection.execute_wrapper(execute)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("model", [ModelCall, TelemetryRecord])
def test_a_resent_request_that_was_half_stored_counts_once(model):
    project, body = a_project(), logs(a_call_event(6))

    with fails_to_write(model), pytest.raises(OperationalError):
        receive(project, body)
    (run,) = receive(project, body)

    assert (run.meters.cost_usd, run.meters.input_tokens) == (Decimal("0.008055"), 1200)
    assert TelemetryRecord.objects.filter(run=run).count() == 1


def test_a_record_of_another_form_affects_no_other():
    batch = read(logs({"attributes": 7}, a_call_event(), "no record"))

    assert (sorted(batch.refused), len(batch.records)) == ([0, 2], 1)
