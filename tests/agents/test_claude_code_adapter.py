"""Claude Code's hook bodies read and answered, shape by shape."""

from dataclasses import replace

import pytest

from guard.adapters import base
from guard.adapters.claude_code import hooks as claude_code
from guard.adapters.claude_code.hooks import HOOKS, answer, permission_wait_s, read, response_text
from guard.adapters.hook import HookWiring
from guard.errors import UnreadableHook
from guard.turn import Phase, Role
from guard.wire import CallAction, DirectiveAction
from tests.agents.hook_bodies import a_directive, sampled_bodies


def a_body(event, **fields):
    base = {"session_id": "s-1", "cwd": "/home/ann/tidepool", "prompt_id": "p-1"}
    return base | {"hook_event_name": event} | fields


def a_call(event="PreToolUse", **fields):
    call = {"tool_name": "Read", "tool_input": {"file_path": "/a.py"}, "tool_use_id": "toolu_1"}
    return a_body(event, **call, **fields)


def only_turn(body):
    (turn,) = read(body).turns
    return turn


# --- reading -------------------------------------------------------------------


def test_a_call_is_proposed_under_the_id_it_is_completed_with():
    proposed, done = only_turn(a_call()), only_turn(a_call("PostToolUse", tool_response="text"))

    assert (proposed.phase, proposed.key) == (Phase.PROPOSED, "toolu_1")
    assert (done.phase, done.key, done.result, done.error) == (Phase.DONE, "toolu_1", "text", None)


def test_a_failed_call_is_done_with_its_error():
    turn = only_turn(a_call("PostToolUseFailure", error="File does not exist."))

    assert (turn.phase, turn.error, turn.result) == (Phase.DONE, "File does not exist.", None)


def test_an_interrupted_command_is_an_error():
    body = a_call("PostToolUse", tool_response={"stdout": "ha", "stderr": "", "interrupted": True})

    turn = only_turn(body)

    assert (turn.result, turn.error) == ("ha", "interrupted")


def test_a_prompt_is_what_the_user_says():
    event = read(a_body("UserPromptSubmit", prompt="fix the tests"))

    (turn,) = event.turns
    assert (turn.role, turn.content, turn.key) == (Role.USER, "fix the tests", "prompt:p-1")
    assert event.run_name == "tidepool: fix the tests"


def test_a_prompt_that_no_person_typed_is_a_system_turn():
    message = "<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>"
    event = read(a_body("UserPromptSubmit", prompt=message))

    assert [turn.role for turn in event.turns] == [Role.SYSTEM]
    assert (event.prompt, event.run_name) == (None, "tidepool")


def test_a_run_is_named_by_its_folder_until_something_is_asked():
    assert read(a_body("SessionStart")).run_name == "tidepool"


def test_a_long_prompt_is_cut_in_the_name():
    assert len(read(a_body("UserPromptSubmit", prompt="x" * 500)).run_name) < 80


def test_the_last_message_of_an_agent_is_a_turn():
    turn = only_turn(a_body("Stop", last_assistant_message="Done.", stop_hook_active=False))

    assert (turn.role, turn.content) == (Role.ASSISTANT, "Done.")


def test_a_subagent_speaks_under_its_own_name():
    event = read(a_call(agent_id="a1", agent_type="Explore"))

    assert event.subagent == event.turns[0].agent == "Explore:a1"


def test_the_forwarders_listing_is_the_workspace():
    assert read(a_body("SessionStart", workspace=["a.py", 3])).workspace == ("a.py",)


def test_the_end_of_a_session_is_an_end():
    event = read(a_body("SessionEnd", reason="other"))

    assert event.ends_session
    assert event.turns == ()


def test_only_the_hook_before_a_tool_holds():
    assert [event for event in HOOKS if read(a_call(event)).holds] == ["PreToolUse"]


def test_an_event_we_do_not_know_stores_nothing():
    event = read(a_body("PreCompact"))

    assert (event.turns, event.holds, event.takes_messages) == ((), False, False)


def test_a_call_without_a_tool_is_none():
    assert read(a_body("PreToolUse", tool_input={})).turns == ()


def test_arguments_that_are_no_object_are_kept_as_one():
    turn = only_turn(a_body("PreToolUse", tool_name="Odd", tool_input="text"))

    assert (turn.args, turn.files, turn.key) == ({"input": "text"}, (), None)


def test_a_subagent_without_a_type_is_named_by_its_id():
    assert only_turn(a_call(agent_id="a1")).agent == "a1"


def test_an_empty_end_or_prompt_is_no_turn():
    assert read(a_body("Stop", last_assistant_message="")).turns == ()
    assert read(a_body("UserPromptSubmit", prompt="")).turns == ()


