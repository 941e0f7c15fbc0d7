"""Claude Code as one of our adapters, and what its hooks can do as they are set."""

from __future__ import annotations

import re
from collections.abc import Mapping

from guard.adapters.base import Adapter, Body, Finding, hold_reason
from guard.adapters.claude_code import hooks as claude_code
from guard.adapters.claude_code import settings
from guard.adapters.claude_code.permission import asks_for_s
from guard.adapters.claude_code.usage import EVENT, look_up
from guard.adapters.hook_settings import Hooks
from guard.sdk.timing import HOOK_HOLD_S


def abilities(hooks: Hooks) -> tuple[Finding, ...]:
    """Say what these hooks can do once the server answers."""
    holding = hooks.get("PreToolUse") or {}
    hold_s = int(holding.get("timeout") or 0)
    blocks = holding.get("onFailure") == "block"
    because = hold_reason(holding, minutes=hold_s // 60, blocks=blocks)
    when_idle = ", when idle" if claude_code.IDLE in hooks else ""
    found = [
        Finding("observe", "PostToolUse" in hooks, "each tool call"),
        Finding("hold", hold_s >= HOOK_HOLD_S, because),
        Finding("inject", bool(holding), f"at next tool, at stop{when_idle}"),
        Finding("terminate", bool(holding), "at the next hook"),
    ]
    # Through the forwarder its permission questions cannot be answered from elsewhere, which is
    # no fault of the settings: nothing is said of it.
    asking = hooks.get(settings.ASKS) or {}
    if asking.get("type") == "http":
        minutes = int(asking.get("timeout") or 0) // 60
        because = f"here or at its terminal, up to {minutes} min" if minutes else CONNECT_AGAIN
        found.append(Finding("permit", bool(minutes), because))
    # The usage hook tells of money where there is one; else the forwarder does with each tool.
    telling = hooks.get(EVENT) or hooks.get("PostToolUse") or {}
    cost = COSTS.get(str(telling.get("type")), "")
    return (*found, Finding("cost", bool(cost), cost or NONE))


CONNECT_AGAIN = "only at its terminal; run `guard connect claude-code` again"

NONE = "nothing tells of it; run `guard connect claude-code` again"

COSTS = {
    "telemetry": "from its own log, by its own figure",
    "command": "token counts from its transcript",
}


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
    asked = environment.get("MISSIONCONTROL_WAKE")
    return asked == "1" if asked else environment.get(settings.STARTED_BY) == "cli"


ADAPTER = Adapter(
    client=claude_code.CLIENT,
    title="Claude Code",
    holding=claude_code.HOLDING,
    starts=frozenset({"SessionStart"}),
    read=claude_code.read,
    answer=claude_code.answer,
    capabilities=claude_code.capabilities,
    program="claude",
    settings=settings.SETTINGS,
    settings_hold_key=True,
    abilities=abilities,
    look_up=look_up,
    vias=("http", "command"),
    misses=misses,
    started_by=settings.STARTED_BY,
    idle_event=claude_code.IDLE,
    asks_for_s=asks_for_s,
    rests=rests,
)
