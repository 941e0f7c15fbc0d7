"""Daphne's requests and sockets, refused before they fill disk or memory.

Daphne writes a whole body into a temporary file before it tells the application of the
request, whoever sends it. Ours counts the request and checks the announced length as soon as
the head is there, and counts what arrives: a few bytes pass unchecked; for more, reading pauses
until the key is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
from missioncontrol.api.agent_requests import QueuedChannel, raw_response
from missioncontrol.clock import now
from missioncontrol.errors import (
    BodyTooLarge,
    MissionControlError,
    NotSignedIn,
    TooManyRequests,
    Unavailable,
)

reactor: Any = twisted_reactor  # a module that an object replaces, so it has no types
# Connections accepted in one iteration of the event loop.
ACCEPTS_PER_ITERATION = 8
# Connections not yet accepted: the kernel drops further ones, which try again a second later.
BACKLOG = 4096
# Bytes of one message on a socket; screens send none.
MAX_MESSAGE_BYTES = 4096
# Bytes that may queue on a socket behind a message its peer still takes: a new snapshot serves a
# screen that is further behind better.
MAX_UNSENT_BYTES = 512 * 1024
LINGER_S = 5.0
# How much a refused sender may go on sending: closing at once would reset the connection, and a
# client that writes first and reads afterwards would never see its answer.
LINGER_BYTES = 32 * 1024 * 1024


class BoundedRequest(http_protocol.WebRequest):  # type: ignore[misc]  # Daphne has no types
    """A request whose body is read only as far as its sender is allowed to send."""

    _received_bytes = 0
    _has_key = _is_complete = _is_refused = False
    _close_timer: Any = None
    _key_check: asyncio.Task[None] | None = None
    _acquire: Callable[[], endpoint.ReleaseSlot] | None = None
    _release: endpoint.ReleaseSlot | None = None
    _head: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Twisted parses each Content-Type with `email`, a sixth of what a turn costs the loop, in
        # order to parse forms that Django parses itself, or that nobody needs.
        self._parsePOSTFormSubmission = False

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - Twisted's name
        """The head is there; `length` is None for a body in chunks."""
        super().gotLength(length)
        # Daphne trusts it from anybody: Django would answer at addresses that no limit knows.
        self.requestHeaders.removeHeader(b"daphne-root-path")
        raw = self.requestHeaders.getAllRawHeaders()
        peer = self.channel.getPeer()
        # What an application reads of the head, which Twisted gives only together with the body.
        self._head = {
            "method": self.channel._command.decode("latin1"),  # noqa: SLF001 - told to us later
            # Decoded as Daphne decodes it for the application, so that `%6C` is an `l` for both.
            "path": unquote(self.channel._path.partition(b"?")[0].decode("latin1")),  # noqa: SLF001
            "client": (getattr(peer, "host", ""), getattr(peer, "port", 0)),
            "headers": [(name.lower(), value) for name, values in raw for value in values],
        }
        try:
            self._acquire = endpoint.apply_rate_limit(self._head)
        except TooManyRequests as error:
            self._refuse(error)
        else:
            self._check_size(length or 0)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """Keep a piece of the body, or throw it away."""
        self._received_bytes += len(data)
        if not self._is_refused:
            self._check_size(self._received_bytes)
        if not self._is_refused:
            super().handleContentChunk(data)
        elif self._received_bytes > LINGER_BYTES:
            self.channel.transport.abortConnection()

    def requestReceived(self, *line: bytes) -> None:  # noqa: N802 - Twisted's name
        """The body is there."""
        # The place is taken now, not with the head: a body that never ends must not hold one.
        if not self._is_refused and self._acquire is not None:
            try:
                self._release = self._acquire()
            except Unavailable as error:
                self._refuse(error)
        self._is_complete = True
        if self._is_refused:
            self.channel.loseConnection()
        else:
            super().requestReceived(*line)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802 - Twisted's name
        """The peer left."""
        # Otherwise Twisted would call it on a closed connection.
        if self._close_timer is not None and self._close_timer.active():
            self._close_timer.cancel()
        self._release_slot()
        super().connectionLost(reason)

    def handle_exception(self, exception: BaseException) -> None:
        """Abort an answer that will not be completed, so that nobody takes it for complete."""
        # Daphne would begin a second answer, fail, and never check on any application again.
        if self._response_started and self._is_connected:
            self.channel.transport.abortConnection()
        else:
            super().handle_exception(exception)

    def finish(self) -> None:
        """The answer was sent."""
        self._release_slot()
        super().finish()

    def _release_slot(self) -> None:
        if self._release is not None:
            self._release()

    def _check_size(self, size: int) -> None:
        try:
            limits.check_body_size(size, has_key=self._has_key)
        except BodyTooLarge as error:
            # A caller without anything that looks like a key is not worth a database query.
            if self._has_key or not endpoint.may_send_large_body(self._head):
                self._refuse(error)
            else:
                self._has_key = True  # until it turns out not to be one
                self._check_size(size)
                if not self._is_refused:
                    self.channel.transport.pauseProducing()
                    self._key_check = asyncio.ensure_future(self._check_key())

    async def _check_key(self) -> None:
        try:
            await check_credential(self._head)
        except MissionControlError as error:
            self._refuse(error)
        finally:
            # After a refusal too: the rest must be read to be thrown away.
            if self._is_connected:
                self.channel.transport.resumeProducing()

    @property
    def _is_connected(self) -> bool:
        return getattr(self, "channel", None) is not None

    def _refuse(self, error: MissionControlError) -> None:
        """Answer without the application, and throw away what still arrives."""
        # The application already has the request, and answers it.
        if self._is_complete or not self._is_connected:
            return
        self._is_refused = True
        self.requestHeaders.removeHeader(b"expect")  # otherwise Twisted would still answer 100
        response = endpoint.error_response(self._head, error)
        headers = [*response.all_headers, (b"connection", b"close")]
        self.channel.transport.write(raw_response(response.status, headers, response.body))
        # Some clients read only once they have written everything: closing at once would reset the
        # connection and lose our answer.
        self._close_timer = reactor.callLater(LINGER_S, self.channel.loseConnection)


async def check_credential(scope: dict[str, Any]) -> None:
    """Refuse a caller who announces a large body and has no valid credential.

    Raises:
        NotSignedIn: no key, token or session that is known.
        ProjectArchived: the key's project takes nothing in.
    """
    if endpoint.sends_agent_key(scope):
        await keys.holder_of(endpoint.bearer_token(scope))
        return

    def is_person() -> bool:
        # Any scheme other than `Bearer` finds no token either.
        kind, _, token = endpoint.header(scope, b"authorization").partition(" ")
        if kind:
            return find_personal_token(token.strip(), at=now()) is not None
        # A proxy may have spoken HTTPS to them: accept either name, since its key proves who it is.
        base, schemes = settings.SESSION_COOKIE_NAME, ("http", "https")
        names = {origin.cookie_name(base, scheme) for scheme in schemes}
        cookie = endpoint.header(scope, b"cookie")
        return any(sessions.user_of_cookie(cookie, name) for name in names)

    # In a thread: both query the database, which would block the event loop.
    if not await web_process.dispatcher.run(is_person):
        raise NotSignedIn


class SchemeAwareServer(server.Server):  # type: ignore[misc]  # Daphne has no types
    """Tells the application whether a socket is encrypted, which Daphne leaves out: the check of
    its Origin needs it.
    """

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Serve a request or a socket."""
        if scope["type"] == "websocket":
            is_secure = ISSLTransport.providedBy(protocol.transport)
            scope["scheme"] = "wss" if is_secure else "ws"
        return super().create_application(protocol, scope)


