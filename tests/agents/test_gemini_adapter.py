"""Gemini CLI's hook bodies read and answered, shape by shape."""

import json

import pytest

from guard.adapters import base
from guard.adapters.capabilities import Capabilities
from guard.adapters.gemini import hooks as gemini
from guard.adapters.gemini.adapter import MAX_CALLS, local_facts
from guard.adapters.gemini.hooks import HOOKS, answer, read, response_text
from guard.errors import UnreadableHook
from guard.turn import Phase, Role, Usage
from guard.wire import CallAction, DirectiveAction
from tests.agents.hook_bodies import a_directive, sampled_bodies

FAILED = "<untrusted_context>\nOutput: (empty)\nExit Code: 1\nProcess Group PGID: 77\n</untrusted_context>"  # noqa: E501
NOT_FOUND = {"message": "File not found: a.txt", "type": "file_not_found"}


def a_body(event, **fields):
    base = {"session_id": "s-1", "cwd": "/home/ann/tidepool", "timestamp": "T1"}
    return base | {"hook_event_name": event} | fields


def a_call(event="BeforeTool", **fields):
    call = {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}
    return a_body(event, **(call | fields))


def an_end(text, error=None, **fields):
    response = {"llmContent": text} | ({"error": error} if error else {})
    return a_call("AfterTool", tool_response=response, **fields)


def an_answer(usage, reason="STOP", **fields):
    candidate = {"content": {"role": "model", "parts": []}, "finishReason": reason}
    response = {"candidates": [candidate], "usageMetadata": usage}
    request = {"model": "gemini-2.5-flash", "messages": []}
    return a_body("AfterModel", llm_request=request, llm_response=response, **fields)


def only_turn(body):
    (turn,) = read(body).turns
    return turn


def only_call(body):
    (call,) = read(body).calls
    return call


# --- reading -------------------------------------------------------------------


def test_an_outcome_names_the_call_it_belongs_to():
    proposed, end = read(a_call()), read(an_end("Output: a.py", timestamp="T2"))

    assert proposed.turns[0].phase is Phase.PROPOSED
    assert end.turns[0].phase is Phase.DONE
    assert proposed.turns[0].key.startswith(end.proposal_prefix)


@pytest.mark.parametrize("other", [{"tool_input": {"command": "pwd"}}, {"tool_name": "grep"}])
def test_a_different_call_has_a_different_key(other):
    assert not read(a_call(**other)).turns[0].key.startswith(read(an_end("x")).proposal_prefix)


def test_the_same_call_again_has_a_key_of_its_own():
    assert only_turn(a_call()).key != only_turn(a_call(timestamp="T2")).key


def test_a_body_sent_twice_is_one_turn():
    assert only_turn(a_call()).key == only_turn(a_call()).key


def test_a_command_that_failed_is_an_error():
    turn = only_turn(an_end(FAILED))

    assert (turn.error, turn.result) == ("Output: (empty)\nExit Code: 1", None)


@pytest.mark.parametrize(
    "text",
    [
        "Output: Exit Code: 1 is what it said",
        "Output: log\nExit Code: 1\nand more",
        "Output: fine\nProcess Group PGID: 7",
        "Output: fine\nBackground PIDs: 8, 9\nProcess Group PGID: 7",
    ],
)
def test_a_command_that_only_prints_such_words_did_not_fail(text):
    assert only_turn(an_end(text)).error is None


def test_a_killed_command_failed():
    assert only_turn(an_end("Output: x\nSignal: SIGTERM\nProcess Group PGID: 7")).error


def test_an_exit_code_in_another_tools_text_is_no_failure():
    assert only_turn(an_end("Output: a\nExit Code: 1", tool_name="read_file")).error is None


def test_a_tool_that_failed_is_an_error():
    turn = only_turn(an_end("Could not read file.", error=NOT_FOUND, tool_name="read_file"))

    assert (turn.error, turn.result) == ("File not found: a.txt", None)


def test_a_missing_file_is_reported_as_a_missing_path():
    assert gemini.reports_missing_path(an_end("x", error=NOT_FOUND))
    assert not gemini.reports_missing_path(an_end("x", error="odd"))
    assert not gemini.reports_missing_path(a_call())


@pytest.mark.parametrize("error", ["broken", {"type": "odd"}])
def test_an_error_of_any_form_is_an_error(error):
    assert only_turn(an_end("x", error=error)).error in {"broken", "the tool failed"}


def test_equal_results_are_equal_whatever_process_made_them():
    one, two = (f"Output: a\nProcess Group PGID: {pid}" for pid in (26133, 26144))

    assert only_turn(an_end(one)).result == only_turn(an_end(two)).result == "Output: a"


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (None, None),
        ({}, None),
        ({"llmContent": "plain"}, "plain"),
        ({"llmContent": {"text": "one part"}}, "one part"),
        (
            {"llmContent": [{"text": "a"}, "b", {"inlineData": {"mimeType": "image/png"}}]},
            'a\nb\n{"inlineData": {"mimeType": "image/png"}}',
        ),
        ("bare", "bare"),
        ({"llmContent": "<untrusted_context>\nx\n</untrusted_context>"}, "x"),
    ],
)
def test_a_response_becomes_the_text_the_model_read(response, text):
    assert response_text(response) == text


