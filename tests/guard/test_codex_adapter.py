"""Codex's hook bodies read and answered, shape by shape."""

import json

import pytest

from guard.adapters import adapter_of
from guard.adapters.base import NOT_RUN, STILL_HELD, Wiring
from guard.adapters.codex import adapter as codex_rollout
from guard.adapters.codex.adapter import SETTINGS
from guard.adapters.codex.hooks import HOOKS, answer, capabilities, read
from guard.errors import UnreadableHook
from guard.sdk.connections import FORWARDER_EARLY_S, HOOK_HOLD_S, REPORT_HOOK_S, REPORT_S
from guard.turn import Phase, Role, Usage
from guard.wire import CallAction, Directive, DirectiveAction, Message

STOP = Directive(version=2, action=DirectiveAction.STOP, reason="Ended by Ann.")
USED = {"input_tokens": 1500, "cached_input_tokens": 1000, "output_tokens": 42}


def a_body(event, **fields):
    base = {"session_id": "s-1", "turn_id": "t-1", "cwd": "/home/ann/tidepool", "model": "gpt-x"}
    return base | {"hook_event_name": event} | fields


def a_call(event="PreToolUse", **fields):
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "call_1"}
    return a_body(event, **call, **fields)


def a_directive(*texts, action=DirectiveAction.PROCEED, **fields):
    messages = tuple(Message(id=text, text=text) for text in texts)
    return Directive(version=1, action=action, messages=messages, **fields)


def only_turn(body):
    (turn,) = read(body).turns
    return turn


def event_output(reply):
    return reply["hookSpecificOutput"]


# --- reading -------------------------------------------------------------------


def test_a_call_is_proposed_under_the_id_it_is_completed_with():
    proposed, done = only_turn(a_call()), only_turn(a_call("PostToolUse", tool_response="a.py\n"))

    assert (proposed.phase, proposed.key) == (Phase.PROPOSED, "call_1")
    assert (done.phase, done.key, done.result, done.error) == (Phase.DONE, "call_1", "a.py\n", None)


def test_a_command_fails_by_the_exit_code_of_the_rollout():
    body = a_call("PostToolUse", tool_response="no such file\n", guard={"exit_code": 2})

    turn = only_turn(body)

    assert (turn.error, turn.result) == ("exit code 2\nno such file", None)


def test_a_command_without_output_may_have_failed():
    assert only_turn(a_call("PostToolUse", tool_response="", guard={"exit_code": 1})).error


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("Exit code: 1\nWall time: 0 s\nOutput:\nno", True),
        ("Chunk ID: a\nWall time: 0.1\nProcess exited with code 2\nOutput:\nno", True),
        ("Process exited with code 0\nOutput:\nyes", False),
        ("a file about how a\nprocess exited", False),
    ],
)
def test_without_a_rollout_the_exit_code_is_read_from_the_output(output, failed):
    assert bool(only_turn(a_call("PostToolUse", tool_response=output)).error) is failed


def test_the_rollouts_exit_code_comes_before_the_outputs():
    fields = {"tool_response": "Exit code: 3\n", "guard": {"exit_code": 0}}

    assert only_turn(a_call("PostToolUse", **fields)).error is None


def test_model_calls_of_the_rollout_exclude_cached_tokens_from_input():
    model_call = {"id": "resp_1", "usage": USED, "timestamp": "2026-11-21T21:08:32.487Z"}

    (call,) = read(
        a_call("PostToolUse", guard={"model_calls": [model_call, {"usage": USED}, 3]})
    ).calls

    assert (call.call_id, call.source, call.model) == ("resp_1", "transcript", "gpt-x")
    assert call.usage == Usage(input=500, cache_read=1000, output=42)
    assert call.made_at is not None


def test_a_prompt_is_the_persons_and_a_stop_the_agents():
    asked = only_turn(a_body("UserPromptSubmit", prompt="Mend it."))
    message = only_turn(a_body("Stop", last_assistant_message="Mended."))

    assert (asked.role, asked.key, asked.content) == (Role.USER, "prompt:t-1", "Mend it.")
    assert (message.role, message.key, message.content) == (Role.ASSISTANT, None, "Mended.")


