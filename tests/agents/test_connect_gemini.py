"""`guard connect gemini`: its settings file, and what its commands do in a shell."""

import copy
import json
import os
import subprocess

import pytest

from guard.adapters.base import Wiring
from guard.adapters.gemini import adapter as gemini_trust
from guard.adapters.gemini.adapter import SETTINGS, forwarder_of
from guard.adapters.gemini.hooks import HOOKS
from guard.connect import command as connect
from guard.connect import disconnect, doctor
from guard.sdk.connections import USER_WIDE
from tests.agents.command_line import call
from tests.sdk.server import LoopbackServer

KEY = "mc_secret_key_1234567890"
URL = "http://127.0.0.1:9"
THEIRS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "hooks": {"BeforeTool": [{"matcher": "w.*", "hooks": [{"type": "command", "command": "x"}]}]},
}


pytestmark = pytest.mark.usefixtures("home")


def guard(module, *words):
    return call(module, "gemini", *words)


def connect_in(project, *words, url=URL):
    return guard(connect, "--url", url, "--key", KEY, "--project-dir", project, *words)


def with_hooks(settings, fail="open", forwarder=("/opt/guard",), **more):
    where = {"client": "gemini", "place": USER_WIDE, "url": URL, "key": KEY}
    return SETTINGS.with_hooks(settings, Wiring(**where, fail=fail, forwarder=forwarder, **more))