def test_a_prompt_is_what_the_user_says():
    event = read(a_body("BeforeAgent", prompt="fix the tests"))

    (turn,) = event.turns
    assert (turn.role, turn.content) == (Role.USER, "fix the tests")
    assert event.run_name == "tidepool: fix the tests"


def test_the_last_message_of_an_agent_is_a_turn():
    turn = only_turn(a_body("AfterAgent", prompt="go", prompt_response="Done."))

    assert (turn.role, turn.content) == (Role.ASSISTANT, "Done.")


def test_only_the_hook_before_a_tool_holds():
    assert [event for event in HOOKS if read(a_call(event)).holds] == ["BeforeTool"]


def test_the_end_of_a_session_is_an_end():
    assert read(a_body("SessionEnd", reason="exit")).ends_session


@pytest.mark.parametrize("event", ["BeforeModel", "Notification", "SessionStart", "AfterModel"])
def test_an_event_that_is_no_step_stores_no_turn(event):
    assert read(a_body(event)).turns == ()


def test_malformed_fields_are_absent():
    event = read(a_call(tool_input=["x"], cwd=3, workspace=["a.py", 3, None]))

    assert event.turns[0].args == {"input": ["x"]}
    assert (event.cwd, event.workspace, event.turns[0].files) == ("", ("a.py",), ())
    assert read(a_body("BeforeTool", tool_input={})).turns == ()
    assert read(a_body("BeforeAgent", prompt="")).turns == ()
    assert read(a_body("AfterAgent", prompt_response="")).turns == ()


def test_the_files_of_a_call_are_known():
    assert only_turn(a_call(tool_input={"file_path": "a.py"})).files == ("a.py",)


@pytest.mark.parametrize("body", [{}, {"hook_event_name": "AfterTool"}, {"session_id": "s"}])
def test_a_malformed_hook_body_is_refused(body):
    with pytest.raises(UnreadableHook):
        read(body)


def test_a_probe_needs_no_session_and_is_answered_with_nothing():
    event = read({"hook_event_name": "Probe", "session_id": ""})

    assert event.is_probe
    assert answer(event, a_directive(DirectiveAction.STOP)) == {}


def test_every_sampled_body_of_the_real_client_is_read():
    for name, body in sampled_bodies("gemini_cli-0.61.0_hook_inputs.json").items():
        event = read(body)
        assert event.name == name
        assert event.run_key == f"gemini:{body['session_id']}"


# --- what it used ----------------------------------------------------------------


def test_the_hook_reports_a_model_call_once_it_is_complete():
    usage = {"promptTokenCount": 1500, "candidatesTokenCount": 42, "totalTokenCount": 1552}

    call = only_call(an_answer(usage))

    assert call.usage == Usage(input=1500, output=52, reasoning=10)
    assert (call.source, call.model, call.provider) == ("turns", "gemini-2.5-flash", "google")
    assert read(an_answer(usage, reason=None)).calls == ()


def test_cached_tokens_are_counted_apart_if_reported():
    usage = {
        "promptTokenCount": 1500,
        "cachedContentTokenCount": 1000,
        "candidatesTokenCount": 42,
        "thoughtsTokenCount": 10,
        "toolUsePromptTokenCount": 7,
        "totalTokenCount": 1559,
    }

    used = only_call(an_answer(usage)).usage

    assert used == Usage(input=507, cache_read=1000, output=52, reasoning=10)


def test_malformed_counts_are_ignored():
    assert (
        only_call(an_answer({"promptTokenCount": "many", "totalTokenCount": -3})).usage == Usage()
    )
    assert read(an_answer("much")).calls == ()
    assert read(a_body("AfterModel", llm_response={"usageMetadata": {"x": 1}})).calls == ()


def a_message(name, cached=1000, **fields):
    tokens = {"input": 1500, "output": 42, "cached": cached, "thoughts": 10, "tool": 0}
    message = {"id": name, "type": "gemini", "tokens": tokens, "content": "secret words"}
    return json.dumps(
        message | {"model": "gemini-2.5-flash", "timestamp": "2026-11-21T21:08:44Z"} | fields
    )


@pytest.fixture
def transcript(tmp_path):
    def write(*lines, name="chats/session.jsonl"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in lines))
        return file

    return write


def seen_beside(transcript, **fields):
    body = a_call(transcript_path=str(transcript), **fields)
    return read(body | local_facts(body)).calls


def test_the_transcript_has_the_cached_tokens(transcript):
    (call,) = seen_beside(transcript(a_message("m-1")))

    assert call.usage == Usage(input=500, cache_read=1000, output=52, reasoning=10)
    assert (call.call_id, call.source) == ("m-1", "transcript")


def test_a_message_written_twice_is_one_call(transcript):
    lines = (a_message("m-1"), '{"$set": {}}', a_message("m-1", toolCalls=[]), a_message("m-2"))

    assert [call.call_id for call in seen_beside(transcript(*lines))] == ["m-1", "m-2"]


