"""Codex CLI as one of our adapters, and what its hooks can do as they are set."""

from __future__ import annotations

from typing import Any

from guard.adapters.ancestry import session_process
from guard.adapters.base import Adapter, Finding, hold_reason
from guard.adapters.codex import daemon, rollout
from guard.adapters.codex import hooks as codex
from guard.adapters.codex.examine import ask_trust, try_forwarder
from guard.adapters.codex.settings import SETTINGS
from guard.adapters.hook_settings import Hooks
from guard.running.linking import kept_facts
from guard.sdk.timing import HOOK_HOLD_S

TRUST = (
    "Codex runs no hook that you have not reviewed: start `codex`, type /hooks, and trust "
    "Mission Control's. Only you can do that; we do not."
)


def look_up(body: dict[str, Any]) -> dict[str, Any]:
    """Add what the rollout tells, and which process is this session's own."""
    # An app-server holds many sessions: a signal to it would end them all.
    pid = session_process(codex.CLIENT, unless="app-server")
    found: dict[str, Any] = {"pid": pid} if pid else {}
    # Codex's own screen shares one server: through that a session can be spoken to.
    if daemon.socket_of_daemon():
        found["daemon"] = True
    return {"guard": rollout.look_up(body) | found | kept_facts()}


def abilities(hooks: Hooks) -> tuple[Finding, ...]:
    """Say what these hooks can do once the server answers; tries the forwarder."""
    holding = hooks.get("PreToolUse") or {}
    hold_s = int(holding.get("timeout") or 0)
    because = hold_reason(holding, minutes=hold_s // 60, over=", over a server's restart")
    # A hook that cannot be started, or that its person has not trusted, does nothing at all.
    forwarder, review = try_forwarder(holding), ask_trust()
    runs = forwarder.works and review.works
    as_set = {
        "observe": ("PostToolUse" in hooks, "each tool call"),
        "hold": (hold_s >= HOOK_HOLD_S, because),
        "inject": (bool(holding), INJECT),
        "terminate": (bool(holding), TERMINATE),
        "cost": ({"PostToolUse", "Stop"} <= hooks.keys(), "token counts from the rollout file"),
    }
    can = (Finding(what, runs and works, because) for what, (works, because) in as_set.items())
    return (forwarder, review, *can)


INJECT = (
    "at next tool, at stop; at once, and when idle, on Codex's own screen; at once under "
    "`guard run -- codex exec`"
)
TERMINATE = (
    "Codex's own screen at once, its turn is interrupted; `codex exec` by a signal to its process "
    "at the next hook, under `guard run` at once; not inside an IDE, whose sessions share a process"
)


ADAPTER = Adapter(
    client=codex.CLIENT,
    title="Codex",
    holding=codex.HOLDING,
    starts=frozenset({"SessionStart"}),
    read=codex.read,
    answer=codex.answer,
    capabilities=codex.capabilities,
    program="codex",
    reach=daemon.reach,
    settings=SETTINGS,
    abilities=abilities,
    advice=(TRUST,),
    look_up=look_up,
)