@pytest.mark.parametrize("body", [{}, {"hook_event_name": "Stop"}, {"session_id": "s"}])
def test_a_malformed_hook_body_is_refused(body):
    with pytest.raises(UnreadableHook):
        read(body)


def test_a_probe_needs_no_session_and_is_answered_with_nothing():
    event = read({"hook_event_name": "Probe", "session_id": ""})

    assert event.is_probe
    assert answer(event, a_directive(DirectiveAction.STOP)) == {}


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (None, None),
        ("plain", "plain"),
        ({"stdout": "out", "stderr": "err", "interrupted": False}, "out\nerr"),
        ({"type": "text", "file": {"filePath": "a", "content": "hi\n", "numLines": 2}}, "hi\n"),
        ({"type": "text", "file": {"filePath": "a", "content": ""}}, ""),
        ({"filenames": ["a", "b"], "durationMs": 17, "numFiles": 2}, "a\nb"),
        ({"mode": "content", "content": "a:1:hi", "filenames": []}, "a:1:hi"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ({"bytes": 3, "result": "page", "durationMs": 9}, "page"),
        ({"ok": True, "durationMs": 9}, '{"ok": true}'),
        ([{"type": "image", "n": 1}, None, "x"], '{"n": 1, "type": "image"}\nx'),
        (3, "3"),
    ],
)
def test_a_response_becomes_the_text_the_model_read(response, text):
    assert response_text(response) == text


def test_every_sampled_body_of_the_real_client_is_read():
    for name, body in sampled_bodies("claude_code-2.1.330_hook_inputs.json").items():
        event = read(body)
        assert event.name == name
        assert event.run_key == f"claude-code:{body['session_id']}"


# --- answering -----------------------------------------------------------------


def test_proceeding_never_forces_a_permission():
    assert answer(read(a_call()), a_directive()) == {}


def test_a_message_goes_with_a_call_that_runs():
    reply = answer(read(a_call()), a_directive(DirectiveAction.PROCEED, "look in b.py"))

    assert reply == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "additionalContext": "look in b.py",
        }
    }


def test_a_skipped_call_is_denied_with_the_messages_as_its_result():
    directive = a_directive(DirectiveAction.PROCEED, "one", "two", call=CallAction.SKIP)

    output = answer(read(a_call()), directive)["hookSpecificOutput"]

    assert output["permissionDecision"] == "deny"
    assert output["permissionDecisionReason"] == "one\n\ntwo"


def test_a_second_skipped_call_is_denied_without_the_message_again():
    output = answer(read(a_call()), a_directive(call=CallAction.SKIP))["hookSpecificOutput"]

    assert output["permissionDecision"] == "deny"
    assert output["permissionDecisionReason"] == base.NOT_RUN


def test_a_stop_denies_the_call_and_ends_the_loop():
    reply = answer(read(a_call()), a_directive(DirectiveAction.STOP, reason="ended by Ann"))

    assert reply["continue"] is False
    assert reply["stopReason"] == "ended by Ann"
    assert reply["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_hold_that_outlasts_the_request_does_not_let_the_call_run():
    output = answer(read(a_call()), a_directive(DirectiveAction.HOLD))["hookSpecificOutput"]

    assert output["permissionDecision"] == "deny"


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolUseFailure", "UserPromptSubmit"])
def test_a_message_is_added_to_what_the_model_reads(event):
    body = a_call(event, prompt="go", tool_response="x", error="y")

    reply = answer(read(body), a_directive(DirectiveAction.PROCEED, "note"))

    expected = {"hookEventName": event, "additionalContext": "note"}
    assert reply == {"hookSpecificOutput": expected}


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop"])
def test_a_stop_ends_the_loop_at_any_hook(event):
    reply = answer(read(a_call(event, prompt="go")), a_directive(DirectiveAction.STOP))

    assert reply["continue"] is False
    assert reply["stopReason"]


def test_a_stop_hook_carries_a_message_once():
    first = read(a_body("Stop", stop_hook_active=False))
    second = read(a_body("Stop", stop_hook_active=True))
    directive = a_directive(DirectiveAction.PROCEED, "one more thing")

    assert answer(first, directive)["hookSpecificOutput"]["additionalContext"] == "one more thing"
    assert answer(second, directive) == {}
    assert not second.takes_messages


def test_capabilities_are_what_hooks_can_truly_do():
    assert claude_code.capabilities(read(a_body("Stop"))) == {
        "hold": True,
        "inject": ["at_next_tool", "at_stop"],
        "terminate": "hook",
        "cost": "otlp",
    }


@pytest.mark.parametrize(
    ("via", "fail", "away"),
    [("http", "open", "runs"), ("http", "closed", "blocked"), ("command", "open", "waits")],
)
def test_the_fate_of_a_held_call_follows_from_its_hook_settings(via, fail, away):
    event = replace(read(a_call()), wiring=HookWiring(via=via, fail=fail, timeout_s=3900))

    able = claude_code.capabilities(event)

    assert (able["away"], able["patience_s"]) == (away, 3840)


def test_a_session_at_rest_can_get_a_message():
    assert "when_idle" in claude_code.capabilities(read(a_body("Idle")))["inject"]


# --- permission ----------------------------------------------------------------


def asked_for(command, **grant):
    body = a_body("PermissionRequest", tool_name="Bash", tool_input={"command": command})
    return answer(replace(read(body), **grant), a_directive())


def test_a_call_nobody_allowlisted_is_left_to_its_person():
    assert asked_for("touch it") == {}


def test_an_allowlisted_call_becomes_a_rule_for_the_session_and_no_wider():
    decision = asked_for("touch it", permission_grant="session")["hookSpecificOutput"]["decision"]

    assert decision["behavior"] == "allow"
    assert decision["updatedPermissions"] == [
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "touch it"}],
            "behavior": "allow",
            "destination": "session",
        }
    ]


