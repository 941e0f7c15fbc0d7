"""Claude Code's settings file: our hooks put in and taken out. Pure."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from guard.adapters import matcher_groups
from guard.adapters.base import Hooks, Settings, Wiring
from guard.adapters.claude_code import telemetry
from guard.adapters.claude_code.hooks import CLIENT, HOLDING, HOOKS, IDLE
from guard.adapters.claude_code.usage import EVENT
from guard.adapters.said import HEADER

HOOK_PATH = f"/api/v1/hooks/{CLIENT}/"

REPORT_TIMEOUT_S = 30
START_TIMEOUT_S = 15

WAKE_TIMEOUT_S = 24 * 3600
"""How long a session at rest can be reached by a message."""

THROUGH_FORWARDER = frozenset({"SessionStart", "PostToolUseFailure", "SessionEnd"})
"""Claude Code refuses HTTP hooks at a session's start; where a path is missing, the
forwarder lists the files again; at the end it tells what the last answer used."""

USAGE_AFTER = frozenset({"PostToolUse", "Stop"})
"""Where only the transcript tells what was used, it is read again after these."""

WITH_MATCHER = frozenset({"PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"})

ASKS = "PermissionRequest"
"""Where people may answer in the place of who sits at the terminal."""

STARTED_BY = "CLAUDE_CODE_ENTRYPOINT"
"""Claude Code sets it: "cli" where a person sits at it, "sdk-cli" for `claude -p`."""


def path(project: Path | None) -> Path:
    """Name the file Claude Code reads: a project's local one, or the person's."""
    if project is not None:
        return project / ".claude" / "settings.local.json"
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    return home / "settings.json"


def connected(settings: Settings, wiring: Wiring) -> Settings:
    """Return the settings with our hooks in, whatever else they hold kept.

    Doing it twice changes nothing more; another URL or key replaces ours. The
    key is written literally, so that no variable needs to be set.
    """
    written = disconnected(settings)
    if wiring.user_wide:
        written = telemetry.put_in(written, wiring)
    tells_usage = wiring.via == "http" and not telemetry.is_on(written)
    hooks = written.setdefault("hooks", {})
    for event in HOOKS:
        group = {"matcher": "*"} if event in WITH_MATCHER else {}
        ours = [_hook(event, wiring), *([_waking_hook(wiring)] if event == "Stop" else [])]
        ours += [_usage_hook(wiring)] if tells_usage and event in USAGE_AFTER else []
        hooks.setdefault(event, []).append({**group, "hooks": ours})
    return written


def disconnected(settings: Settings) -> Settings:
    """Return the settings without our hooks; empty groups of ours go with them."""
    return matcher_groups.without(telemetry.taken_out(settings), is_ours)


def subscribed(settings: Settings) -> Hooks:
    """Return event -> our hook, for the events that reach us.

    `IDLE` is the waking one; `EVENT` stands where something tells of the money.
    """
    found = matcher_groups.found(settings, partial(_is_beside, flag=""))
    for name, flag in BESIDE.items():
        ours = matcher_groups.found(settings, partial(_is_beside, flag=flag))
        found |= dict(zip((name,), ours.values(), strict=False))
    return found | ({EVENT: {"type": "telemetry"}} if telemetry.is_on(settings) else {})


def _is_beside(hook: Any, *, flag: str) -> bool:
    """Whether an entry of ours does this beside forwarding; empty: nothing beside."""
    if not is_ours(hook):
        return False
    flags = [word for word in hook.get("args") or () if word in BESIDE.values()]
    return flags == ([flag] if flag else [])


def is_ours(hook: Any) -> bool:
    """Whether `guard connect` wrote this entry, for whatever server."""
    if not isinstance(hook, dict):
        return False
    if hook.get("type") == "http":
        return str(hook.get("url", "")).endswith(HOOK_PATH)
    args = hook.get("args")
    words = [str(arg) for arg in args] if isinstance(args, list) else []
    return [word for word in words if word not in BESIDE.values()][-2:] == FORWARD_ARGS


FORWARD_ARGS = ["hook", CLIENT]
AT_REST, FOR_USAGE = "--idle", "--usage"
BESIDE = {IDLE: AT_REST, EVENT: FOR_USAGE}


def _hook(event: str, wiring: Wiring) -> dict[str, Any]:
    ours = _command_hook if wiring.via == "command" or event in THROUGH_FORWARDER else _http_hook
    timeout_s = START_TIMEOUT_S if event == "SessionStart" else REPORT_TIMEOUT_S
    if event == ASKS and wiring.via == "http":
        asking = _http_hook(wiring, timeout_s=wiring.hold_s, answer_s=wiring.hold_s)
        return asking | {"onFailure": "continue"}  # the dialog stands at the terminal
    if event in HOLDING:
        blocks = "block" if wiring.fail == "closed" else "continue"
        return ours(wiring, timeout_s=wiring.hold_s) | {"onFailure": blocks}
    return ours(wiring, timeout_s=timeout_s) | {"onFailure": "continue"}


def _http_hook(wiring: Wiring, *, timeout_s: int, answer_s: int | None = None) -> dict[str, Any]:
    told = replace(wiring.said(entry=f"${STARTED_BY}"), answer_s=answer_s)
    return {
        "type": "http",
        "url": wiring.url.rstrip("/") + HOOK_PATH,
        "headers": {"Authorization": f"Bearer {wiring.key}", HEADER: told.header()},
        "allowedEnvVars": [STARTED_BY],
        "timeout": timeout_s,
        "statusMessage": "Mission Control",
    }


def _command_hook(wiring: Wiring, *, timeout_s: int) -> dict[str, Any]:
    command, *first = wiring.forwarder
    return {
        "type": "command",
        "command": command,
        "args": [*first, *FORWARD_ARGS],
        "timeout": timeout_s,
        "statusMessage": "Mission Control",
    }


def _waking_hook(wiring: Wiring) -> dict[str, Any]:
    """It waits beside the resting session; what it ends with wakes the model."""
    command, *first = wiring.forwarder
    return {
        "type": "command",
        "command": command,
        "args": [*first, *FORWARD_ARGS, AT_REST],
        "asyncRewake": True,
        "timeout": WAKE_TIMEOUT_S,
    }


def _usage_hook(wiring: Wiring) -> dict[str, Any]:
    """It runs beside the session, which does not wait for it."""
    command, *first = wiring.forwarder
    return {
        "type": "command",
        "command": command,
        "args": [*first, *FORWARD_ARGS, FOR_USAGE],
        "async": True,
        "timeout": REPORT_TIMEOUT_S,
    }