def test_only_the_hook_before_a_tool_holds():
    assert [event for event in HOOKS if read(a_body(event)).holds] == ["PreToolUse"]


def test_a_session_end_ends():
    assert read(a_body("SessionEnd", reason="other")).ends_session


@pytest.mark.parametrize("body", [{}, {"hook_event_name": "Stop"}, {"session_id": "s"}])
def test_a_malformed_hook_body_is_refused(body):
    with pytest.raises(UnreadableHook):
        read(body)


@pytest.mark.parametrize("odd", [None, 3, [], {"pid": "x", "exit_code": -1, "model_calls": 7}])
def test_malformed_facts_are_ignored(odd):
    body = a_call("PostToolUse", tool_response={"content": [{"text": "hi"}]}, guard=odd)

    turn = only_turn(body)

    assert (turn.result, turn.error) == ("hi", None)
    assert (read(body).agent_pid, read(body).calls) == (None, ())


# --- what can be done ------------------------------------------------------------


def test_it_can_be_ended_only_where_its_process_is_known():
    alone, in_an_ide = a_body("Stop", guard={"pid": 77}), a_body("Stop", guard={})

    assert capabilities(read(alone))["terminate"] == "signal"
    assert capabilities(read(in_an_ide))["terminate"] == "not"
    assert "guard run" in capabilities(read(in_an_ide))["why"]["terminate"]


def test_only_the_forwarder_waits_across_a_restart():
    assert capabilities(read(a_body("Stop", guard={})))["away"] == "waits"
    assert capabilities(read(a_body("Stop")))["away"] == "runs"


# --- answering -------------------------------------------------------------------


@pytest.mark.parametrize("event", HOOKS)
def test_proceed_answers_nothing(event):
    assert answer(read(a_body(event)), a_directive()) == {}


def test_a_message_goes_with_the_call():
    for event in ("PreToolUse", "PostToolUse", "UserPromptSubmit"):
        reply = answer(read(a_body(event)), a_directive("mind the gap"))

        assert event_output(reply) == {"hookEventName": event, "additionalContext": "mind the gap"}


def test_a_skipped_call_is_denied_with_the_correction():
    reply = event_output(answer(read(a_call()), a_directive("use rg", call=CallAction.SKIP)))

    assert (reply["permissionDecision"], reply["permissionDecisionReason"]) == ("deny", "use rg")


def test_a_denial_always_has_a_reason():
    skipped = answer(read(a_call()), a_directive(call=CallAction.SKIP))
    held = answer(read(a_call()), a_directive(action=DirectiveAction.HOLD))

    assert event_output(skipped)["permissionDecisionReason"] == NOT_RUN
    assert event_output(held)["permissionDecisionReason"] == STILL_HELD


def test_before_a_tool_no_field_that_codex_refuses_is_sent():
    """`continue: false` there is an error to Codex, and the tool runs."""
    reply = answer(read(a_call(guard={"pid": 77})), STOP)

    assert set(reply) == {"hookSpecificOutput", "guard"}
    assert event_output(reply)["permissionDecision"] == "deny"
    assert reply["guard"] == {"end": "Ended by Ann."}


@pytest.mark.parametrize("event", HOOKS)
def test_the_forwarder_is_told_to_end_only_a_process_it_knows(event):
    assert "guard" in answer(read(a_body(event, guard={"pid": 77})), STOP)
    assert "guard" not in answer(read(a_body(event, guard={})), STOP)


def test_a_stopped_session_takes_no_prompt():
    reply = answer(read(a_body("UserPromptSubmit", prompt="more")), STOP)

    assert reply == {"decision": "block", "reason": "Ended by Ann."}


def test_a_stop_hook_carries_a_message_once():
    first, second = (read(a_body("Stop", stop_hook_active=again)) for again in (False, True))

    assert answer(first, a_directive("go on")) == {"decision": "block", "reason": "go on"}
    assert answer(second, a_directive("go on")) == {}


