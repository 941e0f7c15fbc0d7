"""The adapter for Cursor: its `hooks.json`, and what its hooks can do. UNVERIFIED.

According to its documentation, each event has a flat list of commands, and times are in seconds.
The file contains no key: the forwarder knows it.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from guard.adapters.base import (
    Adapter,
    Body,
    Finding,
    Hooks,
    HookSettings,
    Settings,
    Wiring,
    hold_reason,
)
from guard.adapters.cursor import hooks as cursor
from guard.sdk.connections import HOOK_HOLD_S, REPORT_HOOK_S

OURS = f" hook {cursor.CLIENT}"
VERSION = 1
UNVERIFIED = (
    "UNVERIFIED: this adapter was written after Cursor's documentation; nobody has seen it "
    "work with the real Cursor. Try it before you rely on it."
)
BESIDE_CLAUDE = (
    "Cursor may also run Claude Code's hooks (.claude/settings.json): connect one of the two "
    "in a project, or each call is told twice."
)


class CursorSettings(HookSettings):
    """Hooks without groups, in a file with a version."""

    events = cursor.HOOKS

    def path(self, project: Path | None) -> Path:
        return (project or Path.home()) / ".cursor" / "hooks.json"

    def connected(self, settings: Settings, wiring: Wiring) -> Settings:
        return {"version": VERSION, **super().connected(settings, wiring)}

    def group(self, event: str, wiring: Wiring) -> dict[str, Any]:
        holds = event in cursor.HOLDING
        hook: dict[str, Any] = {
            "command": f"{shlex.join(wiring.forwarder)}{OURS}",
            "timeout": wiring.hold_s if holds else REPORT_HOOK_S,
        }
        if holds:
            # On any other event it would block what is only reported.
            hook["failClosed"] = wiring.fail == "closed"
        if event == "stop":
            hook["loop_limit"] = cursor.LOOP_LIMIT
        return hook

    def disconnected(self, settings: Settings) -> Settings:
        written = super().disconnected(settings)
        # The version is ours: a file with nothing else was written by us alone.
        return {} if written == {"version": VERSION} != settings else written

    def is_ours(self, hook: Any) -> bool:
        return isinstance(hook, dict) and str(hook.get("command", "")).endswith(OURS)

    def hooks_of(self, group: Any) -> list[Any]:
        return [group]


SETTINGS = CursorSettings()


def look_up(_body: Body) -> Hooks:
    """Report that our forwarder is used: it keeps waiting across a restart."""
    return {"guard": {}}


def abilities(hooks: Hooks) -> tuple[Finding, ...]:
    """Return what these hooks can do, by the documentation, once the server answers."""
    holding = hooks.get("preToolUse") or {}
    # A shorter time-out lets a held call run before a person has answered.
    patient = int(holding.get("timeout") or 0) >= HOOK_HOLD_S
    blocks = bool(holding.get("failClosed"))
    because = hold_reason(holding, minutes=HOOK_HOLD_S // 60, blocks=blocks)
    return (
        _finding("observe", "postToolUse" in hooks, "each tool call"),
        _finding("hold", patient, because),
        _finding("inject", bool(holding), "with the held call, at next tool, at stop"),
        _finding("terminate", False, cursor.WHY_NOT["terminate"]),
        _finding("cost", False, cursor.WHY_NOT["cost"]),
    )


def _finding(what: str, works: bool, because: str) -> Finding:
    # Cursor was not available: what its documentation says is marked as such.
    return Finding(what, works, f"{because} (unverified)")


ADAPTER = Adapter(
    client=cursor.CLIENT,
    title="Cursor (unverified)",
    holding=cursor.HOLDING,
    starts=frozenset({"sessionStart"}),
    read=cursor.read,
    answer=cursor.answer,
    capabilities=cursor.capabilities,
    settings=SETTINGS,
    abilities=abilities,
    advice=(UNVERIFIED, BESIDE_CLAUDE),
    look_up=look_up,
)
