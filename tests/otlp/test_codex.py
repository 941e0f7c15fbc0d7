"""Codex CLI's log events as turns and money."""

import json

import pytest

from missioncontrol.runs.models import Turn
from tests.build import a_project
from tests.otlp.build import (
    a_log,
    a_span,
    logs,
    model_uses_of,
    receive,
    session_records_of,
    spans,
    turns_of,
)

THREAD = "01a1fff2-63e5-7061-a152-f360070970b6"
TOKENS = {
    "input_token_count": "1500",
    "cached_token_count": "1000",
    "output_token_count": "42",
    "cache_write_token_count": "0",
    "reasoning_token_count": "10",
    "model": "gpt-5.1-codex",
}
RESULT = {
    "tool_name": "exec_command",
    "call_id": "call_1",
    "arguments": json.dumps({"cmd": "ls"}),
    "output": "a b",
    "success": "true",
}


def an_event(name, **fields):
    return a_log(f"codex.{name}", **{"conversation__id": THREAD, **fields})


def a_response(**fields):
    return an_event("sse_event", event__kind="response.completed", **fields)


def codex(*records):
    return logs(*records, service="codex_exec")


def test_a_completed_response_counts_without_what_was_cached():
    (use,) = model_uses_of(codex(a_response(**TOKENS)))

    assert (use.usage.input, use.usage.cache_read) == (500, 1000)
    assert (use.usage.output, use.usage.reasoning, use.model) == (42, 10, "gpt-5.1-codex")


def test_a_completed_response_without_tokens_is_a_duplicate():
    assert model_uses_of(codex(a_response())) == []


def test_a_tool_result_is_a_turn():
    (turn,) = turns_of(codex(an_event("tool_result", **RESULT)))

    assert (turn.key, turn.tool, turn.args, turn.result) == (
        "call_1",
        "exec_command",
        {"cmd": "ls"},
        "a b",
    )


def test_a_failed_tool_has_its_output_as_its_error():
    (turn,) = turns_of(codex(an_event("tool_result", **RESULT | {"success": "false"})))

    assert (turn.error, turn.result) == ("a b", None)


def test_a_commands_exit_code_stands_in_its_output():
    output = (
        "Chunk ID: c4\nWall time: 0.0 seconds\nProcess exited with code 1\nOutput:\nno such file"
    )

    (turn,) = turns_of(codex(an_event("tool_result", **RESULT | {"output": output})))

    assert (turn.error, turn.result) == ("no such file", None)


def test_streamed_pieces_of_an_answer_are_ignored():
    piece = an_event("sse_event", event__kind="response.output_text.delta")

    assert session_records_of(codex(piece)) == []


def test_an_event_without_a_conversation_belongs_to_the_requests_only_one():
    unnamed = a_log("codex.tool_result", trace="4238df53ccccffc2e52a4ef9b2977a13", **RESULT)

    found = session_records_of(codex(a_response(**TOKENS), unnamed))

    assert [one.run_key for one in found] == [f"codex:{THREAD}"] * 2


def test_its_traces_are_no_turns():
    span = a_span("run_turn", {"gen_ai.operation.name": "chat", "conversation.id": THREAD})

    assert session_records_of(spans(span, service="codex_exec")) == []


@pytest.mark.django_db
def test_its_log_alone_is_a_run_with_its_cost():
    body = codex(
        an_event("user_prompt", prompt="list the files"),
        a_response(**TOKENS),
        an_event("tool_result", **RESULT),
        a_response(**TOKENS),
        a_response(),
    )

    (run,) = receive(a_project(), body, body)

    # 2 x (500 x 1.25 + 1000 x 0.125 + 42 x 10) dollars a million
    assert (run.key, str(run.meters.cost_usd)) == (f"codex:{THREAD}", "0.002340")
    assert (run.goal, run.meters.reasoning_tokens) == ("list the files", 20)
    assert Turn.objects.filter(run=run).count() == 2
