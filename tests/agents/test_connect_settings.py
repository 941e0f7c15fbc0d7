"""The settings that `guard connect claude-code` writes: ours beside what was there."""

import copy
from typing import Any

import pytest

from guard.adapters.base import Wiring
from guard.adapters.claude_code.adapter import SETTINGS, USAGE_EVENT, check_hooks
from guard.adapters.claude_code.hooks import HOOKS, IDLE
from guard.adapters.hook import HOOK_HEADER, HookWiring

KEY = "mc_secret_key_1234567890"
URL = "http://127.0.0.1:9"
THEIRS: dict[str, Any] = {
    "permissions": {"allow": ["Bash(ls)"]},
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}],
        "Notification": [{"hooks": [{"type": "http", "url": "https://x.example/n"}]}],
    },
}


def with_hooks(settings, **fields):
    defaults = {"client": "claude-code", "place": "/shop", "url": URL, "key": KEY}
    defaults |= {"fail": "open", "forwarder": ["/opt/guard"], "via": "http"}
    return SETTINGS.with_hooks(settings, Wiring(**(defaults | fields)))


def test_every_hook_is_subscribed_to():
    assert set(SETTINGS.hooks_by_event(with_hooks({}))) == {*HOOKS, IDLE, USAGE_EVENT}


def test_other_entries_are_kept():
    written = with_hooks(THEIRS)

    assert written["permissions"] == THEIRS["permissions"]
    assert written["hooks"]["PreToolUse"][0] == THEIRS["hooks"]["PreToolUse"][0]
    assert written["hooks"]["Notification"][:-1] == THEIRS["hooks"]["Notification"]


def test_connecting_twice_changes_nothing_more():
    once = with_hooks(THEIRS)

    assert with_hooks(once) == once


def test_another_server_replaces_ours():
    written = with_hooks(with_hooks(THEIRS), url="http://other:1/")

    assert written["hooks"]["PreToolUse"][1]["hooks"][0]["url"].startswith("http://other:1/api/")
    assert len(written["hooks"]["PreToolUse"]) == 2


def test_disconnecting_keeps_other_entries():
    before = copy.deepcopy(THEIRS)

    assert SETTINGS.without_hooks(with_hooks(THEIRS)) == before == THEIRS
    assert SETTINGS.without_hooks(with_hooks({})) == {}


def test_malformed_settings_are_kept():
    odd = {"hooks": {"PreToolUse": "what?", "Stop": [3, {"hooks": None}]}}

    assert SETTINGS.without_hooks(odd) == odd


def test_a_held_call_outlasts_the_servers_hold_limit():
    assert SETTINGS.hooks_by_event(with_hooks({}))["PreToolUse"]["timeout"] > 3600


def test_a_permission_may_be_answered_as_long_and_leaves_the_dialog_if_we_are_away():
    asking = SETTINGS.hooks_by_event(with_hooks({}, fail="closed"))["PermissionRequest"]

    assert (asking["timeout"], asking["onFailure"]) == (3900, "continue")
    assert HookWiring.read(asking["headers"][HOOK_HEADER]).answer_s == 3900
    others = [
        hook for name, hook in SETTINGS.hooks_by_event(with_hooks({})).items() if "headers" in hook
    ]
    waits = [HookWiring.read(hook["headers"][HOOK_HEADER]).answer_s for hook in others]
    assert waits.count(None) == len(waits) - 1


def test_through_the_forwarder_a_permission_is_asked_at_the_terminal():
    asking = SETTINGS.hooks_by_event(with_hooks({}, via="command"))["PermissionRequest"]

    assert (asking["type"], asking["timeout"]) == ("command", 30)


@pytest.mark.parametrize(
    ("asking", "works"),
    [
        ({"type": "http", "timeout": 3900}, [True]),
        ({"type": "http", "timeout": 30}, [False]),
        ({"type": "command", "timeout": 30}, []),
    ],
    ids=["connected now", "connected before", "through the forwarder"],
)
def test_the_doctor_knows_whether_a_permission_can_be_answered_from_elsewhere(asking, works):
    found = check_hooks({"PermissionRequest": asking})

    assert [finding.works for finding in found if finding.name == "permit"] == works


@pytest.mark.parametrize(("fail", "before_a_tool"), [("open", "continue"), ("closed", "block")])
def test_only_the_hook_before_a_tool_may_block(fail, before_a_tool):
    hooks = SETTINGS.hooks_by_event(with_hooks({}, fail=fail))

    assert hooks["PreToolUse"]["onFailure"] == before_a_tool
    assert hooks["PostToolUse"]["onFailure"] == hooks["Stop"]["onFailure"] == "continue"


def test_the_start_of_a_session_goes_through_the_forwarder():
    start = SETTINGS.hooks_by_event(with_hooks({}, forwarder=["/opt/py", "-m", "guard.cli"]))[
        "SessionStart"
    ]

    assert (start["type"], start["command"]) == ("command", "/opt/py")
    assert start["args"] == ["-m", "guard.cli", "hook", "claude-code"]