def run_hook(event, tmp_path, script, *, fail="open", output="{}"):
    """Run a hook's command as Gemini CLI does, with a forwarder of our own."""
    forwarder = tmp_path / "bin dir" / "guard"
    forwarder.parent.mkdir(exist_ok=True)
    if script is not None:
        forwarder.write_text(f"#!/bin/sh\n{script}\n")
        forwarder.chmod(0o755)
    command = SETTINGS.hooks_by_event(with_hooks({}, fail, (str(forwarder),)))[event]["command"]
    return subprocess.run(
        ["bash", "-c", command],
        input=output,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


# --- the settings, pure --------------------------------------------------------


def test_every_hook_is_subscribed_to():
    assert set(SETTINGS.hooks_by_event(with_hooks({}))) == set(HOOKS)


def test_other_entries_survive_connect_and_disconnect():
    before = copy.deepcopy(THEIRS)

    written = with_hooks(THEIRS)

    assert written["hooks"]["BeforeTool"][0] == THEIRS["hooks"]["BeforeTool"][0]
    assert SETTINGS.without_hooks(written) == before == THEIRS
    assert SETTINGS.without_hooks(with_hooks({})) == {}


def test_connecting_twice_changes_nothing_more():
    once = with_hooks(THEIRS)

    assert with_hooks(once) == once


def test_another_forwarder_replaces_ours():
    hooks = with_hooks(with_hooks({}), forwarder=("/new/guard",))["hooks"]

    assert [len(groups) for groups in hooks.values()] == [1] * len(HOOKS)
    assert forwarder_of(SETTINGS.hooks_by_event({"hooks": hooks})["BeforeTool"]) == "/new/guard"


def test_malformed_settings_are_kept():
    odd = {
        "hooks": {"BeforeTool": "what?", "AfterTool": [3, {"hooks": None}], "x": [{"hooks": [4]}]}
    }

    assert SETTINGS.without_hooks(odd) == odd
    assert forwarder_of({"command": "'unended hook gemini"}) == ""
    assert forwarder_of({}) == ""


def test_a_held_call_outlasts_the_servers_hold_limit_in_milliseconds():
    assert SETTINGS.hooks_by_event(with_hooks({}))["BeforeTool"]["timeout"] > 3600 * 1000
    assert (
        SETTINGS.hooks_by_event(with_hooks({}, hold_s=7500))["BeforeTool"]["timeout"] == 7500 * 1000
    )


def test_no_key_stands_in_the_file():
    assert KEY not in json.dumps(with_hooks({}))


# --- its commands, in a real shell ---------------------------------------------


def test_the_answer_goes_through(tmp_path):
    done = run_hook("BeforeTool", tmp_path, 'echo "{\\"args\\": \\"$*\\"}"; cat >/dev/null')

    assert (done.returncode, json.loads(done.stdout)) == (0, {"args": "hook gemini"})


@pytest.mark.parametrize("script", [None, "exit 127", "echo broken >&2; exit 1", "kill -9 $$"])
def test_a_missing_forwarder_lets_tools_run_if_it_fails_open(tmp_path, script):
    assert run_hook("BeforeTool", tmp_path, script).returncode == 0


@pytest.mark.parametrize("script", [None, "exit 127", "echo broken >&2; exit 1", "kill -9 $$"])
def test_a_missing_forwarder_blocks_tools_if_it_fails_closed(tmp_path, script):
    done = run_hook("BeforeTool", tmp_path, script, fail="closed")

    assert done.returncode == 2
    assert "fails closed" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("event", [event for event in HOOKS if event != "BeforeTool"])
def test_no_other_hook_ever_blocks(tmp_path, event):
    done = run_hook(event, tmp_path, "exit 127", fail="closed", output='{"finishReason": 1}')

    assert done.returncode == 0


def test_of_a_streamed_answer_only_the_last_piece_is_forwarded(tmp_path):
    begun, ended = (
        '{"llm_response": "a % \\\\ $HOME"}',
        '{"finishReason": "STOP", "t": "% \\\\ $b"}',
    )

    assert run_hook("AfterModel", tmp_path, "cat", output=begun).stdout == ""
    assert run_hook("AfterModel", tmp_path, "cat", output=ended).stdout == ended


# --- on disk -------------------------------------------------------------------


def test_a_project_is_connected_and_disconnected(project, home, capsys):
    assert connect_in(project) == 0

    written = json.loads((project / ".gemini" / "settings.json").read_text())
    assert set(SETTINGS.hooks_by_event(written)) == set(HOOKS)
    assert os.access(forwarder_of(SETTINGS.hooks_by_event(written)["BeforeTool"]), os.X_OK)
    shown = capsys.readouterr().out
    assert "folders you trust" in shown
    assert KEY not in shown

    assert guard(disconnect, "--project-dir", project) == 0
    assert not (project / ".gemini" / "settings.json").exists()
    assert not (home / ".config").exists()


def test_without_a_project_the_persons_settings_are_used(home, monkeypatch):
    guard(connect, "--url", URL, "--key", KEY)
    assert (home / ".gemini" / "settings.json").is_file()

    monkeypatch.setenv("GEMINI_CLI_HOME", str(home / "other"))
    guard(connect, "--url", URL, "--key", KEY)
    assert (home / "other" / ".gemini" / "settings.json").is_file()


def test_the_doctor_makes_a_real_round_trip(project, monkeypatch, capsys):
    server = LoopbackServer()
    server.start()
    monkeypatch.setenv("GEMINI_CLI_TRUST_WORKSPACE", "true")
    connect_in(project, url=server.url)

    status = guard(doctor, "--project-dir", project)
    server.stop()

    probes = server.requests_to("POST", "hooks/gemini/")
    assert probes[-1].body["hook_event_name"] == "Probe"
    shown = capsys.readouterr().out
    assert status == 0, shown
    assert "ok  cost" in shown
    assert "tools run (fail open)" in shown


@pytest.mark.parametrize(
    ("rules", "trusted"),
    [
        ({}, False),
        ({"": "TRUST_FOLDER"}, True),
        ({"..": "TRUST_FOLDER"}, True),
        ({"other": "TRUST_PARENT"}, True),
        ({"..": "TRUST_FOLDER", "": "DO_NOT_TRUST"}, False),
        ({"../elsewhere": "TRUST_FOLDER"}, False),
    ],
)
def test_the_doctor_says_whether_hooks_run_in_the_folder_at_all(project, home, rules, trusted):
    (home / ".gemini").mkdir()
    named = {os.path.normpath(project / path): level for path, level in rules.items()}
    (home / ".gemini" / "trustedFolders.json").write_text(json.dumps(named))

    assert gemini_trust.is_trusted(project) is trusted


def test_a_person_may_trust_every_folder(project, home, monkeypatch):
    (home / ".gemini").mkdir()
    off = {"security": {"folderTrust": {"enabled": False}}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(off))

    assert gemini_trust.is_trusted(project)
    monkeypatch.setenv("GEMINI_CLI_TRUST_WORKSPACE", "false")
    assert not gemini_trust.is_trusted(project)


@pytest.mark.parametrize("switch", [{"enabled": False}, {"disabled": ["mission-control"]}])
def test_the_doctor_sees_hooks_that_were_switched_off(project, home, capsys, switch):
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps({"hooksConfig": switch}))
    connect_in(project)

    assert guard(doctor, "--project-dir", project) == 1
    assert "NO  switch" in capsys.readouterr().out


def test_the_doctor_says_that_the_forwarder_is_gone(project, capsys):
    connect_in(project, "--fail", "closed")
    file = project / ".gemini" / "settings.json"
    real = forwarder_of(SETTINGS.hooks_by_event(json.loads(file.read_text()))["BeforeTool"])
    file.write_text(file.read_text().replace(real, "/nowhere/guard"))

    assert guard(doctor, "--project-dir", project) == 1

    shown = capsys.readouterr().out
    assert "/nowhere/guard cannot be run" in shown
    assert "tools are blocked" in shown


def test_the_doctor_reports_a_missing_connection(project, capsys):
    assert guard(doctor, "--project-dir", project) == 1

    shown = capsys.readouterr().out
    assert "no hook for SessionStart" in shown
    assert "NO  hold" in shown
    assert "none is set; run `guard connect gemini`" in shown
