"""Claude Code as one of our adapters, and what its hooks can do as they are set."""

from __future__ import annotations

import re
from collections.abc import Mapping

from guard.adapters.base import Adapter, Body, Finding, Hooks, SettingsWriter
from guard.adapters.claude_code import hooks as claude_code
from guard.adapters.claude_code import settings
from guard.adapters.claude_code.permission import asks_for_s
from guard.adapters.claude_code.usage import EVENT, look_up
from guard.sdk.timing import HOOK_HOLD_S


def abilities(hooks: Hooks) -> tuple[Finding, ...]:
    """Say what these hooks can do once the server answers."""
    holding = hooks.get("PreToolUse") or {}
    patient = int(holding.get("timeout") or 0) >= HOOK_HOLD_S
    moments = "at next tool, at stop"
    if not holding:
        hold_reason = "no hook before a tool runs"
    else:
        away = "are blocked" if holding.get("onFailure") == "block" else "run on"
        minutes = int(holding.get("timeout") or 0) // 60
        hold_reason = f"before a tool runs, up to {minutes} min; without the server, tools {away}"
    return (
        Finding(what="observe", works="PostToolUse" in hooks, because="each tool call"),
        Finding(what="hold", works=patient, because=hold_reason),
        Finding(
            what="inject",
            works=bool(holding),
            because=f"{moments}, when idle" if claude_code.IDLE in hooks else moments,
        ),
        Finding(what="terminate", works=bool(holding), because="at the next hook"),
        *_permit_findings(hooks.get(settings.ASKS) or {}),
        Finding(what="cost", works=bool(_cost_reason(hooks)), because=_cost_reason(hooks) or NONE),
    )


def _permit_findings(asking: Hooks) -> tuple[Finding, ...]:
    """Say whether its permission questions can be answered from elsewhere.

    Through the forwarder they cannot, which is no fault of the settings.
    """
    if asking.get("type") != "http":
        return ()
    minutes = int(asking.get("timeout") or 0) // 60
    because = f"here or at its terminal, up to {minutes} min" if minutes else CONNECT_AGAIN
    return (Finding(what="permit", works=bool(minutes), because=because),)


CONNECT_AGAIN = "only at its terminal; run `guard connect claude-code` again"

NONE = "nothing tells of it; run `guard connect claude-code` again"


def _cost_reason(hooks: Hooks) -> str:
    told = hooks.get(EVENT) or hooks.get("PostToolUse") or {}
    if told.get("type") == "telemetry":
        return "from its own log, by its own figure"
    return "token counts from its transcript" if told.get("type") == "command" else ""


MISSING = re.compile(
    r"(?i)\b(no such file|does not exist|not found|ENOENT|cannot find|can't open)\b"
)


def misses(body: Body) -> bool:
    """Say whether a tool failed because a path is not there."""
    return bool(MISSING.search(str(body.get("error") or "")))


def rests(environment: Mapping[str, str]) -> bool:
    """Say whether this session lives on after the model has stopped.

    `claude -p` waits for our hook before it ends, so there we must not wait; a host
    that keeps its session open (stream-json) says so itself.
    """
    told = environment.get("MISSIONCONTROL_WAKE")
    return told == "1" if told else environment.get(settings.STARTED_BY) == "cli"


ADAPTER = Adapter(
    client=claude_code.CLIENT,
    title="Claude Code",
    events=claude_code.HOOKS,
    holding=claude_code.HOLDING,
    starts=frozenset({"SessionStart"}),
    read=claude_code.read,
    answer=claude_code.answer,
    capabilities=claude_code.capabilities,
    program="claude",
    settings=SettingsWriter(
        path=settings.path,
        connected=settings.connected,
        disconnected=settings.disconnected,
        subscribed=settings.subscribed,
        holds_key=True,
    ),
    abilities=abilities,
    look_up=look_up,
    vias=("http", "command"),
    misses=misses,
    started_by=settings.STARTED_BY,
    idle_event=claude_code.IDLE,
    asks_for_s=asks_for_s,
    rests=rests,
)