def test_only_the_last_calls_of_a_long_transcript_are_sent(transcript):
    lines = [a_message(f"m-{n}") for n in range(4000)]

    ids = [call.call_id for call in seen_beside(transcript(*lines))]

    assert ids == [f"m-{n}" for n in range(4000 - MAX_CALLS, 4000)]


def test_no_text_of_a_transcript_leaves_the_machine(transcript):
    body = a_call(transcript_path=str(transcript(a_message("m-1"))))

    assert "secret" not in json.dumps(local_facts(body))


def test_a_subagents_calls_are_counted_with_its_session(transcript):
    transcript(a_message("sub-1"), name="chats/s-1/helper.jsonl")

    calls = seen_beside(transcript(a_message("m-1")))

    assert [call.call_id for call in calls] == ["sub-1", "m-1"]


@pytest.mark.parametrize("session", ["../chats", ".", ""])
def test_a_session_id_cannot_lead_to_another_folder(transcript, session):
    calls = seen_beside(transcript(a_message("m-1")), session_id=session or "/")

    assert [call.call_id for call in calls] == ["m-1"]


def test_unreadable_lines_are_skipped(transcript):
    odd = ("nonsense", "[1]", a_message("", tokens=None), a_message("m-9", tokens="few"), '{"id"')

    assert seen_beside(transcript(*odd)) == ()


def test_with_a_transcript_the_hooks_own_count_is_ignored(transcript):
    usage = {"promptTokenCount": 1500, "candidatesTokenCount": 42, "totalTokenCount": 1552}
    body = an_answer(usage, transcript_path=str(transcript(a_message("m-1"))))

    assert [call.source for call in read(body | local_facts(body)).calls] == ["transcript"]


def test_without_a_transcript_the_hooks_own_count_is_used(tmp_path):
    usage = {"promptTokenCount": 1500, "candidatesTokenCount": 42, "totalTokenCount": 1552}
    body = an_answer(usage, transcript_path=str(tmp_path / "none.jsonl"))

    assert [call.source for call in read(body | local_facts(body)).calls] == ["turns"]


# --- answering -----------------------------------------------------------------


def test_proceeding_never_forces_a_permission():
    assert answer(read(a_call()), a_directive()) == {}


def test_a_call_that_runs_gets_no_message_because_the_model_would_not_read_it():
    event = read(a_call())

    assert not event.takes_messages
    assert event.denial_is_read
    assert answer(event, a_directive(DirectiveAction.PROCEED, "look in b.py")) == {}


def test_a_skipped_call_is_denied_with_the_messages_as_its_reason():
    directive = a_directive(DirectiveAction.PROCEED, "one", "two", call=CallAction.SKIP)

    assert answer(read(a_call()), directive) == {"decision": "deny", "reason": "one\n\ntwo"}


def test_a_second_skipped_call_is_denied_without_the_message_again():
    reply = answer(read(a_call()), a_directive(call=CallAction.SKIP))

    assert reply == {"decision": "deny", "reason": base.NOT_RUN}


def test_a_hold_that_outlasts_the_request_does_not_let_the_call_run():
    assert answer(read(a_call()), a_directive(DirectiveAction.HOLD))["decision"] == "deny"


@pytest.mark.parametrize("event", [event for event in HOOKS if event != "SessionEnd"])
def test_a_stop_ends_the_loop_at_any_hook_and_retries_nothing(event):
    reply = answer(read(a_call(event)), a_directive(DirectiveAction.STOP, reason="by Ann"))

    assert reply == {"continue": False, "stopReason": "by Ann"}


@pytest.mark.parametrize("event", ["BeforeAgent", "AfterTool"])
def test_a_message_is_added_to_what_the_model_reads(event):
    body = a_call(event, prompt="go", tool_response={"llmContent": "x"})

    output = answer(read(body), a_directive(DirectiveAction.PROCEED, "note"))["hookSpecificOutput"]

    assert output == {"hookEventName": event, "additionalContext": "note"}


def test_a_message_is_added_to_a_tools_own_error():
    event = read(an_end("Could not read file.", error=NOT_FOUND, tool_name="read_file"))

    reply = answer(event, a_directive(DirectiveAction.PROCEED, "look in b.txt"))

    assert reply == {"decision": "deny", "reason": "File not found: a.txt\n\nlook in b.txt"}


def test_at_the_end_a_message_is_the_next_prompt_once():
    first = read(a_body("AfterAgent", stop_hook_active=False))
    second = read(a_body("AfterAgent", stop_hook_active=True))
    directive = a_directive(DirectiveAction.PROCEED, "one more thing")

    assert answer(first, directive) == {"decision": "deny", "reason": "one more thing"}
    assert answer(second, directive) == {}
    assert not second.takes_messages


def test_its_reported_capabilities_are_all_understood():
    reported = gemini.capabilities(read(a_call()))

    assert Capabilities.read(reported).as_mapping() == reported
    assert Capabilities.read(reported).unavailable("gemini") == {}
