"""`guard connect`, `disconnect` and `doctor` on real files and real repositories."""

import io
import json
import stat
import subprocess
import sys

import pytest

from guard.adapters.claude_code.adapter import SETTINGS, USAGE_EVENT
from guard.adapters.claude_code.hooks import HOOKS, IDLE
from guard.adapters.hook import HOOK_HEADER
from guard.connect import command as connect
from guard.connect import disconnect, doctor
from guard.hooks import command as hook
from guard.sdk import connections
from guard.sdk.connections import HOLD_MARGIN_S, Connection, connection_for, save_connection
from tests.agents.command_line import call
from tests.sdk.server import LoopbackServer

KEY = "mc_secret_key_1234567890"
URL = "http://127.0.0.1:9"


pytestmark = pytest.mark.usefixtures("home")


def guard(module, *words):
    return call(module, "claude-code", *words)


def connect_in(project, *words):
    return guard(connect, "--url", URL, "--key", KEY, "--project-dir", project, *words)


def settings_of(project):
    return json.loads((project / ".claude" / "settings.local.json").read_text())


# --- on disk -------------------------------------------------------------------


def test_a_project_is_connected_in_its_local_settings(project, capsys):
    assert connect_in(project) == 0

    hook_before_a_tool = SETTINGS.hooks_by_event(settings_of(project))["PreToolUse"]
    assert hook_before_a_tool["headers"]["Authorization"] == f"Bearer {KEY}"
    assert hook_before_a_tool["url"] == f"{URL}/api/v1/hooks/claude-code/"
    assert hook_before_a_tool["allowedEnvVars"] == ["CLAUDE_CODE_ENTRYPOINT"]


def test_the_key_is_readable_by_its_owner_alone(project, home):
    connect_in(project)

    for file in (
        project / ".claude" / "settings.local.json",
        home / ".config" / "missioncontrol" / "keys.toml",
    ):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_change_is_shown_without_the_key(project, capsys):
    connect_in(project)

    shown = capsys.readouterr().out
    assert '+            "url": "http://127.0.0.1:9/api/v1/hooks/claude-code/"' in shown
    assert KEY not in shown


def test_a_replaced_key_is_not_shown_either(project, capsys):
    connect_in(project)
    guard(connect, "--url", URL, "--key", "mc_another_key", "--project-dir", project)
    guard(disconnect, "--project-dir", project)

    shown = capsys.readouterr().out
    assert KEY not in shown
    assert "mc_another_key" not in shown


def test_the_forwarder_is_called_by_its_absolute_path(project):
    connect_in(project)

    start = SETTINGS.hooks_by_event(settings_of(project))["SessionStart"]
    assert start["command"].startswith("/")


def test_without_a_project_the_persons_settings_are_used(home):
    guard(connect, "--url", URL, "--key", KEY)

    written = json.loads((home / ".claude" / "settings.json").read_text())
    assert set(SETTINGS.hooks_by_event(written)) == {*HOOKS, IDLE, USAGE_EVENT}


