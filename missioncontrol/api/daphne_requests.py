"""Requests and sockets as Daphne takes them, refused before they fill disk or memory.

Daphne writes a whole body into a temporary file before it tells the application of the
request, whoever sends it. Ours counts the request and looks at the announced length when
the head is there, and counts what comes: few bytes pass unasked; for more, reading rests
until the key is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from daphne import cli, http_protocol, server, ws_protocol
from django.conf import settings
from twisted.internet import reactor as twisted_reactor
from twisted.internet import tcp
from twisted.internet.interfaces import ISSLTransport

from missioncontrol import origin
from missioncontrol.accounts import sessions
from missioncontrol.accounts.selectors import find_personal_token
from missioncontrol.api import endpoint, keys, limits, web_process
from missioncontrol.api.agent_requests import QueuedChannel
from missioncontrol.clock import now
from missioncontrol.errors import (
    BodyTooLarge,
    MissionControlError,
    NotSignedIn,
    TooManyRequests,
    Unavailable,
)

reactor: Any = twisted_reactor  # a module that is replaced by an object: no types
# Connections in one turn of the event loop.
ACCEPTS = 8
# Connections not yet accepted: the kernel drops further ones, which try again a second later.
BACKLOG = 4096
# Bytes of one message on a socket; screens send none.
MOST_READ = 4096
# Of what a socket is sent behind a message that its peer still takes: a screen that is so far
# behind is better served by a new snapshot.
MOST_UNSENT = 512 * 1024
LINGER_S = 5.0
# Who was refused may send on for so long: closing at once would reset the connection, and a client
# that writes first and reads afterwards would never see its answer.
LINGER_BYTES = 32 * 1024 * 1024


class BoundedRequest(http_protocol.WebRequest):  # type: ignore[misc]  # Daphne has no types
    """A request whose body is read as far as its sender may send."""

    _received = 0
    _has_key = _is_whole = _is_refused = False
    _lingering: Any = None
    _asking: asyncio.Task[None] | None = None
    _enter: Callable[[], endpoint.Leave] | None = None
    _leave: endpoint.Leave | None = None
    _head: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Twisted reads each Content-Type with `email`, a sixth of what a turn costs the loop,
        # to take forms apart that Django, or nobody, will read.
        self._parsePOSTFormSubmission = False

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - Twisted's name
        """The head is there; `length` is None for a body in chunks."""
        super().gotLength(length)
        # Daphne believes it of anybody: Django would answer at addresses that no limit knows.
        self.requestHeaders.removeHeader(b"daphne-root-path")
        raw = self.requestHeaders.getAllRawHeaders()
        peer = self.channel.getPeer()
        # What an application will read of the head, which Twisted tells only with the body.
        self._head = {
            "method": self.channel._command.decode("latin1"),  # noqa: SLF001 - told to us later
            # Decoded as Daphne decodes it for the application: `%6C` is an `l` for both.
            "path": unquote(self.channel._path.partition(b"?")[0].decode("latin1")),  # noqa: SLF001
            "client": (getattr(peer, "host", ""), getattr(peer, "port", 0)),
            "headers": [(name.lower(), value) for name, values in raw for value in values],
        }
        try:
            self._enter = endpoint.admit(self._head)
        except TooManyRequests as error:
            self._refuse(error)
        else:
            self._check(length or 0)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """Keep a piece of the body, or throw it away."""
        self._received += len(data)
        if not self._is_refused:
            self._check(self._received)
        if not self._is_refused:
            super().handleContentChunk(data)
        elif self._received > LINGER_BYTES:
            self.channel.transport.abortConnection()

    def requestReceived(self, *line: bytes) -> None:  # noqa: N802 - Twisted's name
        """The body is there."""
        # A place is taken now, not with the head: a body that never ends must hold none.
        if not self._is_refused and self._enter is not None:
            try:
                self._leave = self._enter()
            except Unavailable as error:
                self._refuse(error)
        self._is_whole = True
        if self._is_refused:
            self.channel.loseConnection()
        else:
            super().requestReceived(*line)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802 - Twisted's name
        """The peer left."""
        # Twisted would call it on a connection that is no more.
        if self._lingering is not None and self._lingering.active():
            self._lingering.cancel()
        self._end()
        super().connectionLost(reason)

    def handle_exception(self, exception: BaseException) -> None:
        """Break off an answer whose rest will not come, so that nobody takes it for whole."""
        # Daphne would begin another, fail, and look after no request any more for good.
        if self._response_started and self._is_connected:
            self.channel.transport.abortConnection()
        else:
            super().handle_exception(exception)

    def finish(self) -> None:
        """The answer has left."""
        self._end()
        super().finish()

    def _end(self) -> None:
        if self._leave is not None:
            self._leave()

    def _check(self, size: int) -> None:
        try:
            limits.check_size(size, has_key=self._has_key)
        except BodyTooLarge as error:
            # Who shows nothing that looks like a key is not worth a look into the database.
            if self._has_key or not endpoint.may_send_much(self._head):
                self._refuse(error)
            else:
                self._has_key = True  # until it is known to be none
                self._check(size)
                if not self._is_refused:
                    self.channel.transport.pauseProducing()
                    self._asking = asyncio.ensure_future(self._find_key())

    async def _find_key(self) -> None:
        try:
            await check_sender(self._head)
        except MissionControlError as error:
            self._refuse(error)
        finally:
            # Also after a refusal: what still comes must be read to be thrown away.
            if self._is_connected:
                self.channel.transport.resumeProducing()

    @property
    def _is_connected(self) -> bool:
        return getattr(self, "channel", None) is not None

    def _refuse(self, error: MissionControlError) -> None:
        """Answer without the application; what still comes is thrown away."""
        # The application has it by now, and answers by itself.
        if self._is_whole or not self._is_connected:
            return
        self._is_refused = True
        self.requestHeaders.removeHeader(b"expect")  # else Twisted says 100 after all
        response = endpoint.refusal(self._head, error)
        lines = (
            f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
            f"Content-Type: {response.content_type.decode()}",
            f"Content-Length: {len(response.body)}",
            *(f"{name.decode()}: {value.decode()}" for name, value in response.headers),
            "Connection: close",
        )
        head = "".join(f"{line}\r\n" for line in lines)
        self.channel.transport.write(f"{head}\r\n".encode() + response.body)
        # Some clients read only once they have written all:
        # closing at once resets what we answered.
        self._lingering = reactor.callLater(LINGER_S, self.channel.loseConnection)


async def check_sender(scope: dict[str, Any]) -> None:
    """Refuse who announces much without being somebody who may send it.

    Raises:
        NotSignedIn: no key, token or session that is known.
        ProjectArchived: the key's project takes nothing in.
    """
    if endpoint.bears_agent_key(scope):
        await keys.holder_of(endpoint.bearer(scope))
        return

    def is_person() -> bool:
        # Any scheme but `Bearer` finds no token either.
        kind, _, token = endpoint.header(scope, b"authorization").partition(" ")
        if kind:
            return find_personal_token(token.strip(), at=now()) is not None
        # A proxy may have spoken HTTPS to them: either name will do, its key proves who it is.
        base, schemes = settings.SESSION_COOKIE_NAME, ("http", "https")
        names = {origin.cookie_name(base, scheme) for scheme in schemes}
        cookie = endpoint.header(scope, b"cookie")
        return any(sessions.person_of(cookie, name) for name in names)

    # In a thread: both ask the database, which would stop the event loop.
    if not await web_process.dispatcher.run(is_person):
        raise NotSignedIn


class SchemeTellingServer(server.Server):  # type: ignore[misc]  # Daphne has no types
    """Tells of a socket whether it is encrypted, which Daphne leaves out: an Origin is
    compared with it.
    """

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Serve a request or a socket."""
        if scope["type"] == "websocket":
            is_secure = ISSLTransport.providedBy(protocol.transport)
            scope["scheme"] = "wss" if is_secure else "ws"
        return super().create_application(protocol, scope)


