"""LangChain and LangGraph under Mission Control: middleware for `create_agent`.

    agent = create_agent(model, tools, middleware=[MissionControl("fix-auth")])

Every tool call is proposed before it runs, and waits while the run is held.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Generator
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
from typing import Annotated, Any, NotRequired, TypeVar
from uuid import UUID

from guard.adapters.usage import langchain_usage
from guard.errors import FrameworkMissing, Stopped
from guard.sdk.aio import AsyncSession
from guard.sdk.conversation import Go
from guard.sdk.session import Session
from guard.turn import Role

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import PrivateStateAttr, hook_config
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langchain_core.tracers.context import register_configure_hook
    from langgraph.errors import GraphBubbleUp
except ImportError as missing:
    raise FrameworkMissing("guard.adapters.langchain", "langchain", missing) from missing

T = TypeVar("T")
# Most characters shown of calls that none of our tools ran.
MAX_SHOWN_CHARS = 500
# The same steps for sync and async: each yields what to call next.
Steps = Generator[Callable[[], Any], Any, T]


class WatchedState(AgentState):
    """The agent's state with its run's key, by which a resumed graph finds its run."""

    # Private: a checkpointer keeps it, but no model sees it.
    guard_run: NotRequired[Annotated[str, PrivateStateAttr]]  # type: ignore[valid-type]


class MissionControl(AgentMiddleware):
    """Reports each invocation of an agent as a run, and follows its directives.

    In a graph with a checkpointer each thread is a run (`langgraph:THREAD_ID`), in any other each
    invocation. `invoke` and `ainvoke`, threads and tasks, may share it. A held call waits where it
    is. A correction takes the place of the result, or is added to the next model call. A run that
    is stopped jumps to the agent's end, and its last message gives the reason.

    Args:
        name: What people call these runs.
        opening: As for `guard.Session`: `url`, `key`, `agent`, `goal`, `workspace`, `mode`, `fail`,
            `budget`, … The default `goal` is what the person asked.
    """

    state_schema = WatchedState

    def __init__(self, name: str, **opening: Any) -> None:
        super().__init__()
        # The caller's values take precedence over our defaults.
        self._opening = {"name": name, **opening}
        self._watches: dict[tuple[SessionType, str], _WatchedRun] = {}

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """Open the run and report what the person asked."""
        return _run_steps(self._begin_run(Session, state, runtime))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """Open the run and report what the person asked."""
        return await _await_steps(self._begin_run(AsyncSession, state, runtime))

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Add Mission Control's messages, or end the graph."""
        return self._run_of(Session, state).before_model()

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Add Mission Control's messages, or end the graph."""
        return self._run_of(AsyncSession, state).before_model()

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Keep a model call's facts for the turn it leads to."""
        return _run_steps(
            self._run_of(Session, request.state).call_model(partial(handler, request))
        )

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Keep a model call's facts for the turn it leads to."""
        run = self._run_of(AsyncSession, request.state)
        return await _await_steps(run.call_model(partial(handler, request)))

    @hook_config(can_jump_to=["model", "end"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Report an answer; if a message comes back, the agent goes on."""
        return _run_steps(self._run_of(Session, state).report_answer(state))

    @hook_config(can_jump_to=["model", "end"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Report an answer; if a message comes back, the agent goes on."""
        return await _await_steps(self._run_of(AsyncSession, state).report_answer(state))

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Ask, run, report; a call that may not run gets an answer in place of its result."""
        return _run_steps(self._run_of(Session, request.state).run_tool(request, handler))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Ask, run, report; a call that may not run gets an answer in place of its result."""
        return await _await_steps(
            self._run_of(AsyncSession, request.state).run_tool(request, handler)
        )

    def after_agent(self, state: Any, runtime: Any) -> None:
        """End the run."""
        _run_steps(self._end_run(Session, state))

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """End the run."""
        await _await_steps(self._end_run(AsyncSession, state))

    def _begin_run(self, kind: SessionType, state: Any, runtime: Any) -> Steps[dict[str, Any]]:
        info = runtime.execution_info
        # One run for each thread, if the graph remembers threads.
        known = {"guard_run": f"langgraph:{(info and info.thread_id) or uuid.uuid4().hex}"}
        # What the person says now; nothing if the last message is not a person's.
        messages = state["messages"]
        last = messages[-1] if messages else None
        prompt = last.text if isinstance(last, HumanMessage) else ""
        run = self._run_of(kind, known, goal=prompt)
        if prompt:
            yield from run.report_message(prompt, role=Role.USER)
        return known | (run.end_graph() if run.stopped else {})

    def _end_run(self, kind: SessionType, state: Any) -> Steps[None]:
        run = self._run_of(kind, state)
        # A thread that continues later opens its run again, by the same key.
        del self._watches[kind, state["guard_run"]]
        yield from run.report_unreported()
        yield run.session.close

    def _fail_run(self, kind: SessionType, key: str) -> Steps[None]:
        # A run that ended normally is no longer here.
        if (run := self._watches.pop((kind, key), None)) is not None:
            yield from run.fail()

    def _run_of(self, kind: SessionType, state: Any, **more: Any) -> _WatchedRun:
        """Return the run of this state; a graph resumed elsewhere joins it by its key."""
        key = state["guard_run"]
        if (kind, key) not in self._watches:
            session = kind(**{"run_key": key} | more | self._opening)
            # Two threads may arrive here at once: both then use one session.
            self._watches.setdefault((kind, key), _WatchedRun(session))
        _invocations.on_failure((id(self), kind, key), partial(self._fail_run, kind, key))
        return self._watches[kind, key]


@dataclass(slots=True)
class _WatchedRun:
    """One run in progress."""

    session: Session | AsyncSession
    notes: list[str] = field(default_factory=list)
    stopped: str = ""
    interrupted: dict[str, Go] = field(default_factory=dict)
    # The model's last message, if no turn has reported it yet.
    unreported: AIMessage | None = None

    def before_model(self) -> dict[str, Any] | None:
        """Return what the model must read first."""
        if self.stopped:
            return self.end_graph()
        notes, self.notes = self.notes, []
        messages = [HumanMessage(f"[Mission Control] {note}") for note in notes]
        return {"messages": messages} if messages else None

    def call_model(self, call: Callable[[], Any]) -> Steps[Any]:
        """Call the model."""
        # Another middleware may have answered every tool of the previous call.
        yield from self.report_unreported()
        response = yield call
        said = (m for m in getattr(response, "result", ()) if isinstance(m, AIMessage))
        self.unreported = next(said, None)
        return response

    def report_unreported(self) -> Steps[None]:
        """Report a model call that led to no turn: it still has a cost."""
        message, self.unreported = self.unreported, None
        if message is None or self.stopped or not (facts := _facts(message)):
            return
        # With what it asked for: calls that differ are no repetition.
        calls = ", ".join(f"{call['name']} {call['args']}" for call in message.tool_calls)
        yield from self.report_message(
            message.text or f"(asked for {calls or 'no tool'})"[:MAX_SHOWN_CHARS], **facts
        )

    def fail(self) -> Steps[None]:
        """End the run as failed."""
        yield from self.report_unreported()
        yield partial(self.session.close, "failed")

    def report_answer(self, state: Any) -> Steps[dict[str, Any] | None]:
        """Report what the model said if it calls no tool."""
        message = next(m for m in reversed(state["messages"]) if isinstance(m, AIMessage))
        # A structured answer comes as a call of a tool that nobody runs: it is the model's answer.
        if message.tool_calls and "structured_response" not in state:
            return None  # its calls report it
        self.unreported = None
        yield from self.report_message(message.text or "(no text)", **_facts(message))
        if self.stopped:
            return self.end_graph()
        more = self.before_model()
        return more | {"jump_to": "model"} if more else None

    def run_tool(self, request: Any, handler: Callable[[Any], Any]) -> Steps[Any]:
        """Run a tool, if it may run."""
        call = request.tool_call
        try:
            go = self.interrupted.pop(call["id"], None)
            if go is None:
                # The message that asked for this call has the facts of the model call.
                asking = (
                    message
                    for message in reversed(request.state["messages"])
                    if any(one["id"] == call["id"] for one in getattr(message, "tool_calls", ()))
                )
                facts = next(map(_facts, asking), {})
                self.unreported = None
                go = yield partial(self.session.before, call["name"], call["args"], **facts)
        except Stopped as stopped:
            # Not raised: other calls of the same answer are under way, and the graph ends normally.
            self.stopped = stopped.reason
            return _replacement(call, stopped.reason)
        if not go.run:
            return _replacement(call, go.text)
        self.notes += go.messages
        try:
            result = yield partial(handler, request)
        except GraphBubbleUp:  # interrupted: it runs again when resumed, and is allowed
            self.interrupted[call["id"]] = go
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            yield from self._report(partial(self.session.after, go, error=why))
            raise
        # What a tool returned: a message, or a command with messages.
        if isinstance(result, ToolMessage):
            outcome = {"error" if result.status == "error" else "result": result.text}
        else:
            updates = result.update if isinstance(getattr(result, "update", None), dict) else {}
            texts = [m.text for m in updates.get("messages", ()) if isinstance(m, ToolMessage)]
            outcome = {"result": "\n".join(texts) or str(result)}
        yield from self._report(partial(self.session.after, go, **outcome))
        return result

    def report_message(self, text: str, **facts: Any) -> Steps[None]:
        """Report what was said."""
        yield from self._report(partial(self.session.say, text, **facts))

    def _report(self, reporting: Callable[[], Any]) -> Steps[None]:
        try:
            self.notes += yield reporting
        except Stopped as stopped:
            self.stopped = stopped.reason

    def end_graph(self) -> dict[str, Any]:
        """End the graph; its last message gives the reason."""
        message = f"[Mission Control] This run was ended: {self.stopped}"
        return {"messages": [AIMessage(message)], "jump_to": "end"}


SessionType = type[Session] | type[AsyncSession]


class _Invocations(BaseCallbackHandler):
    """Learns which invocations fail: by their limit, cancellation, a closed stream or an error.

    LangChain then calls neither `after_agent` nor any other hook of a middleware.
    """

    # Not in a thread: the nodes of the graph must see the context variable that is set here.
    run_inline = True
    # For chains only: to report a model call, LangChain serializes all its messages, and fails the
    # call if it cannot.
    ignore_llm = ignore_chat_model = ignore_agent = ignore_retriever = True
    ignore_custom_event = ignore_retry = True

    def __init__(self) -> None:
        self._current = ContextVar[UUID | None]("guard_invocation", default=None)
        # By invocation: the surrounding one, and what to do if it fails.
        self._by_invocation: dict[
            UUID | None, tuple[UUID | None, dict[Any, Callable[[], Steps[None]]]]
        ] = {}

    def on_failure(self, key: object, steps: Callable[[], Steps[None]]) -> None:
        """Run these steps if the current invocation fails; once for each key."""
        if (known := self._by_invocation.get(self._current.get())) is not None:
            known[1].setdefault(key, steps)

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **_: Any) -> None:
        """A graph, or any other chain, begins."""
        self._by_invocation[run_id] = self._current.get(), {}
        self._current.set(run_id)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        """It ended normally, or was interrupted and will be resumed."""
        self._pop_invocation(run_id)

    async def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """It failed; a `GraphBubbleUp` from a nested graph is not a failure."""
        left = self._pop_invocation(run_id)
        if not isinstance(error, GraphBubbleUp):
            for steps in left:
                await _await_steps(steps())

    def _pop_invocation(self, run_id: UUID) -> list[Callable[[], Steps[None]]]:
        around, step_makers = self._by_invocation.pop(run_id, (None, {}))
        self._current.set(around)
        return list(step_makers.values())


_invocations = _Invocations()
# Only in this way does a handler reach invocations whose caller names no handler.
register_configure_hook(ContextVar("guard_invocations", default=_invocations), inheritable=False)


def _run_steps(steps: Steps[T]) -> T:
    """Run the steps in this thread."""
    resume = partial(steps.send, None)
    while True:
        try:
            step = resume()
        except StopIteration as finished:
            return finished.value  # type: ignore[no-any-return]
        try:
            resume = partial(steps.send, step())
        except BaseException as error:  # noqa: BLE001 - the steps decide
            resume = partial(steps.throw, error)


async def _await_steps(steps: Steps[T]) -> T:
    """Run the steps in this task."""
    resume = partial(steps.send, None)
    while True:
        try:
            step = resume()
        except StopIteration as finished:
            return finished.value  # type: ignore[no-any-return]
        try:
            answer = step()
            resume = partial(steps.send, await answer if isawaitable(answer) else answer)
        except BaseException as error:  # noqa: BLE001 - the steps decide
            resume = partial(steps.throw, error)


def _replacement(call: Any, text: str) -> Any:
    """Return what the model reads in place of a result."""
    # As an error; otherwise the model would take it for the tool's result.
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")


def _facts(message: Any) -> dict[str, Any]:
    """Return the facts of the model call behind a turn; its id makes it count once."""
    metadata = message.response_metadata
    facts = {
        "call_id": message.id or metadata.get("id"),
        "model": metadata.get("model_name") or metadata.get("model"),
        "provider": metadata.get("model_provider"),
        "usage": langchain_usage(message.usage_metadata),
    }
    return {name: fact for name, fact in facts.items() if fact}
