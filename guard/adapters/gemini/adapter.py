"""Gemini CLI as one of our adapters, and what its hooks can do as they are set."""

from __future__ import annotations

import os
from pathlib import Path

from guard.adapters.base import Adapter, Finding, hold_reason
from guard.adapters.gemini import hooks as gemini
from guard.adapters.gemini import settings, trust, usage
from guard.adapters.hook_settings import Hooks

TRUST = (
    "Gemini CLI runs hooks only in folders you trust: it asks when you start it there, "
    "or say /permissions."
)
SHARED = (
    "The settings name the forwarder by its path on this machine: in a project that others "
    "share, leave out --project-dir, or keep .gemini/settings.json to yourself."
)


def abilities(hooks: Hooks) -> tuple[Finding, ...]:
    """Say what these hooks can do once the server answers."""
    holding = hooks.get("BeforeTool") or {}
    # Milliseconds here, where other agents' settings have seconds.
    patient = int(holding.get("timeout") or 0) >= settings.HOLD_TIMEOUT_MS
    minutes = settings.HOLD_TIMEOUT_MS // 60_000
    blocks = settings.CLOSED in str(holding.get("command"))
    holds = hold_reason(holding, minutes=minutes, over=", over a restart", blocks=blocks)
    # A forwarder that is gone would block every tool, or watch none.
    program = settings.forwarder_of(holding)
    runs = os.access(program, os.X_OK) and Path(program).is_absolute()
    fault = f"{program} cannot be run" if program else "none is set"
    gone = f"{fault}; run `guard connect gemini` again"
    return (
        Finding("forwarder", runs, program if runs else gone),
        Finding("observe", "AfterTool" in hooks, "each tool call"),
        Finding("hold", patient, holds),
        Finding("inject", bool(holding), "at next tool, at stop"),
        Finding("terminate", bool(holding), "at the next hook"),
        Finding(
            "cost",
            "AfterModel" in hooks and "BeforeTool" in hooks,
            "each model call, with its cached tokens, from the transcript",
        ),
    )


ADAPTER = Adapter(
    client=gemini.CLIENT,
    title="Gemini CLI",
    holding=gemini.HOLDING,
    starts=frozenset({"SessionStart"}),
    read=gemini.read,
    answer=gemini.answer,
    capabilities=gemini.capabilities,
    program="gemini",
    settings=settings.SETTINGS,
    abilities=abilities,
    advice=(TRUST, SHARED),
    look_up=usage.look_up,
    misses=gemini.misses,
    examine=trust.examine,
)