def test_a_repository_ignores_the_local_settings_from_now_on(repository):
    connect_in(repository)

    seen = subprocess.run(
        ["git", "-C", str(repository), "status", "--porcelain", "-uall"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout == ""


def test_a_file_that_git_already_ignores_needs_no_exclude(repository):
    (repository / ".gitignore").write_text(".claude/\n")
    before = (repository / ".git" / "info" / "exclude").read_text()

    connect_in(repository)

    assert (repository / ".git" / "info" / "exclude").read_text() == before


def test_a_file_git_tracks_never_gets_the_key(repository, capsys):
    tracked = repository / ".claude" / "settings.local.json"
    tracked.parent.mkdir()
    tracked.write_text("{}")
    subprocess.run(["git", "-C", str(repository), "add", "-f", str(tracked)], check=True)

    assert connect_in(repository) == 1

    assert tracked.read_text() == "{}"
    assert "Git tracks" in capsys.readouterr().err


def test_linked_dotfiles_are_checked_at_their_real_place(home, repository, capsys):
    real = repository / "claude-settings.json"
    real.write_text("{}")
    subprocess.run(["git", "-C", str(repository), "add", str(real)], check=True)
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").symlink_to(real)

    assert guard(connect, "--url", URL, "--key", KEY) == 1

    assert KEY not in real.read_text()


def test_a_repository_that_cannot_be_asked_gets_no_key(repository, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")

    assert connect_in(repository) == 1
    assert "cannot be asked" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{ // a comment\n}", "[]", "\udcff"])
def test_settings_it_cannot_read_stay_as_they_are(project, text, capsys):
    file = project / ".claude" / "settings.local.json"
    file.parent.mkdir()
    file.write_bytes(text.encode("utf-8", "surrogateescape"))

    assert connect_in(project) == 1

    assert file.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_without_an_address_it_says_what_is_missing(project, capsys):
    assert guard(connect, "--project-dir", project) == 1
    assert "--url and --key" in capsys.readouterr().err


def test_connecting_again_needs_no_key_again(project):
    connect_in(project)

    assert guard(connect, "--project-dir", project, "--fail", "closed") == 0
    assert SETTINGS.hooks_by_event(settings_of(project))["PreToolUse"]["onFailure"] == "block"


class Terminal:
    def __init__(self, typed):
        self.typed = typed

    def isatty(self):
        return True

    def readline(self):
        return self.typed


@pytest.mark.parametrize(("typed", "written"), [("n\n", False), ("", False), ("y\n", True)])
def test_on_a_terminal_it_asks_first(project, monkeypatch, typed, written):
    monkeypatch.setattr(sys, "stdin", Terminal(typed))

    connect_in(project)

    assert (project / ".claude" / "settings.local.json").exists() is written


def test_a_second_connection_of_the_same_agent_is_named(project, capsys):
    guard(connect, "--url", URL, "--key", KEY)
    assert "also connected for all projects" not in capsys.readouterr().out

    connect_in(project)
    assert "also connected for all projects" in capsys.readouterr().out


def test_disconnecting_removes_everything(project, home):
    connect_in(project)

    assert guard(disconnect, "--project-dir", project) == 0

    assert not (project / ".claude" / "settings.local.json").exists()
    assert not (home / ".config").exists()


# --- what the project says -------------------------------------------------------


class ProjectServer(LoopbackServer):
    """Tells a probe what its project asks, as the real one does."""

    fail, hold_limit = "closed", 3600

    def answer(self, asked):
        if asked.path.endswith("/hooks/claude-code/"):
            return 200, {"missioncontrol": {"fail": self.fail, "hold_limit": self.hold_limit}}
        answer = super().answer(asked)
        return (200, {"key": KEY}) if asked.path.endswith("/setup-codes/exchange/") else answer


@pytest.fixture
def server():
    server = ProjectServer()
    server.start()
    yield server
    server.stop()


def connect_to(server, project, *words):
    args = ("--url", server.url, "--key", KEY, "--project-dir", project)
    assert guard(connect, *args, *words) == 0
    return SETTINGS.hooks_by_event(settings_of(project))


def test_the_project_says_whether_it_fails_open_or_closed(server, project):
    assert connect_to(server, project)["PreToolUse"]["onFailure"] == "block"
    assert connect_to(server, project, "--fail", "open")["PreToolUse"]["onFailure"] == "continue"


def test_a_key_that_the_server_does_not_know_is_written_nowhere(server, project, capsys):
    server.answer = lambda _: (401, {"code": "not_signed_in", "detail": "unknown key"})

    status = guard(connect, "--url", server.url, "--key", KEY, "--project-dir", project)

    assert status == 1
    assert "does not know this key" in capsys.readouterr().err
    assert not (project / ".claude").exists()


def test_connecting_while_the_server_is_away_is_reported(project, capsys):
    connect_in(project)

    assert f"{URL} does not answer now (" in capsys.readouterr().out


@pytest.mark.parametrize("answer", [(405, None), (200, None), (404, {"code": "not_found"})])
@pytest.mark.parametrize("path", ["/board", "/api/v1/", "/login/x"])
def test_the_address_of_a_page_is_written_nowhere(server, project, capsys, path, answer):
    server.answer = lambda _: answer

    status = guard(connect, "--url", server.url + path, "--key", KEY, "--project-dir", project)

    assert status == 1
    assert f"such as {server.url}" in capsys.readouterr().err
    assert not (project / ".claude").exists()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((404, {"code": "not_found"}), "answers, but not what this guard asks"),
        ((200, {}), "answers, but not what this guard asks"),
        ((405, None), "another program answered 405"),
    ],
)
def test_connecting_to_another_program_is_reported(server, project, capsys, answer, told):
    server.answer = lambda _: answer

    connect_to(server, project)

    said = capsys.readouterr().out
    assert told in said
    assert "does not answer now" not in said


@pytest.mark.parametrize("more", ["?tab=1", "/#/runs"])
def test_an_address_unusable_in_hooks_is_refused(project, capsys, more):
    status = guard(connect, "--url", URL + more, "--key", KEY, "--project-dir", project)

    assert status == 1
    assert "address alone" in capsys.readouterr().err
    assert not (project / ".claude").exists()


def test_no_hook_is_left_where_its_key_could_not_be_kept(home, project, capsys):
    (home / ".config").write_text("no folder")

    status = guard(connect, "--url", URL, "--key", KEY, "--project-dir", project)

    assert status == 1
    assert ".config" in capsys.readouterr().err
    assert not (project / ".claude" / "settings.local.json").exists()


def test_without_a_home_nothing_is_connected(monkeypatch):
    def nobodys():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(connections.Path, "home", nobodys)

    assert connections.read_connections() == []


def test_a_verified_connection_prints_no_warning(server, project, capsys):
    connect_to(server, project)

    assert "does not answer" not in capsys.readouterr().out


def test_the_key_of_a_setup_code_comes_before_any_other(server, project, monkeypatch):
    monkeypatch.setenv("MISSIONCONTROL_KEY", "mc_of_the_environment")
    save_connection(
        Connection(client="claude-code", place=str(project), url=server.url, key="mc_old")
    )

    assert guard(connect, "--once", "X4", "--key", "mc_given", "--project-dir", project) == 0
    assert connection_for("claude-code", project).key == KEY


def test_a_setup_code_is_not_used_up_if_the_agent_has_no_such_hooks(server, project, capsys):
    words = ("codex", "--url", server.url, "--once", "X4", "--via", "http")

    status = call(connect, *words, "--project-dir", project)

    assert status == 1
    assert "--via http" in capsys.readouterr().err
    assert server.requests_to("POST", "setup-codes/exchange/") == []


def test_a_longer_hold_gets_a_longer_time_out(server, project):
    server.hold_limit = 4 * 3600

    hooks = connect_to(server, project)

    assert hooks["PreToolUse"]["timeout"] == 4 * 3600 + HOLD_MARGIN_S
    assert f"timeout={4 * 3600 + HOLD_MARGIN_S}" in hooks["PreToolUse"]["headers"][HOOK_HEADER]


@pytest.mark.parametrize(
    ("limit", "fails"), [(3600, "closed"), (3850, "closed"), (7200, "closed"), (3600, "open")]
)
def test_the_doctor_finds_out_what_the_project_has_changed_since(
    server, project, limit, fails, capsys
):
    connect_to(server, project)
    server.hold_limit, server.fail = limit, fails

    status = guard(doctor, "--project-dir", project)

    shown = capsys.readouterr().out
    assert ("ok  time-outs" in shown) is (limit == 3600)
    assert ("ok  fail" in shown) is (fails == "closed")
    assert status == (0 if (limit, fails) == (3600, "closed") else 1)


def test_every_hook_may_go_through_the_forwarder(server, project):
    hooks = connect_to(server, project, "--via", "command")

    assert {hook["type"] for hook in hooks.values()} == {"command"}
    assert hooks["PreToolUse"]["onFailure"] == "block"
    assert KEY not in json.dumps(settings_of(project))


def test_a_session_is_parked_only_where_the_person_asked_for_it(server, project):
    asked = connect_to(server, project, "--defer-after", "900")["PreToolUse"]["headers"][
        HOOK_HEADER
    ]
    silent = connect_to(server, project)["PreToolUse"]["headers"][HOOK_HEADER]

    assert ("defer=900" in asked, "defer" in silent) == (True, False)


def test_an_agent_without_such_hooks_says_so(project, capsys):
    args = ["codex", "--url", URL, "--key", KEY, "--project-dir", project, "--via", "http"]

    assert call(connect, *args) == 1
    assert "no hooks of that kind" in capsys.readouterr().err


# --- keys ----------------------------------------------------------------------


def test_the_innermost_project_is_the_connection(tmp_path):
    for place in (connections.USER_WIDE, str(tmp_path), str(tmp_path / "a")):
        save_connection(Connection(client="claude-code", place=place, url=URL, key=f"k{place}"))
    (tmp_path / "a" / "b").mkdir(parents=True)

    found = connection_for("claude-code", tmp_path / "a" / "b")

    assert found is not None
    assert found.place == str(tmp_path / "a")


def test_a_place_with_odd_letters_is_found_again(tmp_path):
    odd = tmp_path / 'a "b" \\ é'
    odd.mkdir()
    save_connection(
        Connection(client="claude-code", place=str(odd), url=URL, key="k", fail="closed")
    )

    found = connection_for("claude-code", odd)

    assert found is not None
    assert found.fail == "closed"


# --- the forwarder ---------------------------------------------------------------


def forwarded(monkeypatch, body):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    # As a pipe is on Windows, whatever JSON is written in.
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="cp1252"))
    return guard(hook)


