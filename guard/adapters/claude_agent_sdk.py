"""The Claude Agent SDK under Mission Control: hooks as callbacks, cost from results.

async with MissionControl("fix-auth") as watch:
async for message in watch.messages(query(prompt=…, options=watch.options())):
…
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from decimal import Decimal
from typing import Any, Self

from guard.adapters.claude_code import hooks as claude_code
from guard.adapters.claude_code.hooks import ANSWER_EARLY_S
from guard.adapters.hook import HookEvent
from guard.errors import FrameworkMissing, Stopped
from guard.formats.claude_code import usage_of
from guard.sdk.aio import AsyncSession
from guard.sdk.connections import HOOK_HOLD_S
from guard.sdk.conversation import Go
from guard.turn import Role
from guard.wire import CallAction, Directive, DirectiveAction, Message

try:
    from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, ResultMessage
except ImportError as missing:
    adapter = "guard.adapters.claude_agent_sdk"
    raise FrameworkMissing(adapter, "claude-agent-sdk", missing) from missing

CAPABILITIES: Mapping[str, Any] = {
    "hold": True,
    "inject": ["at_next_tool", "at_stop"],
    "terminate": "hook",
    "cost": "turns",
    "away": "waits",
    # Less than the hook's own time-out; otherwise the answer would come too late.
    "patience_s": HOOK_HOLD_S - ANSWER_EARLY_S,
}

# No `SessionEnd`: the context manager reports the end.
HOOKS = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop")


class MissionControl:
    """Reports one session of the Claude Agent SDK, and follows its directives.

    A tool call waits in its hook, on a socket without a thread, as long as a hook may wait (65
    minutes). A correction takes the place of the result. When a run is stopped, the call is denied,
    Claude's loop ends, and `guard.Stopped` is raised after the last message. The run's key is
    `claude-code:SESSION_ID`, as for Claude Code.

    Args:
        name: What people call this run.
        opening: As for `guard.AsyncSession`: `url`, `key`, `agent`, `goal`, `workspace`, `mode`,
            `fail`, `budget`, … The default `goal` is what the person asked.
    """

    def __init__(self, name: str, **opening: Any) -> None:
        own = {"name": name, "agent": "claude", "capabilities": dict(CAPABILITIES)}
        self._opening = own | opening
        self._session: AsyncSession | None = None
        self._key = ""
        self._stopped: Stopped | None = None
        self._allowed_calls: dict[str, Go] = {}
        self._reported_costs: dict[str, Decimal] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._session is not None:
            await self._session.close("failed" if kind else "completed")

    def options(self, options: ClaudeAgentOptions | None = None) -> ClaudeAgentOptions:
        """Add our hooks to your options, after your own."""
        options = options or ClaudeAgentOptions()
        # What the SDK does if our own hook fails: the person's choice applies there, too.
        blocks = "block" if self._opening.get("fail") == "closed" else "continue"
        ours = HookMatcher(hooks=[self._hook], timeout=HOOK_HOLD_S, on_failure=blocks)
        theirs = options.hooks or {}
        hooks = theirs | {event: [*theirs.get(event, ()), ours] for event in HOOKS}
        return dataclasses.replace(options, hooks=hooks)

    async def messages(self, messages: AsyncIterable[Any]) -> AsyncIterator[Any]:
        """Pass messages on unchanged; report the cost that a result states.

        Raises:
            Stopped: The run was stopped; raised after the last message.
        """
        async for message in messages:
            if isinstance(message, ResultMessage):
                await self._report_cost(message)
            yield message
        # Last: the caller gets all messages before the exception.
        if self._stopped is not None:
            raise self._stopped

    async def _hook(self, body: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        event = claude_code.read(body)
        # The first hook names the session, and so the run; no option does so earlier.
        if self._session is None:
            self._key = event.run_key
            opening: dict[str, Any] = {"run_key": self._key, "goal": event.prompt}
            self._session = AsyncSession(**opening | self._opening)
        try:
            directive = await self._directive(self._session, event)
        except Stopped as stopped:
            self._stopped = stopped
            directive = _directive(stopped.reason, action=DirectiveAction.STOP)
        return dict(claude_code.answer(event, directive))

    async def _directive(self, session: AsyncSession, event: HookEvent) -> Directive:
        """Report a hook's event; return what to do, as a directive."""
        if not event.turns:
            return _directive()
        turn, agent = event.turns[0], event.subagent or session.agent
        if event.holds:
            go = await session.before(turn.tool or "", turn.args, agent=agent, files=turn.files)
            if not go.run:
                return _directive(go.text, call=CallAction.SKIP)
            # Kept for its outcome, which another hook reports.
            self._allowed_calls[turn.key or ""] = go
            return _directive(texts=go.messages)
        if turn.tool is not None:
            # A denied call never ran, so it has no outcome.
            allowed = self._allowed_calls.pop(turn.key or "", None)
            outcome = {"result": turn.result, "error": turn.error}
            return _directive(texts=await session.after(allowed, **outcome) if allowed else ())
        notes = await session.say(turn.content or "", role=turn.role, agent=agent)
        return _directive(texts=notes)

    async def _report_cost(self, result: Any) -> None:
        """Report the cost since the last result, even for a run that was stopped."""
        if self._session is None or result.total_cost_usd is None:
            return
        if self._stopped is not None:  # a stopped session is silent; a new one joins its run
            await self._session.close()
            self._session = AsyncSession(**self._opening | {"run_key": self._key})
        # A result's total grows over a session, and starts again in a new process.
        total = round(Decimal(str(result.total_cost_usd)), 9)
        before = self._reported_costs.get(result.session_id, Decimal(0))
        self._reported_costs[result.session_id] = total
        facts = {
            "call_id": result.uuid,
            "model": next(iter(result.model_usage or ()), None),
            "provider": "anthropic",
            "usage": usage_of(result.usage or None),
            "cost_usd": total - before if total >= before else total,
        }
        with contextlib.suppress(Stopped):
            summary = f"{result.subtype} after {result.num_turns} turns"
            await self._session.say(summary, role=Role.SYSTEM, **facts)


def _directive(
    reason: str | None = None,
    *,
    action: DirectiveAction = DirectiveAction.PROCEED,
    call: CallAction = CallAction.RUN,
    texts: tuple[str, ...] = (),
) -> Directive:
    messages = tuple(Message(id=str(place), text=text) for place, text in enumerate(texts))
    # No version: nothing here waits for the next one.
    return Directive(version=0, action=action, call=call, reason=reason, messages=messages)
