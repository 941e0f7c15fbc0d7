"""CrewAI under Mission Control: hooks for one execution, and its event bus.

with MissionControl("fix-auth"):
crew.kickoff()
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from contextvars import ContextVar
from typing import Any, Self

from guard.errors import FrameworkMissing, Stopped
from guard.sdk.conversation import Go
from guard.sdk.session import Session
from guard.turn import Usage

try:
    from crewai.events import crewai_event_bus
    from crewai.events.types.llm_events import LLMCallCompletedEvent
    from crewai.hooks.dispatch import HookAborted, InterceptionPoint, register_scoped, scoped_hooks
    from crewai.types.usage_metrics import UsageMetrics
except ImportError as missing:
    raise FrameworkMissing("guard.adapters.crewai", "crewai", missing) from missing

# How long a call waits for the bus to report the cost of the model call before it.
FLUSH_S = 10.0

# The beginning of CrewAI's text for a tool that raised.
TOOL_ERROR_START = "Error executing tool"

# Part of the answer of a model that calls tools in plain text.
ACTION_MARK = "Action Input:"

_current: ContextVar[MissionControl | None] = ContextVar("guard_crewai", default=None)


class RunEnded(Stopped, HookAborted):
    """The run was stopped: `kickoff` raises this unchanged; it is a `guard.Stopped`."""


class MissionControl:
    """Reports what crews do inside its `with` block, and follows their directives.

    A tool call waits in its hook while the run is held, in its agent's thread. A correction takes
    the place of the result, or is added to that agent's next model call. When a run is stopped,
    `guard.Stopped` is raised out of `kickoff`. One block is one run; agents are told apart by their
    roles. Other crews of the process are not affected.

    Args:
        name: What people call this run.
        opening: As for `guard.Session`: `url`, `key`, `goal`, `workspace`, `mode`, `fail`,
            `budget`, … The default `goal` is the first task's description.
    """

    def __init__(self, name: str, **opening: Any) -> None:
        self._name, self._opening = name, opening
        self._session: Session | None = None
        self._stopped: Stopped | None = None
        self._facts: dict[str, dict[str, Any]] = {}
        # Model calls that no turn has reported yet, by their ids.
        self._unreported: dict[str, tuple[str, dict[str, Any]]] = {}
        self._allowed_calls: dict[int, Go] = {}
        self._replacement_texts: dict[int, str] = {}
        # By role: a text about one agent's call is for that agent only.
        self._notes: defaultdict[str, list[str]] = defaultdict(list)
        self._scope = ExitStack()

    def __enter__(self) -> Self:
        # Scoped, so that other crews of this process are not affected.
        self._scope.enter_context(scoped_hooks())
        register_scoped(InterceptionPoint.PRE_MODEL_CALL, self._before_llm_call)
        register_scoped(InterceptionPoint.PRE_TOOL_CALL, self._before_tool_call)
        register_scoped(InterceptionPoint.POST_TOOL_CALL, self._after_tool_call)
        crewai_event_bus.register_handler(LLMCallCompletedEvent, self._on_llm_call)
        self._scope.callback(crewai_event_bus.off, LLMCallCompletedEvent, self._on_llm_call)
        token = _current.set(self)
        self._scope.callback(_current.reset, token)
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        # Before the handlers are removed: the cost of the last model calls may still arrive.
        crewai_event_bus.flush(FLUSH_S)
        self._scope.close()
        # A model call without a turn still has a cost.
        for role, facts in self._unreported.values():
            self._report_message("(called no tool)", role, facts)
        if self._session is not None:
            self._session.close("failed" if kind else "completed")

    def _before_llm_call(self, context: Any) -> None:
        """Add what this agent must read, or raise if the run was stopped."""
        if self._stopped is not None:
            raise RunEnded(self._stopped.reason)
        for note in self._notes.pop(_role(context.agent), ()):
            message = {"role": "user", "content": f"[Mission Control] {note}"}
            context.messages.append(message)

    def _before_tool_call(self, context: Any) -> bool | None:
        """Ask whether a call may run; wait here while it is held."""
        # The bus reports the model call in threads of its own: wait until its cost has arrived.
        crewai_event_bus.flush(FLUSH_S)
        role = _role(context.agent)
        facts = self._facts.get(role, {})
        self._unreported.pop(facts.get("call_id", ""), None)
        # A call has no id, but both of its hooks get the same object.
        call = id(context.tool_input)
        session = self._ensure_session(context.task)
        try:
            go = session.before(context.tool_name, context.tool_input, agent=role, **facts)
        except Stopped as stopped:  # raised here it would only block this call
            self._stopped = stopped
            self._replacement_texts[call] = stopped.reason
            return False
        if not go.run:
            self._replacement_texts[call] = go.text
            return False
        self._notes[role] += go.messages
        self._allowed_calls[call] = go
        return None

    def _after_tool_call(self, context: Any) -> str | None:
        """Report a call's outcome, or return the text in place of its result."""
        call = id(context.tool_input)
        # It did not run: the reason replaces CrewAI's own text.
        if (go := self._allowed_calls.pop(call, None)) is None:
            return self._replacement_texts.pop(call, None)
        text = str(context.tool_result)
        outcome = {"error" if text.startswith(TOOL_ERROR_START) else "result": text}
        try:
            self._notes[_role(context.agent)] += self._ensure_session(None).after(go, **outcome)
        except Stopped as stopped:
            self._stopped = stopped
        return None

    def _on_llm_call(self, source: Any, event: Any) -> None:
        """Keep a model call's cost for the turn it leads to; report an answer."""
        # The bus belongs to the whole process, and reports other crews' calls, too.
        if _current.get() is not self:
            return
        role = (event.agent_role or "agent").strip()
        facts = _facts(event)
        text = event.response if isinstance(event.response, str) else ""
        # An answer in plain text may be a tool call: then the tool's own hook reports it.
        if text and ACTION_MARK not in text:
            self._report_message(text, role, facts)
            return
        self._facts[role] = facts
        self._unreported[facts["call_id"]] = role, facts

    def _report_message(self, text: str, role: str, facts: dict[str, Any]) -> None:
        try:
            self._notes[role] += self._ensure_session(None).say(text, agent=role, **facts)
        except Stopped as stopped:
            self._stopped = stopped

    def _ensure_session(self, task: Any) -> Session:
        """Return the session; its first turn opens the run."""
        if self._session is None:
            own: dict[str, Any] = {"goal": getattr(task, "description", None)}
            self._session = Session(self._name, **own | self._opening)
        return self._session


def _role(agent: Any) -> str:
    return str(getattr(agent, "role", None) or "agent").strip()


def _facts(event: Any) -> dict[str, Any]:
    """Return the fields of a model call, with its cost; its id makes it count once."""
    provider, _, model = (event.model or "").rpartition("/")
    # Reads any vendor's counts, as CrewAI itself does: its prompt includes cached tokens.
    read = UsageMetrics.from_provider_dict(event.usage)
    if read is None or not read.total_tokens:
        usage = None
    else:
        cached, written = read.cached_prompt_tokens, read.cache_creation_tokens
        usage = Usage(
            input=max(0, read.prompt_tokens - cached - written),
            cache_read=cached,
            cache_write_5m=written,
            output=read.completion_tokens,
            reasoning=read.reasoning_tokens,
        )
    facts = {
        "call_id": event.response_id or event.call_id,
        "model": model,
        "provider": provider,
        "usage": usage,
    }
    return {name: fact for name, fact in facts.items() if fact}