@pytest.fixture
def here(project, monkeypatch):
    """A server to which this directory is connected: it takes every hook."""
    server = LoopbackServer()
    server.start()
    monkeypatch.chdir(project)
    save_connection(
        Connection(client="claude-code", place=str(project), url=server.url, key=KEY, fail="closed")
    )
    yield server
    server.stop()


def before_a_tool(**args):
    return {"hook_event_name": "PreToolUse", "session_id": "s", "tool_input": args}


def test_a_body_is_read_as_utf_8_on_every_system(here, monkeypatch):
    asked = before_a_tool(command="echo かな ÿ")

    assert forwarded(monkeypatch, json.dumps(asked, ensure_ascii=False).encode()) == 0
    assert forwarded(monkeypatch, json.dumps(asked).encode().replace(b"echo", b"echo \xff")) == 0

    commands = [
        told.body["tool_input"]["command"] for told in here.requests_to("POST", "claude-code/")
    ]
    assert commands == ["echo かな ÿ", "echo \ufffd かな ÿ"]


def test_a_call_too_long_for_the_server_is_sent_in_part(here, monkeypatch):
    assert forwarded(monkeypatch, before_a_tool(content="x" * 9_000_000, path="a.txt")) == 0

    (told,) = here.requests_to("POST", "claude-code/")
    assert told.body["tool_input"]["path"] == "a.txt"
    assert "characters cut" in told.body["tool_input"]["content"]


