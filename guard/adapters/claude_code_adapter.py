"""Claude Code as one of our adapters, and what its hooks can do as they are set."""

from __future__ import annotations

from guard.adapters import claude_code
from guard.adapters import claude_code_settings as settings
from guard.adapters.base import Adapter, Finding, Hooks, SettingsWriter


def abilities(hooks: Hooks) -> tuple[Finding, ...]:
    """Say what these hooks can do once the server answers."""
    holding = hooks.get("PreToolUse") or {}
    patient = int(holding.get("timeout") or 0) >= settings.HOLD_TIMEOUT_S
    return (
        Finding(what="observe", works="PostToolUse" in hooks, because="each tool call"),
        Finding(what="hold", works=patient, because=_hold_reason(holding)),
        Finding(what="inject", works=bool(holding), because="at next tool, at stop"),
        Finding(what="terminate", works=bool(holding), because="at the next hook"),
        Finding(
            what="cost",
            works=False,
            because="hooks carry no token counts; send Claude Code's OpenTelemetry logs for them",
        ),
    )


def _hold_reason(holding: Hooks) -> str:
    if not holding:
        return "no hook before a tool runs"
    away = "are blocked" if holding.get("onFailure") == "block" else "run on"
    minutes = settings.HOLD_TIMEOUT_S // 60
    return f"before a tool runs, up to {minutes} min; without the server, tools {away}"


ADAPTER = Adapter(
    client=claude_code.CLIENT,
    title="Claude Code",
    events=claude_code.HOOKS,
    holding=claude_code.HOLDING,
    starts=frozenset({"SessionStart"}),
    read=claude_code.read,
    answer=claude_code.answer,
    capabilities=claude_code.capabilities,
    settings=SettingsWriter(
        path=settings.path,
        connected=settings.connected,
        disconnected=settings.disconnected,
        subscribed=settings.subscribed,
        holds_key=True,
    ),
    abilities=abilities,
)
