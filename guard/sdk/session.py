"""Session: any Python agent under Mission Control's watch; finds the session of a watched call."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from guard.errors import ServerAway
from guard.sdk.base_session import (
    BaseSession,
    call_on_escalation,
    completed_turn,
    message_turn,
    proposed_turn,
    with_messages,
)
from guard.sdk.conversation import Conversation, Go
from guard.sdk.delivery import Send
from guard.sdk.flow import BlockingCall, Flow, T, Transport, Wait
from guard.sdk.forking import ForkSafeLock
from guard.sdk.transport import HttpTransport
from guard.turn import Role
from guard.wire import Escalation

if TYPE_CHECKING:
    from guard.sdk.aio import AsyncSession

    AnySession: TypeAlias = "Session | AsyncSession"

_current: ContextVar[AnySession | None] = ContextVar("missioncontrol_session", default=None)
_open_sessions: list[AnySession] = []
# With the id of the process that opened it: a fork copies the value, but must not use the run.
_process_session: tuple[int, Session] | None = None
_sessions_lock = ForkSafeLock()


class Session(BaseSession[Transport]):
    """One run of your agent, reported to Mission Control.

    Ask before each tool call, and report its outcome:

        with guard.Session("fix-auth", agent="coder", goal="Make the tests pass") as session:
            go = session.before("Bash", {"command": "pytest -q"})
            text = run_it() if go.run else go.text
            session.after(go, result=text)

    A held call waits inside `before`. When the run is stopped in Mission Control, `before` and
    `after` raise `guard.Stopped`; nothing else is ever raised into your agent. Threads may share a
    session. While the server is away, the same engine runs in this process, and what happened is
    delivered later (`guard.sdk.outbox`).

    Functions under `@guard.watch` that are called inside the `with` block belong to this run; their
    messages wait in `unread`, for you to give to the model.

    Args:
        name: What people call this run.
        url: Mission Control's address; default `$MISSIONCONTROL_URL`.
        key: The project's agent key; default `$MISSIONCONTROL_KEY`.
        agent: Who acts, if a call does not say.
        goal: What the agent was asked to do; the judge reads it.
        workspace: Paths of files that exist; the judge reads them.
        run_key: Joins this run with the same key opened elsewhere; default
            `$MISSIONCONTROL_RUN_KEY`, which `guard run` sets.
        mode: Asks for a mode other than the project's.
        fail: "open": go on without a server. "closed": no tool runs without it.
        transport: Replaces HTTP, for tests.
        on_escalation: Called once with each `guard.Escalation`, in the thread of the turn
            that brought it: switch to a stronger model, or to another strategy. The
            model is told too. Its errors break nothing.
        emit: Called with each event (`guard.events`): the run opened, a directive,
            a message, the server away or back, the end. Its errors break nothing.
        outbox: Where turns wait for a server that is away: a directory; False: they are
            not kept. Default `$MISSIONCONTROL_OUTBOX` ("off": not kept), else
            `~/.local/state/missioncontrol/outbox`.
        ask: While the server is away, ask at the terminal, if there is one, what to do with a call;
            False: do what the project's rules say of unanswered cards.
        heartbeat: Report every 20 seconds that this process lives, so that its death is noticed
            within a minute; False: for a process that speaks for agents that run elsewhere.
        opening: Further fields of `POST runs/`: `task_type`, `policy`, `budget`, `parent`, … The
            default parent is the one in `$MISSIONCONTROL_PARENT_RUN`, if any.

    Raises:
        ValueError: `fail` is neither "open" nor "closed", or the address or the key is invalid.
    """

    def _connect(self, server: tuple[str, str], transport: Transport | None) -> tuple[Send, Send]:
        self._transport = transport or HttpTransport(*server)
        return self._transport.send, self._transport.send

    def child(self, name: str, **opening: Any) -> Session:
        """Create the session of a sub-agent: its run belongs to this one.

        Budgets and loops are watched over both runs; when this run ends, so does the sub-agent's.

        Args:
            name: What people call the sub-agent's run.
            opening: What `guard.Session` takes; address, key, `outbox`, `fail` and `ask` are this
                session's by default.
        """
        return Session(name, **self._opening_of_child(opening))

    def __enter__(self) -> Self:
        self._drive(self._conversation.open())
        # Only once it is open: a watched function called before would have no run.
        self._outer = set_current_session(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        # Before closing, which may wait for the server: nothing may be reported of a run that ends.
        restore_session(self, self._outer)
        self.close("failed" if kind else "completed")

    def close(self, status: Literal["completed", "failed"] = "completed") -> None:
        """End the run."""
        # Ended first: this needs the connection.
        self._drive(self._conversation.end(status))
        self._transport.close()

    def before(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        *,
        agent: str | None = None,
        **facts: Any,
    ) -> Go:
        """Ask whether a call may run; wait while the run is held.

        Args:
            tool: What is called.
            args: Its arguments.
            agent: Who calls; default the session's agent.
            facts: Other fields of the turn: `usage`, `model`, `call_id`, …; reported here, the cost
                of the model call counts even if the call is skipped. `nature` says what repeating
                this call means: a `guard.ToolNature`, or a mapping with `loop_key`, `progress_key`,
                `retry`.

        Raises:
            Stopped: The run is over.
        """
        turn = proposed_turn(tool, args, agent=agent or self.agent, facts=facts)
        return self._drive(self._conversation.propose(turn))

    def after(
        self, go: Go, *, result: Any = None, error: Any = None, **facts: Any
    ) -> tuple[str, ...]:
        """Report a call's outcome; return messages to add to the model's context.

        Args:
            go: What `before` returned. A call that did not run is not reported again.
            result: What the tool returned, as the model reads it.
            error: Why it failed, if it did.
            facts: Other fields of the turn: `usage`, `model`, `call_id`, `files`, …

        Raises:
            Stopped: The run is over.
        """
        if not go.run:
            return ()
        return self._drive(self._conversation.report(completed_turn(go.turn, result, error, facts)))

    def say(
        self,
        content: str,
        *,
        role: Role | str = Role.ASSISTANT,
        agent: str | None = None,
        **facts: Any,
    ) -> tuple[str, ...]:
        """Report what was said; return messages to add to the model's context.

        A `user` message resets every streak.

        Raises:
            Stopped: The run is over.
        """
        turn = message_turn(content, role=role, agent=agent or self.agent, facts=facts)
        return self._drive(self._conversation.report(turn))

    def call(
        self,
        tool: str,
        args: Mapping[str, Any],
        function: Callable[..., Any],
        *,
        agent: str | None = None,
    ) -> str:
        """Run `function(**args)` if it may run; return the text for the model.

        Raises:
            Stopped: The run is over.
            Exception: What `function` raised; it is reported first.
        """
        go = self.before(tool, args, agent=agent)
        if not go.run:
            return go.text
        try:
            result = function(**args)
        # Reported and raised again: the host decides how to handle a tool's failure.
        except Exception as error:
            self.after(go, error=f"{type(error).__name__}: {error}")
            raise
        return with_messages(result, (*go.messages, *self.after(go, result=result)))

    def _drive(self, flow: Flow[T]) -> T:
        """Run a flow over the transport, in this thread."""
        resume = partial(flow.send, None)
        while True:
            try:
                step = resume()
            except StopIteration as finished:
                # Only after the turn was reported: the callback may use this very session.
                for escalation in self._conversation.take_escalations():
                    call_on_escalation(escalation, self._on_escalation)
                return finished.value  # type: ignore[no-any-return]
            # Flows yield what blocks instead of calling it: the asynchronous session drives the
            # same flows.
            if isinstance(step, Wait):
                time.sleep(step.seconds)
                resume = partial(flow.send, None)
            elif isinstance(step, BlockingCall):
                resume = partial(flow.send, step.function())
            else:
                try:
                    resume = partial(flow.send, self._transport.send(step))
                except ServerAway as away:
                    # Thrown into the flow: only the flow knows whether this step is possible
                    # without a server.
                    resume = partial(flow.throw, away)


class SharedSession(Session):
    """A session for a run that another session opens and closes."""

    def __init__(
        self,
        conversation: Conversation,
        transport: Transport,
        *,
        agent: str,
        unread: list[str],
        on_escalation: Callable[[Escalation], object],
        inherited: Mapping[str, Any],
    ) -> None:
        # Without `super()`: it opens no run of its own, and uses the other session's conversation.
        self.agent = agent
        self.unread = unread
        self._inherited = dict(inherited)
        self._on_escalation = on_escalation
        self._conversation = conversation
        self._transport = transport


def set_current_session(session: AnySession) -> AnySession | None:
    """Make a session this context's current one; return the previous one."""
    before = _current.get()
    _current.set(session)
    with _sessions_lock.lock:
        _open_sessions.append(session)
    return before


def restore_session(session: AnySession, before: AnySession | None) -> None:
    """Undo `set_current_session`."""
    _current.set(before)
    with _sessions_lock.lock:
        # Leaving twice is harmless.
        if session in _open_sessions:
            _open_sessions.remove(session)


def current_session() -> AnySession:
    """Return this context's session, else the newest open one in this process.

    If none is open, open one for the process, for all its calls; it ends with the process.
    """
    global _process_session  # noqa: PLW0603 - one for the process, or for a child it forked
    here = _current.get()
    if here is not None:
        return here
    with _sessions_lock.lock:
        if _open_sessions:
            return _open_sessions[-1]
        # A forked child opens its own: otherwise two processes would write one run.
        if _process_session is None or _process_session[0] != os.getpid():
            _process_session = (
                os.getpid(),
                Session(Path(sys.argv[0] or "python").stem or "python"),
            )
            atexit.register(close_process_session)
        return _process_session[1]


def close_process_session() -> None:
    """End the process's own run, if there is one."""
    global _process_session
    # Nothing is left to do at exit.
    atexit.unregister(close_process_session)
    own, _process_session = _process_session, None
    if own is not None and own[0] == os.getpid():
        own[1].close()
