"""A call nested however deep is judged like any other."""

import json
from uuid import uuid4

import pytest

DEPTHS = (100, 400, 480, 600, 990, 50_000)


def nested(depth):
    return b'{"a":' * depth + b"1" + b"}" * depth


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_hook_body_of_any_depth_is_accepted(agent, depth):
    body = {"session_id": uuid4().hex, "hook_event_name": "PreToolUse", "cwd": "/tidepool"}
    call = {"tool_name": "mcp__db__query", "tool_use_id": "t1", "tool_input": {"at": "HERE"}}
    raw = json.dumps(body | call).encode().replace(b'"HERE"', nested(depth))

    answer = agent.ask("POST", "/api/v1/hooks/claude-code/", raw)

    assert answer.status == 200, answer.json


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_turn_of_any_depth_is_accepted(agent, depth):
    turn = {"role": "assistant", "tool": "query", "args": {"at": "HERE"}, "phase": "proposed"}
    raw = json.dumps({"turns": [turn]}).encode().replace(b'"HERE"', nested(depth))

    answer = agent.ask("POST", f"/api/v1/runs/{agent.open_run()}/turns/", raw, Prefer="wait=20")

    assert (answer.status, answer.json.get("judged")) == (200, True), answer.json
