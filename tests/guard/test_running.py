"""`guard run`: what it reads of a Codex command and of the app-server's notices."""

import argparse
import io

import pytest

from guard.adapters.codex.hooks import capabilities, read
from guard.running import codex_exec, command, session_notes
from guard.running.codex_items import (
    NO_TURN_TEXT,
    UsageLedger,
    read_call_usage,
    summary_line,
    turn_of,
)
from guard.sdk.connections import Connection, save_connection
from guard.turn import Role, Turn

SKIP = "--skip-git-repo-check"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in (
        "MISSIONCONTROL_URL",
        "MISSIONCONTROL_KEY",
        session_notes.NOTES_VARIABLE,
        session_notes.STEERED_VARIABLE,
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", a_pipe(b""))
    return tmp_path


def a_pipe(raw):
    return io.TextIOWrapper(io.BytesIO(raw))


def task(*words):
    read = codex_exec.read_command(["codex", "exec", SKIP, *words])
    assert isinstance(read, codex_exec.CodexTask), read
    return read


def refusal(*words):
    read = codex_exec.read_command(["codex", *words])
    assert isinstance(read, str)
    return read


# --- the command line ------------------------------------------------------------


def test_a_prompt_is_driven_with_its_options(home):
    read = task("-m", "gpt-x", "-s", "read-only", "-c", "a=1", "--enable", "b", "Mend it.")

    assert (read.prompt, read.options) == ("Mend it.", ("-c", "a=1", "--enable", "b"))
    assert read.thread == {
        "cwd": str(home),
        "approvalPolicy": "never",
        "model": "gpt-x",
        "sandbox": "read-only",
    }


def test_nobody_is_asked_for_approval():
    assert task("x").thread["approvalPolicy"] == "never"
    assert "sandbox" not in task("x").thread
    assert task("--dangerously-bypass-approvals-and-sandbox", "x").thread["sandbox"] == (
        "danger-full-access"
    )


def test_hooks_are_only_trusted_where_the_person_says_so():
    assert "config" not in task("x").thread
    assert task("--dangerously-bypass-hook-trust", "x").thread["config"] == {
        "bypass_hook_trust": True
    }


@pytest.mark.parametrize(
    ("words", "piped", "prompt"),
    [
        (["-"], b"from a pipe", "from a pipe"),
        ([], b"from a pipe", "from a pipe"),
        (["Mend it."], b"", "Mend it."),
        (["Mend it."], b"the log", "Mend it.\n\n<stdin>\nthe log\n</stdin>"),
        (["Mend it."], b"caf\xe9", "Mend it.\n\n<stdin>\ncaf\ufffd\n</stdin>"),
    ],
)
def test_a_prompt_is_read_as_codex_reads_it(monkeypatch, words, piped, prompt):
    monkeypatch.setattr("sys.stdin", a_pipe(piped))

    assert task(*words).prompt == prompt


@pytest.mark.parametrize(
    "words",
    [
        ["exec", SKIP, "resume", "--last"],
        ["exec", SKIP, "resume"],
        ["exec", SKIP, "--output-schema", "s.json", "x"],
        ["exec", "outside of git"],
    ],
)
def test_a_command_that_cannot_be_driven_is_explained(words):
    assert "is not steered" in refusal(*words)


@pytest.mark.parametrize("words", [[], ["Mend it."], ["resume"]])
def test_the_interactive_screen_is_not_driven(words):
    assert refusal(*words) == codex_exec.SCREEN_NOT_STEERED


def test_inside_a_repository_no_flag_is_needed(home):
    (home / ".git").mkdir()

    assert isinstance(codex_exec.read_command(["codex", "e", "x"]), codex_exec.CodexTask)


# --- where -----------------------------------------------------------------------


def wanted(*words, client=None):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.find_connection(parser.parse_args([*words, "--", "x"]), client)


def test_a_connected_agents_server_and_choice_are_taken(home):
    save_connection(
        Connection(client="codex", place="*", url="http://h", key="mc_k", fail="closed")
    )

    assert (wanted(client="codex").url, wanted(client="codex").fail) == ("http://h", "closed")
    assert wanted().url == "http://h"
    assert wanted("--fail", "open").fail == "open"


def test_without_an_address_it_does_not_start(capsys):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)

    assert command.run(parser.parse_args(["--", "true"])) == command.NOT_STARTED
    assert "--url and --key" in capsys.readouterr().err


def test_to_fail_closed_it_starts_nothing_unwatched(home, capsys):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = ["--url", "http://127.0.0.1:9", "--key", "mc_k", "--fail", "closed"]

    status = command.run(parser.parse_args([*args, "--", "touch", "it-ran"]))

    assert status == command.NOT_STARTED
    assert not (home / "it-ran").exists()


# --- notes -----------------------------------------------------------------------


