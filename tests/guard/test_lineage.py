"""Who belongs to whom, as agents and their forwarder tell it."""

import io
import json

import pytest

from guard.adapters.claude_code import hooks as claude_code
from guard.engine import Engine
from guard.hooks.command import run as forward_hook
from guard.sdk.lineage import (
    PARENT_VARIABLE,
    RUN_KEY_VARIABLE,
    body_with_parent,
    export_parent,
    opening_with_parent,
    parent_of,
)

SESSION = "4f9c8a52-0e5f-4d0e-9f6e-0d6c2a3b4c5d"
START = {"hook_event_name": "SessionStart", "session_id": SESSION, "source": "startup"}


@pytest.fixture(autouse=True)
def _no_agent_around_us(monkeypatch):
    for name in (PARENT_VARIABLE, RUN_KEY_VARIABLE, "CLAUDE_PID", "CLAUDE_ENV_FILE"):
        monkeypatch.delenv(name, raising=False)


def test_a_session_names_the_run_that_started_its_process(monkeypatch):
    monkeypatch.setenv(PARENT_VARIABLE, "lead-run")

    assert body_with_parent("claude-code", START)["parent_run"] == "lead-run"


def test_a_session_inside_a_guarded_command_belongs_to_the_commands_run(monkeypatch):
    monkeypatch.setenv(RUN_KEY_VARIABLE, "night-shift")

    assert body_with_parent("claude-code", START)["parent_run"] == "night-shift"


def test_a_session_started_by_a_person_has_no_parent():
    assert body_with_parent("claude-code", START) == START


def test_a_session_is_not_its_own_parent(monkeypatch):
    monkeypatch.setenv(PARENT_VARIABLE, f"claude-code:{SESSION}")

    assert body_with_parent("claude-code", START) == START


def test_processes_started_from_a_sessions_shell_name_it_as_parent(monkeypatch, tmp_path):
    script = tmp_path / "session env.sh"
    script.write_text("export OTHER=1\n")
    monkeypatch.setenv("CLAUDE_ENV_FILE", str(script))

    export_parent("claude-code", START)

    assert script.read_text().splitlines() == [
        "export OTHER=1",
        f"export {PARENT_VARIABLE}=claude-code:{SESSION}",
        f"export {RUN_KEY_VARIABLE}=''",
    ]


def test_a_session_id_that_is_a_shell_command_stays_text(monkeypatch, tmp_path):
    monkeypatch.setenv("CLAUDE_ENV_FILE", str(tmp_path / "env.sh"))

    export_parent("claude-code", {"session_id": "x; touch pwned"})

    assert "='claude-code:x; touch pwned'\n" in (tmp_path / "env.sh").read_text()


def test_an_unwritable_env_file_stops_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("CLAUDE_ENV_FILE", str(tmp_path / "gone" / "env.sh"))

    export_parent("claude-code", START)


def test_a_fork_names_the_session_on_its_command_line(monkeypatch, tmp_path):
    ps = tmp_path / "ps"
    ps.write_text(f"#!/bin/sh\necho claude -p go --resume {SESSION} --fork-session\n")
    ps.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CLAUDE_PID", "4711")

    body = body_with_parent("claude-code", {**START, "session_id": "another", "source": "fork"})

    assert parent_of(body) == (f"claude-code:{SESSION}", "forked")


def test_a_fork_whose_command_line_cannot_be_read_is_a_run_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CLAUDE_PID", "4711")

    assert parent_of(body_with_parent("claude-code", {**START, "source": "fork"})) == (
        None,
        "forked",
    )


@pytest.mark.parametrize("named", ["", 7, None, ["x"], "x" * 201])
def test_an_invalid_parent_key_is_ignored(named):
    assert parent_of({"parent_run": named}) == (None, "child")


def test_a_run_is_not_opened_under_itself():
    opening = {"key": "worker"}

    assert opening_with_parent(opening, {PARENT_VARIABLE: "worker"}) == opening
    assert opening_with_parent(opening, {PARENT_VARIABLE: "lead"}) == {
        "key": "worker",
        "parent_key": "lead",
    }


def test_the_forwarder_of_an_unconnected_directory_says_so_and_no_more(
    monkeypatch, capsys, tmp_path
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    given = io.BytesIO(json.dumps({**START, "cwd": str(tmp_path)}).encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(given))

    class Args:
        client = "claude-code"

    assert forward_hook(Args()) == 0
    assert "guard connect" in capsys.readouterr().err


# --- sub-agents inside one session ----------------------------------------------


def a_hook(name, command, call, *, subagent=None, **more):
    body = {
        "hook_event_name": name,
        "session_id": SESSION,
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": call,
        **more,
    }
    if subagent:
        body |= {"agent_id": subagent, "agent_type": "general-purpose"}
    return claude_code.read(body)


def call(engine, command, name, *, subagent=None, error=None, result="ok"):
    asked = a_hook("PreToolUse", command, name, subagent=subagent)
    seen = engine.observe(asked.turns[0])
    if error is None:
        ended = a_hook(
            "PostToolUse", command, name, subagent=subagent, tool_response={"stdout": result}
        )
    else:
        ended = a_hook("PostToolUseFailure", command, name, subagent=subagent, error=error)
    engine.observe(ended.turns[0])
    return seen


def test_each_sub_agent_of_a_session_speaks_under_a_name_of_its_own():
    names = {a_hook("PreToolUse", "ls", "c", subagent=one).turns[0].agent for one in ("a1", "b2")}

    assert names == {"general-purpose:a1", "general-purpose:b2"}
    assert a_hook("PreToolUse", "ls", "c").turns[0].agent is None


def test_the_same_call_of_many_sub_agents_is_no_streak():
    engine = Engine()

    seen = [call(engine, "cat README.md", f"c{n}", subagent=f"a{n}") for n in range(10)]

    assert not [one for one in seen if one.trip]


def test_a_sub_agents_streak_is_its_own_between_the_main_agents_calls():
    engine = Engine()
    seen = []
    for number in range(3):
        call(engine, f"cat chapter-{number}.md", f"m{number}", result=f"chapter {number} is here")
        seen.append(
            call(engine, "pytest -q", f"s{number}", subagent="a1", error="no module named app")
        )

    assert [one.trip is not None for one in seen] == [False, False, True]
    assert seen[-1].trip.detector in {"repeat", "errors"}


def test_parallel_calls_keep_the_order_in_which_they_were_asked():
    engine = Engine()
    for name in ("one", "two", "three"):
        engine.observe(a_hook("PreToolUse", f"cat {name}", name, subagent="a1").turns[0])
    for name in ("three", "one", "two"):
        done = a_hook(
            "PostToolUse", f"cat {name}", name, subagent="a1", tool_response={"stdout": name}
        )
        engine.observe(done.turns[0])

    steps = engine.history.steps
    assert [step.call.split()[-1].strip('"}') for step in steps] == ["one", "two", "three"]
    assert all(step.outcome for step in steps)
