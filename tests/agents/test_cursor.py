"""Cursor's hooks as its documentation has them: read, answered, connected, examined."""

import copy

import pytest

from guard.adapters import base
from guard.adapters.base import Wiring
from guard.adapters.capabilities import Capabilities
from guard.adapters.cursor import hooks as cursor
from guard.adapters.cursor.adapter import SETTINGS
from guard.adapters.cursor.hooks import HOOKS, answer, read
from guard.connect import command as connect
from guard.connect import disconnect, doctor
from guard.errors import UnreadableHook
from guard.hooks import command as hook
from guard.sdk.connections import USER_WIDE
from guard.turn import Phase, Role
from guard.wire import CallAction, DirectiveAction
from tests.agents.command_line import call
from tests.agents.hook_bodies import a_directive, sampled_bodies
from tests.sdk.server import LoopbackServer

KEY = "mc_secret_key_1234567890"
URL = "http://127.0.0.1:9"


def a_body(event, **fields):
    base = {"conversation_id": "c-1", "generation_id": "g-1", "model": "composer-2.5"}
    return base | {"hook_event_name": event, "workspace_roots": ["/home/ann/tidepool"]} | fields


def a_call(event="preToolUse", **fields):
    tool = {"tool_name": "Shell", "tool_input": {"command": "ls"}, "tool_use_id": "t-1"}
    return a_body(event, **(tool | fields))


def only_turn(body):
    (turn,) = read(body).turns
    return turn


# --- reading -------------------------------------------------------------------


def test_a_call_is_proposed_under_the_id_it_is_completed_with():
    proposed = only_turn(a_call())
    done = only_turn(a_call("postToolUse", tool_output='{"output":"a.py\\n","exitCode":0}'))

    assert (proposed.phase, proposed.key) == (Phase.PROPOSED, "t-1")
    assert (done.phase, done.key, done.result, done.error) == (Phase.DONE, "t-1", "a.py\n", None)


def test_a_command_that_failed_is_an_error():
    turn = only_turn(a_call("postToolUse", tool_output='{"output":"no","exitCode":2}'))

    assert (turn.result, turn.error) == (None, "exit code 2\nno")


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (None, None),
        ("plain words", "plain words"),
        ("[1, 2]", "[1, 2]"),
        ([1], "[1]"),
        ('{"content": "x"}', '{"content": "x"}'),
        ({"output": "x"}, "x"),
    ],
)
def test_an_output_of_any_form_becomes_a_text(output, text):
    assert only_turn(a_call("postToolUse", tool_output=output)).result == text


@pytest.mark.parametrize("depth", [400, 900, 50_000])
def test_an_output_of_any_depth_becomes_a_text(depth):
    output = '{"rows": ' + "[" * depth + "1" + "]" * depth + "}"

    assert only_turn(a_call("postToolUse", tool_output=output)).result


def test_a_failed_call_is_done_with_its_error():
    fields = {"error_message": "timed out", "failure_type": "timeout"}

    assert only_turn(a_call("postToolUseFailure", **fields)).error == "timed out"
    assert only_turn(a_call("postToolUseFailure")).error == "the tool failed"


def test_a_call_that_was_denied_is_no_failure():
    assert read(a_call("postToolUseFailure", failure_type="permission_denied")).turns == ()


def test_what_the_person_and_the_agent_say_are_turns():
    asked = only_turn(a_body("beforeSubmitPrompt", prompt="fix it"))
    message = only_turn(a_body("afterAgentResponse", text="Done."))

    assert (asked.role, asked.content, asked.key) == (Role.USER, "fix it", "prompt:g-1")
    assert (message.role, message.content) == (Role.ASSISTANT, "Done.")


def test_a_run_is_named_by_its_folder():
    assert read(a_body("sessionStart")).run_name == "tidepool"
    assert read(a_body("sessionStart", workspace_roots=[], cwd="/x/y")).run_name == "y"


def test_only_the_hook_before_a_tool_holds():
    assert [event for event in HOOKS if read(a_call(event)).holds] == ["preToolUse"]


def test_malformed_fields_are_absent():
    event = read(a_call(tool_input=["x"], workspace_roots="no", workspace={}))

    assert (event.turns[0].args, event.turns[0].files) == ({"input": ["x"]}, ())
    for empty in ("preToolUse", "beforeSubmitPrompt", "afterAgentResponse", "preCompact"):
        assert read(a_body(empty)).turns == ()


@pytest.mark.parametrize("body", [{}, {"hook_event_name": "stop"}, {"conversation_id": "c"}])
def test_a_malformed_hook_body_is_refused(body):
    with pytest.raises(UnreadableHook):
        read(body)


def test_every_documented_body_is_read():
    for name, body in sampled_bodies("cursor_hooks_doc_shaped_NOT_RUN.json")["in"].items():
        event = read(body)
        assert (event.name, event.run_key) == (name, f"cursor:{body['conversation_id']}")


# --- answering -----------------------------------------------------------------


def test_proceeding_never_forces_a_permission():
    assert answer(read(a_call()), a_directive()) == {}
    assert answer(read({"hook_event_name": "Probe"}), a_directive(DirectiveAction.STOP)) == {}


