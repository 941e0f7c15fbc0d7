"""Cursor's `hooks.json`: our hooks put in and taken out. Pure. UNVERIFIED.

Each event has a flat list of commands; times are seconds.
"""

from __future__ import annotations

import copy
import shlex
from pathlib import Path
from typing import Any

from guard.adapters.base import Hooks, Settings, Wiring
from guard.adapters.cursor.hooks import CLIENT, HOLDING, HOOKS, LOOP_LIMIT
from guard.sdk.timing import REPORT_HOOK_S

OURS = f" hook {CLIENT}"
VERSION = 1


def path(project: Path | None) -> Path:
    """Name the file Cursor reads: a project's, or the person's."""
    return (project or Path.home()) / ".cursor" / "hooks.json"


def connected(settings: Settings, wiring: Wiring) -> Settings:
    """Return the settings with our hooks in, whatever else they hold kept.

    Doing it twice changes nothing more; another forwarder replaces ours. No key
    stands in the file: the forwarder knows it.
    """
    written: Settings = {"version": VERSION, **disconnected(settings)}
    hooks = written.setdefault("hooks", {})
    for event in HOOKS:
        holds = event in HOLDING
        hook: dict[str, Any] = {
            "command": f"{shlex.join(wiring.forwarder)}{OURS}",
            "timeout": wiring.hold_s if holds else REPORT_HOOK_S,
        }
        if holds:
            # On any other event it would block what only reports.
            hook["failClosed"] = wiring.fail == "closed"
        if event == "stop":
            hook["loop_limit"] = LOOP_LIMIT
        hooks.setdefault(event, []).append(hook)
    return written


def disconnected(settings: Settings) -> Settings:
    """Return the settings without our hooks; what is left empty goes with them."""
    written = copy.deepcopy(settings)
    if not subscribed(settings):
        return written
    hooks = written["hooks"]
    for event in subscribed(settings):
        hooks[event] = [hook for hook in hooks[event] if not is_ours(hook)]
        if not hooks[event]:
            del hooks[event]
    if not hooks:
        del written["hooks"]
    # The version stands there because of us: a file of nothing else was ours alone.
    return {} if written == {"version": VERSION} else written


def subscribed(settings: Settings) -> Hooks:
    """Return event -> our hook, for the events that reach us."""
    hooks = settings.get("hooks")
    return {
        event: hook
        for event, listed in (hooks if isinstance(hooks, dict) else {}).items()
        for hook in (listed if isinstance(listed, list) else ())
        if is_ours(hook)
    }


def is_ours(hook: Any) -> bool:
    """Whether `guard connect` wrote this entry, for whatever server."""
    return isinstance(hook, dict) and str(hook.get("command", "")).endswith(OURS)
