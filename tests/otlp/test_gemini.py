"""Gemini CLI's log events as turns and money."""

import json

import pytest

from tests.build import a_project
from tests.otlp.build import a_log, a_span, logs, model_uses_of, receive, spans, turns_of

SESSION = "8d1e0f4c-0001-4b1c-9d3c-5a2f5e6d7c8b"
TOKENS = {
    "model": "gemini-2.5-flash",
    "input_token_count": 1500,
    "output_token_count": 42,
    "cached_content_token_count": 1000,
    "thoughts_token_count": 10,
    "tool_token_count": 0,
    "prompt_id": "p1",
}
CALL = {
    "function_name": "run_shell_command",
    "function_args": json.dumps({"command": "ls"}),
    "success": True,
    "prompt_id": "p1",
}


def an_event(name, **fields):
    return a_log(name, **{"session__id": SESSION, **fields})


def gemini(*records):
    return logs(*records, service="gemini-cli")


def test_thoughts_add_to_the_output_and_cached_tokens_leave_the_input():
    (use,) = model_uses_of(gemini(an_event("gemini_cli.api_response", **TOKENS)))

    assert (use.usage.input, use.usage.cache_read) == (500, 1000)
    assert (use.usage.output, use.usage.reasoning) == (52, 10)


def test_a_tool_call_is_a_turn():
    (turn,) = turns_of(gemini(an_event("gemini_cli.tool_call", **CALL)))

    assert (turn.tool, turn.args, turn.error) == ("run_shell_command", {"command": "ls"}, None)


def test_a_failed_tool_call_has_its_error():
    failed = {**CALL, "success": False, "error": "exit code 1"}

    (turn,) = turns_of(gemini(an_event("gemini_cli.tool_call", **failed)))

    assert turn.error == "exit code 1"


def test_a_commands_exit_code_stands_in_its_details():
    call = {**CALL, "metadata": json.dumps({"exitCode": 1, "isError": True})}

    (turn,) = turns_of(gemini(an_event("gemini_cli.tool_call", **call)))

    assert turn.error == "exit code 1"


@pytest.mark.django_db
def test_a_response_reported_in_three_ways_counts_once():
    details = {
        "gen_ai.usage.input_tokens": 1500,
        "gen_ai.usage.output_tokens": 42,
        "gen_ai.operation.name": "generate_content",
        "session.id": SESSION,
    }
    named = {name.replace(".", "__"): one for name, one in details.items()}
    project = a_project()

    (run,) = receive(
        project,
        spans(a_span("llm_call", details), service="gemini-cli"),
        gemini(
            an_event("gemini_cli.api_response", **TOKENS),
            a_log("gen_ai.client.inference.operation.details", **named),
        ),
    )

    # 500 x 0.30 + 1000 x 0.03 + 52 x 2.50 dollars a million
    assert (run.key, str(run.meters.cost_usd)) == (f"gemini:{SESSION}", "0.000310")
    assert (run.meters.usage_source, run.meters.output_tokens) == ("logs", 52)
