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
    CheckResult,
    Hooks,
    HookSettings,
    Settings,
    Wiring,
    hold_reason,
)
from guard.adapters.cursor import hooks as cursor
from guard.sdk.connections import HOOK_HOLD_S, REPORT_HOOK_S

FORWARD_COMMAND = f" hook {cursor.CLIENT}"
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

    def with_hooks(self, settings: Settings, wiring: Wiring) -> Settings:
        return {"version": VERSION, **super().with_hooks(settings, wiring)}

    def hook_group(self, event: str, wiring: Wiring) -> dict[str, Any]:
        holds = event in cursor.HOLDING
        hook: dict[str, Any] = {
            "command": f"{shlex.join(wiring.forwarder)}{FORWARD_COMMAND}",
            "timeout": wiring.hold_s if holds else REPORT_HOOK_S,
        }
        if holds:
            # On any other event it would block what is only reported.
            hook["failClosed"] = wiring.fail == "closed"
        if event == "stop":
            hook["loop_limit"] = cursor.LOOP_LIMIT
        return hook

    def without_hooks(self, settings: Settings) -> Settings:
        written = super().without_hooks(settings)
        # The version is ours: a file with nothing else was written by us alone.
        return {} if written == {"version": VERSION} != settings else written

    def is_ours(self, hook: Any) -> bool:
        return isinstance(hook, dict) and str(hook.get("command", "")).endswith(FORWARD_COMMAND)

    def hooks_of(self, group: Any) -> list[Any]:
        return [group]


SETTINGS = CursorSettings()


def local_facts(_body: Body) -> Hooks:
    """Report that our forwarder is used: it keeps waiting across a restart."""
    return {"guard": {}}


def check_hooks(hooks: Hooks) -> tuple[CheckResult, ...]:
    """Return what these hooks can do, by the documentation, once the server answers."""
    holding = hooks.get("preToolUse") or {}
    # A shorter time-out lets a held call run before a person has answered.
    is_long_enough = int(holding.get("timeout") or 0) >= HOOK_HOLD_S
    blocks = bool(holding.get("failClosed"))
    reason = hold_reason(holding, minutes=HOOK_HOLD_S // 60, blocks=blocks)
    return (
        _unverified_result("observe", "postToolUse" in hooks, "each tool call"),
        _unverified_result("hold", is_long_enough, reason),
        _unverified_result("inject", bool(holding), "with the held call, at next tool, at stop"),
        _unverified_result("terminate", False, cursor.WHY_NOT["terminate"]),
        _unverified_result("cost", False, cursor.WHY_NOT["cost"]),
    )


def _unverified_result(name: str, works: bool, reason: str) -> CheckResult:
    # Cursor was not available: what its documentation says is marked as such.
    return CheckResult(name, works, f"{reason} (unverified)")


ADAPTER = Adapter(
    client=cursor.CLIENT,
    title="Cursor (unverified)",
    holding_events=cursor.HOLDING,
    start_events=frozenset({"sessionStart"}),
    read=cursor.read,
    answer=cursor.answer,
    capabilities=cursor.capabilities,
    settings=SETTINGS,
    check_hooks=check_hooks,
    advice=(UNVERIFIED, BESIDE_CLAUDE),
    local_facts=local_facts,
)
