"""AsyncSession: the session for an asyncio agent, with HTTP/1.1 over asyncio's streams."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

from guard.errors import ServerAway
from guard.sdk.base_session import (
    BaseSession,
    call_on_escalation,
    completed_turn,
    message_turn,
    proposed_turn,
    with_messages,
)
from guard.sdk.conversation import Go
from guard.sdk.delivery import Send
from guard.sdk.flow import AsyncTransport, BlockingCall, Flow, Request, Response, T, Wait
from guard.sdk.session import Session, SharedSession, restore_session, set_current_session
from guard.sdk.transport import (
    CONNECT_S,
    IDLE_CONNECTIONS,
    Endpoint,
    HttpTransport,
    enable_keepalive,
    encode_body,
    parse_response,
)
from guard.turn import Role
from guard.wire import Escalation

# No connection, a broken connection, or bytes that are not HTTP.
_CONNECTION_ERRORS = (OSError, EOFError, ValueError, LookupError, asyncio.LimitOverrunError)
logger = logging.getLogger("guard")
# How long after its time-out a request of the background thread may still return.
LOOP_LAG_S = 10.0


class AsyncSession(BaseSession[AsyncTransport]):
    """One run of your asyncio agent, reported to Mission Control.

    As `guard.Session`, with methods to await. `on_escalation` may be a coroutine function; where a
    plain function brought the escalation, it is started but not awaited. A held call occupies a
    socket, not a thread. Many tasks may share a session.
    """

    def _connect(
        self, server: tuple[str, str], transport: AsyncTransport | None
    ) -> tuple[Send, Send]:
        # Created when a plain function first asks: most programs have none among their tools.
        self._sync_session: Session | None = None
        self._transport = transport or AsyncHttpTransport(*server)
        # For heartbeats and the outbox: a loop that a tool blocks does not mean that the agent is
        # dead, and a loop that has ended can send nothing.
        self._thread_transport = HttpTransport(*server)
        self._loop: asyncio.AbstractEventLoop | None = None
        # A test's transport replaces the only server: no request may bypass it.
        send = self._send_in_background if transport else self._thread_transport.send
        return send, send

    def child(self, name: str, **opening: Any) -> AsyncSession:
        """Create the session of a sub-agent, as `Session.child` does."""
        return AsyncSession(name, **self._opening_of_child(opening))

    async def __aenter__(self) -> Self:
        await self._drive(self._conversation.open())
        self._outer = set_current_session(self)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        restore_session(self, self._outer)
        await self.close("failed" if kind else "completed")

    async def close(self, status: Literal["completed", "failed"] = "completed") -> None:
        """End the run."""
        await self._drive(self._conversation.end(status))
        await self._transport.close()
        # Closed last: the heartbeats use it, and stop with the run.
        self._thread_transport.close()

    def is_on_running_loop(self) -> bool:
        """Return whether this session's connections belong to the running event loop."""
        return self._loop is asyncio.get_running_loop()

    def sync_session(self) -> Session:
        """Return a session of the same run for plain functions; it blocks while held."""
        if self._sync_session is None:
            self._sync_session = SharedSession(
                self._conversation,
                self._thread_transport,
                agent=self.agent,
                unread=self.unread,
                on_escalation=self._call_on_escalation_from_thread,
                inherited=self._inherited,
            )
        return self._sync_session

    async def before(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        *,
        agent: str | None = None,
        **facts: Any,
    ) -> Go:
        """Ask whether a call may run; wait while the run is held.

        Raises:
            Stopped: The run is over.
        """
        turn = proposed_turn(tool, args, agent=agent or self.agent, facts=facts)
        return await self._drive(self._conversation.propose(turn))

    async def after(
        self, go: Go, *, result: Any = None, error: Any = None, **facts: Any
    ) -> tuple[str, ...]:
        """Report a call's outcome; return messages to add to the model's context.

        Raises:
            Stopped: The run is over.
        """
        if not go.run:
            return ()
        return await self._drive(
            self._conversation.report(completed_turn(go.turn, result, error, facts))
        )

    async def say(
        self,
        content: str,
        *,
        role: Role | str = Role.ASSISTANT,
        agent: str | None = None,
        **facts: Any,
    ) -> tuple[str, ...]:
        """Report what was said; return messages to add to the model's context.

        Raises:
            Stopped: The run is over.
        """
        turn = message_turn(content, role=role, agent=agent or self.agent, facts=facts)
        return await self._drive(self._conversation.report(turn))

    async def call(
        self,
        tool: str,
        args: Mapping[str, Any],
        function: Callable[..., Awaitable[Any]],
        *,
        agent: str | None = None,
    ) -> str:
        """Await `function(**args)` if it may run; return the text for the model.

        Raises:
            Stopped: The run is over.
            Exception: What `function` raised; it is reported first.
        """
        go = await self.before(tool, args, agent=agent)
        if not go.run:
            return go.text
        try:
            result = await function(**args)
        # Reported and raised again: the host decides how to handle a tool's failure.
        except Exception as error:
            await self.after(go, error=f"{type(error).__name__}: {error}")
            raise
        return with_messages(result, (*go.messages, *await self.after(go, result=result)))

    async def _drive(self, flow: Flow[T]) -> T:
        """Run a flow over the transport, in this task."""
        # Set at each call: a program may use asyncio.run more than once.
        self._loop = asyncio.get_running_loop()
        resume = partial(flow.send, None)
        while True:
            try:
                step = resume()
            except StopIteration as finished:
                for escalation in self._conversation.take_escalations():
                    answer = call_on_escalation(escalation, self._on_escalation)
                    if inspect.isawaitable(answer):
                        await _await_logged(answer)
                return finished.value  # type: ignore[no-any-return]
            if isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
                resume = partial(flow.send, None)
            elif isinstance(step, BlockingCall):
                # It may read a disk or ask at a terminal: other tasks continue meanwhile.
                resume = partial(flow.send, await asyncio.to_thread(step.function))
            else:
                try:
                    resume = partial(flow.send, await self._transport.send(step))
                except ServerAway as away:
                    resume = partial(flow.throw, away)

    def _call_on_escalation_from_thread(self, escalation: Escalation) -> None:
        """Call the callback from a plain function; start a coroutine in the event loop."""
        answer = call_on_escalation(escalation, self._on_escalation)
        if inspect.isawaitable(answer) and self._loop is not None:
            # Not awaited: the event loop may be busy with this very plain function.
            asyncio.run_coroutine_threadsafe(_await_logged(answer), self._loop)

    def _send_in_background(self, request: Request) -> Response:
        """Send from the background thread, over the loop that owns the connections."""
        # A connection works only in the event loop that opened it.
        loop = self._loop
        if loop is None or loop.is_closed() or not loop.is_running():
            raise ServerAway("the event loop has ended")
        sending = asyncio.run_coroutine_threadsafe(self._transport.send(request), loop)
        try:
            return sending.result(request.timeout_s + LOOP_LAG_S)
        except (TimeoutError, CancelledError) as error:
            # Nobody waits for the answer any more, and the request would occupy its connection.
            sending.cancel()
            raise ServerAway("the event loop did not answer") from error