# --- the rollout -------------------------------------------------------------------


def a_rollout(path, *records):
    path.write_text("cut in tw\n" + "".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def asked_for(call):
    return {"type": "response_item", "payload": {"type": "function_call", "call_id": call}}


def used(response):
    payload = {"response_id": response, "usage": USED}
    return {"type": "token_usage_record", "payload": payload}


def ran(call, code):
    item = {"type": "CommandExecution", "id": call, "exit_code": code}
    return {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}


def test_the_rollout_has_the_exit_code_of_a_command(tmp_path):
    path = a_rollout(
        tmp_path / "r.jsonl",
        asked_for("call_0"),
        used("resp_0"),
        ran("call_0", 0),
        asked_for("call_1"),
        used("resp_1"),
        ran("call_1", 2),
    )

    found = codex_rollout.rollout_facts(a_call("PostToolUse", transcript_path=path))

    assert found["exit_code"] == 2
    assert [call["id"] for call in found["model_calls"]] == ["resp_0", "resp_1"]


def test_the_cost_of_a_call_that_never_ran_is_reported_by_the_next_hook(tmp_path):
    path = a_rollout(tmp_path / "r.jsonl", asked_for("call_0"), used("resp_0"), used("resp_1"))

    found = codex_rollout.rollout_facts(a_body("Stop", transcript_path=path))

    assert [call["id"] for call in found["model_calls"]] == ["resp_0", "resp_1"]
    assert "exit_code" not in found


def test_a_long_session_reports_its_last_calls(tmp_path):
    path = a_rollout(tmp_path / "r.jsonl", *(used(f"resp_{n}") for n in range(99)))

    found = codex_rollout.rollout_facts(a_body("Stop", transcript_path=path))

    assert found["model_calls"][-1]["id"] == "resp_98"
    assert len(found["model_calls"]) == codex_rollout.MAX_CALLS


@pytest.mark.parametrize("path", ["", "/nowhere/at/all.jsonl", "."])
def test_without_a_rollout_there_are_no_facts(path):
    found = codex_rollout.rollout_facts(a_call("PostToolUse", transcript_path=path))

    assert not any(found.values())


# --- its settings ----------------------------------------------------------------


WIRING = Wiring(
    client="codex", place="*", url="http://127.0.0.1:9", key="mc_secret", forwarder=["/o p/guard"]
)
THEIRS = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "mine"}]}]}}


def test_every_hook_is_subscribed_to_and_holds_no_key():
    hooks = SETTINGS.hooks_by_event(SETTINGS.with_hooks({}, WIRING))

    assert set(hooks) == set(HOOKS)
    assert "mc_secret" not in json.dumps(hooks)
    assert hooks["PreToolUse"]["command"] == "'/o p/guard' hook codex"


def test_other_entries_are_kept_on_connect_and_disconnect():
    assert (
        SETTINGS.with_hooks(THEIRS, WIRING)["hooks"]["PreToolUse"][0]
        == THEIRS["hooks"]["PreToolUse"][0]
    )
    assert SETTINGS.without_hooks(SETTINGS.with_hooks(THEIRS, WIRING)) == THEIRS


def test_connecting_twice_changes_nothing_more():
    assert SETTINGS.with_hooks(SETTINGS.with_hooks(THEIRS, WIRING), WIRING) == SETTINGS.with_hooks(
        THEIRS, WIRING
    )


def test_each_time_out_is_longer_than_the_one_inside_it():
    hooks = SETTINGS.hooks_by_event(SETTINGS.with_hooks({}, WIRING))

    assert hooks["PreToolUse"]["timeout"] == HOOK_HOLD_S > 3600 + FORWARDER_EARLY_S
    assert hooks["PostToolUse"]["timeout"] == REPORT_HOOK_S > REPORT_S


def test_the_person_is_told_to_review_the_hooks():
    assert "/hooks" in " ".join(adapter_of("codex").advice)