class OneWaySocket(ws_protocol.WebSocketProtocol):  # type: ignore[misc]  # Daphne has no types
    """A socket whose peer has nothing to say: what it sends is neither collected nor passed on.

    Daphne has one size limit for messages of both directions, and ours are large: the pieces of a
    stranger's message would add up in memory, and each of a flood of messages would wait for a
    consumer.
    """

    _is_writable = True
    """Whether its peer has taken what was sent."""
    _remaining_bytes = 0
    """Bytes that may still be sent before it has."""

    def connectionMade(self) -> None:  # noqa: N802 - Autobahn's name
        """Have a socket closed with a code instead of dropping the connection."""
        super().connectionMade()
        # A dropped connection gives a browser no code.
        self.failByDrop = False
        # Until now the request's channel is the one that is told whether the peer takes data.
        self.unregisterProducer()
        self.registerProducer(self, streaming=True)

    def pauseProducing(self) -> None:  # noqa: N802 - Twisted's name
        """Too much waits in memory for the peer to take it."""
        self._is_writable = False

    def resumeProducing(self) -> None:  # noqa: N802 - Twisted's name
        """The peer has taken everything."""
        self._is_writable = True

    def stopProducing(self) -> None:  # noqa: N802 - Twisted's name
        """The connection is lost; Autobahn is told as well."""

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:  # noqa: N802 - Daphne's
        """Send a message, unless the peer left too much of the earlier ones unread."""
        if self.state != self.STATE_OPEN:
            return  # it is closing, which the application does not know yet
        if self._is_writable:
            # A board's snapshot is a megabyte: it takes a while, and more happens meanwhile.
            self._remaining_bytes = len(content) + MAX_UNSENT_BYTES
        else:
            self._remaining_bytes -= len(content)
        if self._remaining_bytes < 0:
            # Drop what waits too: a close frame would only wait behind it.
            self.transport.abortConnection()
            return
        super().serverSend(content, binary)

    def onMessageFrameBegin(self, length: int) -> None:  # noqa: N802 - Autobahn's name
        """A piece of a message begins."""
        super().onMessageFrameBegin(length)
        if self.message_data_total_length > MAX_MESSAGE_BYTES and not self.failedByMe:
            self._max_message_size_exceeded(
                self.message_data_total_length, MAX_MESSAGE_BYTES, "nothing is read on this socket"
            )

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: N802, N803 - the same
        """A message has arrived, and nobody waits for it."""


def install() -> None:
    """Have Daphne make its requests of our class, and Twisted accept a few connections at a time.

    When a crowd connects, Twisted accepts hundreds of connections in one iteration of the event
    loop, and raises that number as it goes on: a person's request, read in the next iteration,
    would wait for all of them. Where Daphne opens the port itself, the kernel would keep only 50
    of that crowd waiting.
    """
    http_protocol.WebRequest = BoundedRequest
    http_protocol.HTTPFactory.protocol = QueuedChannel
    cli.CommandLineInterface.server_class = SchemeAwareServer
    ws_protocol.WebSocketFactory.protocol = OneWaySocket
    tcp.Port.numberAccepts = property(lambda _: ACCEPTS_PER_ITERATION, lambda *_: None)  # type: ignore[assignment]
    tcp.Port.backlog = property(lambda _: BACKLOG, lambda *_: None)  # type: ignore[assignment]