async def _await_logged(answer: Awaitable[object]) -> None:
    """Await what the host's callback returned; log what it raises."""
    try:
        await answer
    except Exception:
        logger.exception("the on_escalation callback failed")


@dataclass(frozen=True, slots=True)
class _Stream:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class AsyncHttpTransport:
    """Keeps a few connections open, as `HttpTransport`; a held call is a socket, not a thread."""

    def __init__(self, url: str, key: str) -> None:
        self._endpoint = Endpoint.of(url, key)
        self._idle: dict[asyncio.AbstractEventLoop, list[_Stream]] = {}
        self._keeps_idle = True

    async def send(self, request: Request) -> Response:
        """Send and read the whole answer.

        Raises:
            ServerAway: No answer within the request's time.
        """
        idle = self._idle_streams()
        try:
            if idle:
                # A connection that the server closed meanwhile is retried; see HttpTransport.send.
                with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                    return await self._exchange(idle.pop(), request)
            secure = ssl.create_default_context() if self._endpoint.scheme == "https" else None
            host, port = self._endpoint.host, self._endpoint.port
            # Not `wait_for`: before Python 3.12 it may lose the cancellation of its caller.
            async with asyncio.timeout(CONNECT_S):
                stream = _Stream(*await asyncio.open_connection(host, port, ssl=secure))
            enable_keepalive(stream.writer.get_extra_info("socket"))
            return await self._exchange(stream, request)
        except _CONNECTION_ERRORS as error:
            raise ServerAway(str(error) or type(error).__name__) from error

    async def close(self) -> None:
        """Close the idle connections; a request under way closes its own."""
        idle, self._keeps_idle = self._idle_streams(), False
        while idle:
            await _close_stream(idle.pop())

    def _idle_streams(self) -> list[_Stream]:
        """Return the running event loop's idle connections: no other loop can use or close them."""
        for loop in tuple(self._idle):
            if loop.is_closed():
                self._idle.pop(loop, None)
        return self._idle.setdefault(asyncio.get_running_loop(), [])

    async def _exchange(self, stream: _Stream, request: Request) -> Response:
        try:
            body = encode_body(request)
            request_headers = {
                "Host": self._endpoint.authority,
                "Content-Length": str(len(body)),
                **self._endpoint.headers(request),
            }
            target = self._endpoint.target(request)
            head = "".join(f"{name}: {value}\r\n" for name, value in request_headers.items())
            sent = f"{request.method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body
            # One time-out for the whole answer: a server that sends byte by byte must not extend
            # it.
            async with asyncio.timeout(request.timeout_s):
                stream.writer.write(sent)
                await stream.writer.drain()
                top = (await stream.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = top.split("\r\n")
                status = int(first.split()[1])
                pairs = (line.partition(":") for line in lines if line)
                headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
                # How the end of a body is found, in the standard's order (RFC 9112, 6.3).
                if status in {204, 304}:
                    raw = b""
                elif "chunked" in headers.get("transfer-encoding", "").lower():
                    raw = await _read_chunks(stream.reader)
                elif "content-length" in headers:
                    raw = await stream.reader.readexactly(int(headers["content-length"]))
                else:
                    headers["connection"] = "close"  # its end is the connection's end
                    raw = await stream.reader.read()
                answer = parse_response(status, raw, headers.get("retry-after"))
        except BaseException:
            # After a cancellation, too: the rest of this answer would be read as the next one's.
            await _close_stream(stream)
            raise
        ends = headers.get("connection", "").lower() == "close"
        idle = self._idle_streams()
        if ends or not self._keeps_idle or len(idle) >= IDLE_CONNECTIONS:
            await _close_stream(stream)
        else:
            idle.append(stream)
        return answer


async def _close_stream(stream: _Stream) -> None:
    stream.writer.close()
    with contextlib.suppress(OSError):  # closed by the other side: closed is all we want
        await stream.writer.wait_closed()


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readuntil(b"\r\n")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return body
