"""Cursor's `hooks.json`. UNVERIFIED.

Each event has a flat list of commands; times are seconds. No key stands in the file: the
forwarder knows it.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from guard.adapters.cursor.hooks import CLIENT, HOLDING, HOOKS, LOOP_LIMIT
from guard.adapters.hook_settings import HookSettings, Settings, Wiring
from guard.sdk.timing import REPORT_HOOK_S

OURS = f" hook {CLIENT}"
VERSION = 1


class CursorSettings(HookSettings):
    """Hooks that lie in no groups, under a version."""

    events = HOOKS

    def path(self, project: Path | None) -> Path:
        return (project or Path.home()) / ".cursor" / "hooks.json"

    def connected(self, settings: Settings, wiring: Wiring) -> Settings:
        return {"version": VERSION, **super().connected(settings, wiring)}

    def group(self, event: str, wiring: Wiring) -> dict[str, Any]:
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
        return hook

    def disconnected(self, settings: Settings) -> Settings:
        written = super().disconnected(settings)
        # The version stands there because of us: a file of nothing else was ours alone.
        return {} if written == {"version": VERSION} != settings else written

    def is_ours(self, hook: Any) -> bool:
        return isinstance(hook, dict) and str(hook.get("command", "")).endswith(OURS)

    def hooks_of(self, group: Any) -> list[Any]:
        return [group]


SETTINGS = CursorSettings()