class OneWaySocket(ws_protocol.WebSocketProtocol):  # type: ignore[misc]  # Daphne has no types
    """A socket whose peer has nothing to say: what it sends is not gathered and not passed on.

    Daphne has one limit for messages of both directions, and ours are large: a stranger's
    pieces would lie in memory together, and each of a flood of messages wait for a consumer.
    """

    _takes = True
    """Its peer has taken what it was sent."""
    _room = 0
    """Bytes that it may be sent until then."""

    def connectionMade(self) -> None:  # noqa: N802 - Autobahn's name
        """Say with a code why a socket ends, instead of dropping the connection."""
        super().connectionMade()
        # A dropped connection tells a browser no code.
        self.failByDrop = False
        # The request's channel is told, until now, what its peer takes.
        self.unregisterProducer()
        self.registerProducer(self, streaming=True)

    def pauseProducing(self) -> None:  # noqa: N802 - Twisted's name
        """Too much waits in memory for the peer to take it."""
        self._takes = False

    def resumeProducing(self) -> None:  # noqa: N802 - Twisted's name
        """The peer has taken all."""
        self._takes = True

    def stopProducing(self) -> None:  # noqa: N802 - Twisted's name
        """The connection is lost, which Autobahn is told as well."""

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:  # noqa: N802 - Daphne's
        """Send a message, unless the peer has left most of the last ones where they are."""
        if self.state != self.STATE_OPEN:
            return  # it is being closed: the application does not know yet
        if self._takes:
            # A board's snapshot is a megabyte: taking it lasts, and more happens meanwhile.
            self._room = len(content) + MOST_UNSENT
        else:
            self._room -= len(content)
        if self._room < 0:
            # With what waits: a goodbye would only wait behind it.
            self.transport.abortConnection()
            return
        super().serverSend(content, binary)

    def onMessageFrameBegin(self, length: int) -> None:  # noqa: N802 - Autobahn's name
        """A piece of a message begins."""
        super().onMessageFrameBegin(length)
        if self.message_data_total_length > MOST_READ and not self.failedByMe:
            self._max_message_size_exceeded(
                self.message_data_total_length, MOST_READ, "nothing is read on this socket"
            )

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: N802, N803 - the same
        """A message is there: nobody waits for it."""


def install() -> None:
    """Have Daphne make its requests of ours, and Twisted accept a few connections at a time.

    Twisted takes hundreds in one turn of the event loop when a crowd comes, and raises that
    number as it goes on: a person's request, read in the next turn, would wait for them all.
    Where Daphne opens the port itself, it would have the kernel keep 50 of that crowd.
    """
    http_protocol.WebRequest = BoundedRequest
    http_protocol.HTTPFactory.protocol = QueuedChannel
    cli.CommandLineInterface.server_class = SchemeTellingServer
    ws_protocol.WebSocketFactory.protocol = OneWaySocket
    tcp.Port.numberAccepts = property(lambda _: ACCEPTS, lambda *_: None)  # type: ignore[assignment]
    tcp.Port.backlog = property(lambda _: BACKLOG, lambda *_: None)  # type: ignore[assignment]