def test_a_denial_says_the_same_to_the_person_and_to_the_model():
    directive = a_directive(DirectiveAction.PROCEED, "one", "two", call=CallAction.SKIP)

    reply = answer(read(a_call()), directive)

    assert reply["permission"] == "deny"
    assert reply["user_message"] == reply["agent_message"] == "one\n\ntwo"


def test_a_second_skipped_call_and_a_broken_hold_are_denied():
    second = answer(read(a_call()), a_directive(call=CallAction.SKIP))
    broken = answer(read(a_call()), a_directive(DirectiveAction.HOLD))

    assert second["agent_message"] == base.NOT_RUN
    assert broken["agent_message"] == base.STILL_HELD


def test_after_a_tool_a_message_is_added():
    reply = answer(read(a_call("postToolUse")), a_directive(DirectiveAction.PROCEED, "note"))

    assert reply == {"additional_context": "note"}


@pytest.mark.parametrize(
    ("status", "count", "follows"),
    [
        ("completed", 0, True),
        ("completed", 4, True),
        ("completed", 5, False),
        ("aborted", 0, False),
    ],
)
def test_at_a_stop_a_message_follows_up_as_often_as_cursor_lets_it(status, count, follows):
    event = read(a_body("stop", status=status, loop_count=count))

    reply = answer(event, a_directive(DirectiveAction.PROCEED, "one more thing"))

    assert event.takes_messages is follows
    assert reply == ({"followup_message": "one more thing"} if follows else {})


def test_an_ended_session_does_nothing_more():
    stop = a_directive(DirectiveAction.STOP, reason="ended by Ann")

    assert answer(read(a_call()), stop)["permission"] == "deny"
    assert answer(read(a_body("beforeSubmitPrompt", prompt="go")), stop)["continue"] is False
    assert "ended by Ann" in answer(read(a_call("postToolUse")), stop)["additional_context"]
    assert answer(read(a_body("stop", status="completed")), stop) == {}


def test_it_says_that_it_cannot_end_a_session_and_why():
    reported = cursor.capabilities(read(a_call()))

    assert Capabilities.read(reported).as_mapping() == reported
    assert "press Stop in Cursor" in Capabilities.read(reported).unavailable("cursor")["terminate"]


# --- connecting ------------------------------------------------------------------

THEIRS = {"version": 1, "hooks": {"preToolUse": [{"command": "./mine.sh"}], "stop": "odd"}}


def with_hooks(settings, fail="open", **more):
    where = {"client": "cursor", "place": USER_WIDE, "url": URL, "key": KEY}
    return SETTINGS.with_hooks(
        settings, Wiring(**where, fail=fail, forwarder=["/o p/guard"], **more)
    )


def test_other_entries_survive_connect_and_disconnect():
    theirs = THEIRS | {"hooks": {"preToolUse": [{"command": "./mine.sh"}]}}
    before = copy.deepcopy(theirs)

    written = with_hooks(theirs)

    assert set(SETTINGS.hooks_by_event(written)) == set(HOOKS)
    assert written["hooks"]["preToolUse"][0] == {"command": "./mine.sh"}
    assert with_hooks(written) == written
    assert SETTINGS.without_hooks(written) == before == theirs
    assert SETTINGS.without_hooks(with_hooks({})) == {}
    assert SETTINGS.without_hooks(THEIRS) == THEIRS
    assert SETTINGS.without_hooks({"hooks": "odd"}) == {"hooks": "odd"}


@pytest.mark.parametrize(("fail", "closed"), [("open", False), ("closed", True)])
def test_only_the_hook_before_a_tool_may_block(fail, closed):
    hooks = SETTINGS.hooks_by_event(with_hooks({}, fail, hold_s=7500))

    assert hooks["preToolUse"]["failClosed"] is closed
    assert not any(hook.get("failClosed") for event, hook in hooks.items() if event != "preToolUse")
    assert hooks["preToolUse"]["timeout"] == 7500
    assert hooks["preToolUse"]["command"] == "'/o p/guard' hook cursor"


def guard(module, *words):
    return call(module, "cursor", *words)


def test_connect_doctor_and_disconnect_say_that_nobody_has_seen_it_work(project, capsys):
    server = LoopbackServer()
    server.start()
    place = ("--project-dir", project)

    connected_as = guard(connect, "--url", server.url, "--key", KEY, *place)
    assert "UNVERIFIED" in capsys.readouterr().out
    guard(doctor, *place)
    examined = capsys.readouterr().out
    guard(disconnect, *place)
    server.stop()

    assert connected_as == 0
    assert len(server.requests_to("POST", "hooks/cursor/")) >= 1
    assert "ok  hold" in examined
    assert "NO  terminate" in examined
    lines = {line.split()[1]: line for line in examined.splitlines()}
    for ability in ("observe", "hold", "inject", "terminate", "cost"):
        assert lines[ability].endswith("(unverified)")
    assert "unverified" in capsys.readouterr().out
    assert not (project / ".cursor" / "hooks.json").exists()


def test_the_forwarder_finds_the_project_by_its_workspace(project):
    assert hook.working_directory(a_body("sessionStart")) == "/home/ann/tidepool"
    assert hook.working_directory({"cwd": "/x"}) == "/x"
    assert hook.working_directory({"workspace_roots": [], "cwd": None}) == ""


def test_the_doctor_reports_a_missing_connection(project, capsys):
    assert guard(doctor, "--project-dir", project) == 1
    assert "no hook before a tool runs" in capsys.readouterr().out