@pytest.mark.parametrize("command", ["rm *", "echo $(id)", "a\nb", "git commit -m 'x' \\", "  "])
def test_what_a_rule_would_widen_is_allowed_once(command):
    decision = asked_for(command, permission_grant="session")["hookSpecificOutput"]["decision"]

    assert decision == {"behavior": "allow"}


def test_an_entry_that_ends_makes_no_rule():
    decision = asked_for("touch it", permission_grant="once")["hookSpecificOutput"]["decision"]

    assert decision == {"behavior": "allow"}


def test_a_file_is_allowed_once_since_a_rule_would_allow_any_edit_of_it():
    body = a_body("PermissionRequest", tool_name="Edit", tool_input={"file_path": "/a"})

    reply = answer(replace(read(body), permission_grant="session"), a_directive())

    assert reply["hookSpecificOutput"]["decision"] == {"behavior": "allow"}


def test_an_ended_run_is_permitted_nothing():
    body = a_body("PermissionRequest", tool_name="Bash", tool_input={"command": "ls"})

    reply = answer(
        replace(read(body), permission_grant="session"), a_directive(DirectiveAction.STOP)
    )

    decision = reply["hookSpecificOutput"]["decision"]
    assert (decision["behavior"], decision["interrupt"]) == ("deny", True)


@pytest.mark.parametrize("grant", [None, "session"])
def test_peoples_answers_are_passed_on_unchanged(grant):
    allowed = asked_for("touch it", permission_answer="allow_once", permission_grant=grant)
    denied = asked_for(
        "touch it", permission_answer="deny", answer_text="Use make.", permission_grant=grant
    )

    assert allowed["hookSpecificOutput"]["decision"] == {"behavior": "allow"}
    assert denied["hookSpecificOutput"]["decision"] == {
        "behavior": "deny",
        "message": "A person denied this call in Mission Control. Use make.",
    }


@pytest.mark.parametrize(
    ("wiring", "tool", "for_s"),
    [
        (HookWiring(entry="cli", answer_s=3900), "Bash", 3840),
        (HookWiring(entry="cli", answer_s=30), "Bash", 15),
        (HookWiring(entry="sdk-cli", answer_s=3900), "Edit", 120),
        (HookWiring(entry="claude-vscode", answer_s=3900), "Bash", None),
        (HookWiring(entry="cli", timeout_s=3900), "Bash", None),
        (HookWiring(entry="cli", answer_s=3900), "AskUserQuestion", None),
    ],
)
def test_a_permission_is_asked_from_here_only_while_its_dialog_is_open(wiring, tool, for_s):
    event = read(a_body("PermissionRequest", tool_name=tool, tool_input={"command": "ls"}))

    assert permission_wait_s(replace(event, wiring=wiring)) == for_s
    assert permission_wait_s(replace(event, wiring=wiring, permission_call=None)) is None


# --- parking -------------------------------------------------------------------


@pytest.mark.parametrize(("entry", "decision"), [("sdk-cli", "defer"), ("cli", "deny")])
def test_only_a_headless_session_is_parked(entry, decision):
    event = replace(read(a_call()), wiring=HookWiring(entry=entry, defer_s=600))

    output = answer(event, a_directive(DirectiveAction.HOLD))["hookSpecificOutput"]

    assert output["permissionDecision"] == decision
