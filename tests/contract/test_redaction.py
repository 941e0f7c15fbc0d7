"""What a project's own rules match is stored nowhere, however an agent sends it."""

import re
from uuid import uuid4

import pytest

from tests.contract.test_otlp import a_tool_span, run_of
from tests.otlp.build import spans

CUSTOMER = "Zwiebelfisch-4711"


@pytest.fixture
def with_rules(person):
    project = person.get("/api/v1/projects/")["results"][0]["id"]
    address = f"/api/v1/projects/{project}/"
    assert person.ask("PATCH", address, {"redact_rules": ["Zwiebelfisch-####"]}).status == 200
    yield project
    assert person.ask("PATCH", address, {"redact_rules": []}).status == 200


def everything_shown(person, run):
    return str(
        [
            person.get(f"/api/v1/runs/{run}/"),
            *person.each(f"/api/v1/runs/{run}/turns/"),
            *person.each(f"/api/v1/runs/{run}/telemetry/"),
        ]
    )


def test_turns_are_masked(agent, person, with_rules):
    run = agent.open_run(name=f"for {CUSTOMER}", metadata={"who": CUSTOMER})
    agent.post_turns(
        run,
        {
            "role": "assistant",
            "tool": f"grep for {CUSTOMER}",
            "args": {"command": f"grep {CUSTOMER} log"},
            "result": f"1: {CUSTOMER}",
            "files": [f"{CUSTOMER}.txt"],
        },
    )

    shown = everything_shown(person, run)

    assert CUSTOMER not in shown
    assert re.search(r"grep \[masked [a-p]{6}\] log", shown)


def test_hooks_are_masked(agent, person, with_rules):
    hook = {
        "session_id": "redacted-by-a-rule",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": f"grep {CUSTOMER} log"},
        "cwd": "/work",
    }
    assert agent.ask("POST", "/api/v1/hooks/claude-code/", hook).status == 200
    run = agent.open_run(key="claude-code:redacted-by-a-rule")

    shown = everything_shown(person, run)

    assert CUSTOMER not in shown
    assert re.search(r"grep \[masked [a-p]{6}\] log", shown)


def test_a_run_is_named_by_a_prompt_that_was_masked_before_it_was_cut(agent, person, with_rules):
    hook = {
        "session_id": "cut-within-a-number",
        "hook_event_name": "UserPromptSubmit",
        "prompt": f"Please write a friendly reminder to our customer {CUSTOMER} about it",
        "cwd": "/work",
    }
    assert agent.ask("POST", "/api/v1/hooks/claude-code/", hook).status == 200
    run = agent.open_run(key="claude-code:cut-within-a-number")

    assert "Zwiebelfisch" not in everything_shown(person, run)


def test_telemetry_is_masked(agent, person, with_rules):
    session = uuid4().hex
    span = a_tool_span(session, **{"acme.who": f"at {CUSTOMER}"})
    assert agent.ask("POST", "/v1/traces", spans(span)).status == 200
    run = run_of(person, f"my-agent:{session}")["id"]

    shown = everything_shown(person, run)

    assert CUSTOMER not in shown
    assert re.search(r"at \[masked [a-p]{6}\]", shown)


def test_calls_about_many_customers_are_no_loop_because_their_names_are_masked(
    agent, person, with_rules
):
    run = agent.open_run(name="a letter to each")
    turns = [
        {
            "role": "assistant",
            "tool": "send_letter",
            "args": {"to": f"Zwiebelfisch-{number}"},
            "result": "sent",
        }
        for number in range(4000, 4012)
    ]
    assert agent.post_turns(run, *turns).json["directive"]["action"] == "proceed"

    again = agent.open_run(name="the same letter for ever")
    assert agent.post_turns(again, *turns[:1] * 8).json["directive"]["action"] == "hold"