def test_a_session_under_guard_run_is_noted(home, monkeypatch):
    session_notes.note_session("codex", "unkept")
    monkeypatch.setenv(session_notes.NOTES_VARIABLE, str(home))
    session_notes.note_session("codex", "a/../b")
    session_notes.note_session("codex", "")

    assert session_notes.noted_sessions(home) == {"codex:a/../b"}
    assert session_notes.noted_sessions(home / "nowhere") == set()


def test_a_supervised_session_can_be_ended_and_a_steered_one_gets_texts_now(monkeypatch):
    monkeypatch.setenv(session_notes.NOTES_VARIABLE, "/somewhere")
    monkeypatch.setenv(session_notes.STEERED_VARIABLE, "1")
    body = {
        "hook_event_name": "PostToolUse",
        "session_id": "s",
        "guard": session_notes.guard_run_facts(),
    }

    event = read(body)

    assert capabilities(event)["terminate"] == "signal"
    assert capabilities(event)["inject"][0] == "now"
    assert not event.takes_messages


# --- what the app-server tells -----------------------------------------------------


def a_command(**fields):
    actions = [{"type": "unknown", "command": "ls"}]
    item = {"type": "commandExecution", "id": "call_1", "command": "/bin/bash -lc ls"}
    return item | {"commandActions": actions, "aggregatedOutput": "a\n", "exitCode": 0} | fields


def test_a_command_is_reported_as_its_hooks_would_report_it():
    turn = turn_of(a_command())

    assert (turn.key, turn.tool, turn.args) == ("call_1", "Bash", {"command": "ls"})
    assert (turn.result, turn.error) == ("a\n", None)


def test_a_failed_command_has_an_error():
    assert turn_of(a_command(exitCode=2, aggregatedOutput="no\n")).error == "exit code 2\nno"


def test_several_commands_in_one_line_are_reported_whole():
    actions = [{"command": "cd x"}, {"command": "ls"}]

    assert turn_of(a_command(commandActions=actions)).args == {"command": "/bin/bash -lc ls"}


def test_a_change_names_its_files():
    item = {"type": "fileChange", "id": "c", "changes": [{"path": "/a.py"}], "status": "failed"}

    turn = turn_of(item)

    assert (turn.tool, turn.files) == ("apply_patch", ("/a.py",))
    assert turn.error
    assert summary_line(item) == "changed /a.py"


def test_a_tool_of_a_server_has_its_result_or_error():
    item = {"type": "mcpToolCall", "id": "m", "server": "git", "tool": "log", "arguments": {"n": 1}}

    assert turn_of(item | {"result": {"a": 1}}).result == '{"a": 1}'
    assert turn_of(item | {"error": {"message": "away"}}).error == "away"
    assert turn_of(item).tool == "mcp__git__log"


def test_messages_are_reported_with_their_role():
    asked = {"type": "userMessage", "id": "u", "content": [{"type": "text", "text": "Go."}]}

    assert (turn_of(asked).role, turn_of(asked).content) == (Role.USER, "Go.")
    assert turn_of({"type": "agentMessage", "id": "a", "text": "Gone."}).role is Role.ASSISTANT
    assert turn_of({"type": "reasoning", "id": "r"}) is None


# --- who pays ----------------------------------------------------------------------


def a_text(text):
    return Turn(role=Role.ASSISTANT, key=text, content=text)


def used(total):
    counts = {"totalTokens": total, "inputTokens": 10, "outputTokens": 1}
    return read_call_usage({"turnId": "t", "tokenUsage": {"last": counts, "total": counts}})


def test_a_turn_waits_for_the_usage_of_its_model_call():
    ledger = UsageLedger()

    assert ledger.add_turn(a_text("a")) == []
    (paid,) = ledger.add_usage(used(7))
    assert (paid.key, paid.call_id) == ("a", "t:7")


def test_usage_goes_to_the_first_of_two_turns_of_one_call():
    ledger = UsageLedger()
    ledger.add_turn(a_text("a"))
    ledger.add_turn(a_text("b"))

    assert [turn.call_id for turn in ledger.add_usage(used(7))] == ["t:7", None]


def test_usage_reported_early_goes_to_the_next_turn():
    ledger = UsageLedger()

    assert ledger.add_usage(used(7)) == []
    assert [turn.call_id for turn in ledger.add_turn(a_text("a"))] == ["t:7"]


def test_a_persons_turn_waits_for_nothing():
    asked = Turn(role=Role.USER, content="Go.")

    assert UsageLedger().add_turn(asked) == [asked]
    assert UsageLedger().add_turn(None) == []


def test_at_the_end_waiting_turns_and_usage_are_flushed():
    ledger = UsageLedger()
    ledger.add_turn(a_text("a"))
    ledger.add_usage(used(7))
    ledger.add_usage(used(8))
    ledger.add_usage(used(9))

    assert [(turn.content, turn.call_id) for turn in ledger.flush()] == [
        (NO_TURN_TEXT, "t:8"),
        (NO_TURN_TEXT, "t:9"),
    ]
    assert ledger.flush() == []
