"""Cursor as one of our adapters: what its documentation says its hooks can do."""

from __future__ import annotations

from guard.adapters.base import Adapter, Body, Finding, hold_reason
from guard.adapters.cursor import hooks as cursor
from guard.adapters.cursor.settings import SETTINGS
from guard.adapters.hook_settings import Hooks
from guard.sdk.timing import HOOK_HOLD_S

UNVERIFIED = (
    "UNVERIFIED: this adapter was written after Cursor's documentation; nobody has seen it "
    "work with the real Cursor. Try it before you rely on it."
)
BESIDE_CLAUDE = (
    "Cursor may also run Claude Code's hooks (.claude/settings.json): connect one of the two "
    "in a project, or each call is told twice."
)


def look_up(_body: Body) -> Hooks:
    """Say that our forwarder stands between: it waits over a restart."""
    return {"guard": {}}


def abilities(hooks: Hooks) -> tuple[Finding, ...]:
    """Say what these hooks can do, by the documentation, once the server answers."""
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
    # No Cursor was at hand: what its documentation says is marked as that.
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
