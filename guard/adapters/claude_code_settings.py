"""Claude Code's settings file: our hooks put in and taken out. Pure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from guard.adapters import matcher_groups
from guard.adapters.base import Hooks, Settings, Wiring
from guard.adapters.claude_code import CLIENT, HOLDING, HOOKS

HOOK_PATH = f"/api/v1/hooks/{CLIENT}/"

HOLD_TIMEOUT_S = 3900
"""A held tool call waits this long: more than the server's hold limit (1 h), so
that the server and not a time-out decides. Claude Code's own default is 600."""

REPORT_TIMEOUT_S = 30
START_TIMEOUT_S = 15

WITHOUT_HTTP = frozenset({"SessionStart"})
"""Claude Code refuses HTTP hooks here; a command forwards these."""

WITH_MATCHER = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure"})


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
    hooks = written.setdefault("hooks", {})
    for event in HOOKS:
        group = {"matcher": "*"} if event in WITH_MATCHER else {}
        hooks.setdefault(event, []).append({**group, "hooks": [_hook(event, wiring)]})
    return written


def disconnected(settings: Settings) -> Settings:
    """Return the settings without our hooks; empty groups of ours go with them."""
    return matcher_groups.without(settings, is_ours)


def subscribed(settings: Settings) -> Hooks:
    """Return event -> our hook, for the events that reach us."""
    return matcher_groups.found(settings, is_ours)


def is_ours(hook: Any) -> bool:
    """Whether `guard connect` wrote this entry, for whatever server."""
    if not isinstance(hook, dict):
        return False
    if hook.get("type") == "http":
        return str(hook.get("url", "")).endswith(HOOK_PATH)
    args = hook.get("args")
    return isinstance(args, list) and [str(arg) for arg in args[-2:]] == FORWARD_ARGS


FORWARD_ARGS = ["hook", CLIENT]


def _hook(event: str, wiring: Wiring) -> dict[str, Any]:
    if event in WITHOUT_HTTP:
        return _command_hook(wiring)
    holds = event in HOLDING
    return {
        "type": "http",
        "url": wiring.url.rstrip("/") + HOOK_PATH,
        "headers": {"Authorization": f"Bearer {wiring.key}"},
        "timeout": HOLD_TIMEOUT_S if holds else REPORT_TIMEOUT_S,
        "onFailure": "block" if holds and wiring.fail == "closed" else "continue",
        "statusMessage": "Mission Control",
    }


def _command_hook(wiring: Wiring) -> dict[str, Any]:
    command, *first = wiring.forwarder
    return {
        "type": "command",
        "command": command,
        "args": [*first, *FORWARD_ARGS],
        "timeout": START_TIMEOUT_S,
    }