def test_what_is_sent_of_a_long_call_is_taken_by_the_server_in_any_script(here, monkeypatch):
    asked = before_a_tool(content="я" * 1_900_000)

    assert forwarded(monkeypatch, json.dumps(asked, ensure_ascii=False).encode()) == 0

    (told,) = here.requests_to("POST", "claude-code/")
    assert len(json.dumps(told.body)) < 8_000_000


def test_a_long_call_is_sent_the_same_before_and_after_it_runs(here, monkeypatch):
    asked = before_a_tool(content="x" * 600_000, edits=[*range(200)])

    assert forwarded(monkeypatch, asked) == 0
    assert forwarded(monkeypatch, asked | {"tool_response": "y" * 9_000_000}) == 0

    before, after = here.requests_to("POST", "claude-code/")
    assert before.body["tool_input"] == after.body["tool_input"]


@pytest.mark.parametrize("length", [1, 1_100_000])
@pytest.mark.parametrize("depth", [100, 700, 900, 990, 50_000])
def test_a_call_of_any_depth_is_sent(here, monkeypatch, length, depth):
    body = json.dumps(before_a_tool(text="x" * length, a=1)).encode()

    status = forwarded(
        monkeypatch, body.replace(b"1}", b'{"a":' * depth + b"1" + b"}" * (depth + 1))
    )

    (told,) = here.requests_to("POST", "claude-code/")
    assert (status, "a" in told.body["tool_input"]) == (0, True)


@pytest.mark.parametrize("depth", [990, 50_000])
def test_a_deep_call_is_sent_even_if_its_transcript_contains_it(here, monkeypatch, tmp_path, depth):
    transcript, usage = tmp_path / "s.jsonl", {"input_tokens": 7}
    row = json.dumps({"message": {"id": "msg_1", "usage": usage, "content": [{"input": 1}]}})
    transcript.write_text(row.replace(": 1}", ": " + "[" * depth + "1" + "]" * depth + "}"))

    body = before_a_tool() | {"transcript_path": str(transcript)}
    assert forwarded(monkeypatch, body) == 0

    (asked,) = here.requests_to("POST", "claude-code/")
    assert [call["usage"] for call in asked.body["guard"]["model_calls"]] == [usage]


