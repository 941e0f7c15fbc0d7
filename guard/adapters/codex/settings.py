"""Codex's `hooks.json`: our hooks put in and taken out. Pure.

Codex reads the person's (`$CODEX_HOME`, else `~/.codex`) and a trusted project's
(`.codex`). Each hook is a command that gets the body on stdin; ours is the
forwarder, so no key stands in the file.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from guard.adapters import matcher_groups
from guard.adapters.base import Hooks, Settings, Wiring
from guard.adapters.codex.hooks import CLIENT, HOLDING, HOOKS
from guard.sdk.timing import REPORT_HOOK_S

WITH_MATCHER = frozenset({"PreToolUse", "PermissionRequest", "PostToolUse"})
# Codex gives the hook at a session's end no longer.
END_S = 3

OURS = f" hook {CLIENT}"


def path(project: Path | None) -> Path:
    """Name the file Codex reads: a project's, or the person's."""
    if project is not None:
        return project / ".codex" / "hooks.json"
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "hooks.json"


def connected(settings: Settings, wiring: Wiring) -> Settings:
    """Return the settings with our hooks in, whatever else they hold kept.

    The command says nothing but where `guard` is: Codex asks for a new review of
    a hook whose text changed, so another server or key must not change it.
    """
    # Ours out first, so that connecting twice leaves one of each.
    written = disconnected(settings)
    hooks = written.setdefault("hooks", {})
    for event in HOOKS:
        group = {"matcher": ".*"} if event in WITH_MATCHER else {}
        timeout = wiring.hold_s if event in HOLDING else REPORT_HOOK_S
        hook = {
            "type": "command",
            "command": f"{shlex.join(wiring.forwarder)}{OURS}",
            "timeout": END_S if event == "SessionEnd" else timeout,
            "statusMessage": "Mission Control",
        }
        hooks.setdefault(event, []).append({**group, "hooks": [hook]})
    return written


def disconnected(settings: Settings) -> Settings:
    """Return the settings without our hooks; empty groups of ours go with them."""
    return matcher_groups.without(settings, is_ours)


def subscribed(settings: Settings) -> Hooks:
    """Return event -> our hook, for the events that reach us."""
    return matcher_groups.found(settings, is_ours)


def is_ours(hook: Any) -> bool:
    """Whether `guard connect` wrote this entry."""
    return isinstance(hook, dict) and str(hook.get("command", "")).endswith(OURS)