def test_a_body_that_is_no_json_is_blocked_where_it_fails_closed(here, monkeypatch, capsys):
    body = json.dumps(before_a_tool(a=1)).encode()

    status = forwarded(monkeypatch, body.replace(b"1}", b'{"a":' * 50_000))

    assert status == 2
    assert "cannot be read" in capsys.readouterr().err


def test_the_forwarder_adds_the_listing_and_prints_the_answer(repository, monkeypatch, capsys):
    (repository / "pyproject.toml").write_text("")
    (repository / "build.log").write_text("")
    (repository / ".gitignore").write_text("*.log\n")
    server = LoopbackServer()
    server.start()
    save_connection(
        Connection(client="claude-code", place=str(repository), url=server.url, key=KEY)
    )

    body = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(repository)}
    status = forwarded(monkeypatch, body)
    server.stop()

    (asked,) = server.requests_to("POST", "hooks/claude-code/")
    assert status == 0
    assert asked.body["workspace"] == [".gitignore", "pyproject.toml"]
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.headers["X-MissionControl-Hook"].startswith("via=command; fail=open")
    assert json.loads(capsys.readouterr().out) == {"id": "run-1"}


@pytest.mark.parametrize(
    ("fail", "event", "status"),
    [("open", "PreToolUse", 0), ("closed", "PreToolUse", 2), ("closed", "SessionStart", 0)],
)
def test_without_a_server_only_a_closed_call_is_blocked(project, monkeypatch, fail, event, status):
    save_connection(
        Connection(client="claude-code", place=str(project), url=URL, key=KEY, fail=fail)
    )

    body = {"hook_event_name": event, "session_id": "s", "cwd": str(project)}

    assert forwarded(monkeypatch, body) == status


def test_a_body_that_is_no_json_does_not_stop_the_agent(monkeypatch, capsys):
    assert forwarded(monkeypatch, b"nonsense") == 0


def test_without_git_the_listing_is_walked_and_bounded(project):
    for folder in ("src", "node_modules", ".venv"):
        (project / folder).mkdir()
        (project / folder / "a.py").write_text("")
    (project / "README.md").write_text("")

    assert hook.list_files(project) == ["README.md", "src/a.py"]


def test_a_huge_workspace_is_listed_from_its_top(project, monkeypatch):
    monkeypatch.setattr(hook, "MAX_FILES", 3)
    (project / "deep").mkdir()
    for n in range(5):
        (project / "deep" / f"{n}.py").write_text("")
    (project / "z.toml").write_text("")

    assert hook.list_files(project) == ["z.toml", "deep/0.py", "deep/1.py"]


# --- the doctor ------------------------------------------------------------------


def test_the_doctor_makes_a_real_round_trip(project, capsys):
    server = LoopbackServer()
    server.start()
    guard(connect, "--url", server.url, "--key", KEY, "--project-dir", project)

    status = guard(doctor, "--project-dir", project)
    server.stop()

    probe = server.requests_to("POST", "hooks/claude-code/")[-1]
    assert status == 0
    assert probe.body["hook_event_name"] == "Probe"
    shown = capsys.readouterr().out
    assert "ok  hold" in shown
    assert "ok  cost" in shown


def test_the_doctor_tries_the_forwarder_in_the_project_it_is_asked_about(server, project, capsys):
    call(connect, "codex", "--url", server.url, "--key", KEY, "--project-dir", project)

    call(doctor, "codex", "--project-dir", project)

    assert "ok  forwarder" in capsys.readouterr().out


def test_the_doctor_reports_a_server_that_is_away(project, capsys):
    connect_in(project)

    assert guard(doctor, "--project-dir", project) == 1
    assert "NO  server" in capsys.readouterr().out


def test_the_doctor_reports_a_missing_connection(project, capsys):
    assert guard(doctor, "--project-dir", project) == 1
    assert "no hook for SessionStart" in capsys.readouterr().out
