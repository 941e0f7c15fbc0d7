"""Agents' requests queue inside Daphne, and are read and answered past Twisted's requests.

Twisted and Daphne take a head apart line by line and make a dozen objects of it: of a turn that
costs the event loop more than all we do with it. Here a head is read by one expression, if
it leaves no doubt; whatever else comes is left to Twisted, which decides what it means.

Twisted also reads whatever is there in one turn of the event loop: of three thousand agents that
write at once it parsed, and refused, each before it came to a person's request among them.
Here an agent's request is put aside unread as soon as its first bytes show whose it is, and
the queue is gone through for a few milliseconds a turn. Whoever else calls is read at once.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import deque
from collections.abc import MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.conf import settings
from twisted.internet import tcp
from twisted.internet.abstract import FileDescriptor
from twisted.internet.interfaces import ISSLTransport
from twisted.internet.protocol import connectionDone
from twisted.web import http

from missioncontrol.accounts.tokens import AGENT_PREFIX
from missioncontrol.api import endpoint
from missioncontrol.errors import TooManyRequests

logger = logging.getLogger(__name__)

# As far as Twisted takes a head to reach (`HTTPChannel.totalHeadersSize`).
HEAD_BYTES = 16 * 1024
# Of a body; larger ones are read in pieces, with a look at the key in between.
MOST_BYTES = 64 * 1024
LENGTH_DIGITS = 9
# What `api.limits` counts as turns and telemetry. Names and values without signs that servers read
# differently.
_HEAD = re.compile(
    rb"POST (/api/v1/(?:runs/[0-9a-f-]{32,36}/turns|hooks/[a-z-]{1,40})/|/v1/[a-z]{1,20}/?)"
    rb" HTTP/1\.1\r\n"
    rb"((?:[A-Za-z0-9-]{1,64}:[ \t]*[!-~][ -~]*\r\n){1,64})\r\n"
)
# They say how a body or a connection is to be read, which is Twisted's.
_NOT_OURS = frozenset({b"transfer-encoding", b"expect", b"upgrade"})


@dataclass(frozen=True, slots=True)
class Head:
    """A request's head, and where its body stands in what was read."""

    path: bytes
    headers: list[tuple[bytes, bytes]]
    begin: int
    end: int


def read_head(data: bytes) -> Head | None:
    """Read the head of a request at the beginning of `data`; None: Twisted is to read it."""
    found = _HEAD.match(data)
    if found is None or found.end() > HEAD_BYTES:
        return None
    headers = []
    for line in found[2].split(b"\r\n")[:-1]:
        name, _, value = line.partition(b":")
        headers.append((name.lower(), value.strip(b" \t")))
    named = dict(headers)
    length = named.get(b"content-length", b"")
    if (
        # Which of two that are alike holds is read differently too.
        len(named) < len(headers)
        or not _NOT_OURS.isdisjoint(named)
        or named.get(b"connection", b"keep-alive").lower() != b"keep-alive"
        or not length.isdigit()
        # Python reads no number of thousands of digits.
        or len(length) > LENGTH_DIGITS
        or int(length) > min(MOST_BYTES, settings.BODY_LIMIT)
    ):
        return None
    return Head(found[1], headers, begin=found.end(), end=found.end() + int(length))


class AgentRequest:
    """One request whose body is there, served by the application from now on, beside the others.

    To Twisted's channel it is one of its requests, to Daphne's server a protocol.
    """

    def __init__(self, channel: Any, head: Head, body: bytes) -> None:
        self._channel = channel
        self._server = channel.factory.server
        self._body: bytes | None = body
        self._has_left = asyncio.Event()
        self._start: MutableMapping[str, Any] = {}
        self._answer: list[bytes] = []
        self._is_answered = False
        peer = channel.getPeer()
        self._scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "path": head.path.decode(),
            "raw_path": head.path,
            "root_path": self._server.root_path,
            "scheme": "https" if ISSLTransport.providedBy(channel.transport) else "http",
            "query_string": b"",
            "headers": head.headers,
            "client": [getattr(peer, "host", ""), getattr(peer, "port", 0)],
            "server": None,
        }
        # There Daphne finds whom to end when the server ends.
        self._server.connections[self] = {
            "connected": time.time(),
            "application_instance": asyncio.ensure_future(self._serve()),
        }

    async def _serve(self) -> None:
        try:
            try:
                endpoint.admit(self._scope)
            except TooManyRequests as error:
                await endpoint.refuse(error, self._scope, self._send)
            else:
                await self._server.application(self._scope, self._receive, self._send)
        except Exception:  # the application answers its own; this one would end unseen
            logger.exception("answering %s failed", self._scope["path"])
        finally:
            del self._server.connections[self]
            if not (self._is_answered or self._has_left.is_set()):
                self._channel.loseConnection()

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._has_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if self._is_answered or self._has_left.is_set():
            return
        if message["type"] == "http.response.start":
            self._start = message
            return
        self._answer.append(message.get("body", b""))
        if message.get("more_body"):
            return
        status, headers = self._start["status"], self._start["headers"]
        head = b"".join(b"%b: %b\r\n" % header for header in headers)
        line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
        self._is_answered = True
        self._channel.answer(self, b"".join((line, head, b"\r\n", *self._answer)))

    def connectionLost(self, _reason: Any) -> None:  # noqa: N802 - Twisted's name
        """The peer left."""
        self._has_left.set()

    def check_timeouts(self) -> None:
        """Daphne asks each connection; ours end with the wait that they asked for."""


# For agents' requests in one turn of the event loop; at least one is read.
TURN_S = 0.004
# What a request that is not whole has to bring within Twisted's minute to be given another, and
# a peer to take of an answer: no head is longer, and a body that is slower than 273 bytes a second
# would take hours.
PROGRESS_BYTES = HEAD_BYTES
_AGENTS = re.compile(
    rb"\nauthorization:[ \t]*bearer[ \t]+%b" % AGENT_PREFIX.encode(), re.IGNORECASE
)


class QueuedChannel(http.HTTPChannel):
    """A connection whose requests wait for their turn if an agent sends them."""

    transport: Any
    _unread: list[bytes] | None = None
    """What came while it waits; None: it does not."""
    _lacks = 0
    """Bytes of a body that it waits for before it stands in the queue again."""
    _untaken: Any = None
    """The request whose answer its peer has not taken yet."""
    _waits = 0
    """Bytes of that answer that waited for it when its minute began."""
    _brought = 0
    """Bytes that came within the minute that runs."""

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """Read on, or wait: then no more than one further piece is taken from the network."""
        self._brought += len(data)
        if self._unread is not None:
            self._unread.append(data)
            if not self._lacks:
                # Else a peer fills our memory while it waits for its turn.
                self.transport.pauseProducing()
            elif len(data) < self._lacks:
                self._lacks -= len(data)
            else:
                self._lacks = 0
                queue.put(self)
        # Only where a request begins: a body may hold any bytes.
        elif self.line_mode and _AGENTS.search(data, 0, HEAD_BYTES):
            self._unread = [data]
            queue.put(self)
        else:
            super().dataReceived(data)  # type: ignore[no-untyped-call]

    def read_on(self) -> None:
        """Read what waited, if the peer still does."""
        unread, self._unread = self._unread, None
        if unread is None:
            return
        # Paused when a second piece came.
        if len(unread) > 1:
            self.transport.resumeProducing()
        data = b"".join(unread)
        # What Twisted has begun to read is no request's beginning, whatever it looks like.
        head = None if self.requests or self._buffer else read_head(data)
        if head is None or len(data) > head.end:
            super().dataReceived(data)  # type: ignore[no-untyped-call]
        elif len(data) < head.end:
            # Many clients send the body apart. Once for all its pieces: it comes within a minute.
            self._begin_minute()
            self._unread, self._lacks = [data], head.end - len(data)
        else:
            # Served as Twisted does its own: what comes meanwhile waits for its answer.
            self._begin_minute()
            self.requests.append(AgentRequest(self, head, data[head.begin :]))
            # An empty line before a request is passed over once.
            self._HTTPChannel__first_line = 1
            self._handlingRequest = True
            self.setRawMode()  # type: ignore[no-untyped-call]

    def answer(self, request: AgentRequest, data: bytes) -> None:
        """Send an answer, and read what comes next."""
        transport = self.transport
        is_plain = isinstance(transport, tcp.Connection)
        # At once where nothing waits to be sent: else the event loop is asked when it can be.
        if is_plain and not (transport.dataBuffer or transport._tempDataBuffer):  # noqa: SLF001
            sent = transport.writeSomeData(data)
            data = data[sent:] if isinstance(sent, int) and sent > 0 else data
        if data:
            transport.write(data)
        self._begin_minute()
        self.requestDone(request)

    def requestDone(self, request: Any) -> None:  # noqa: N802 - Twisted's name
        """Go on to the next request, once the peer takes what it was answered."""
        # Who sends hundreds at once, and reads nothing, would have us keep all their answers.
        if self._waitingForTransport and self.persistent:
            self._untaken, self._waits = request, self._unsent()
            self.setTimeout(self._savedTimeOut or self.timeOut)  # type: ignore[no-untyped-call]
        else:
            super().requestDone(request)  # type: ignore[no-untyped-call]

    def resumeProducing(self) -> None:  # noqa: N802 - Twisted's name
        """The peer has taken what waited."""
        super().resumeProducing()  # type: ignore[no-untyped-call]
        if (request := self._untaken) is not None:
            self._untaken = None
            super().requestDone(request)  # type: ignore[no-untyped-call]

    def resetTimeout(self) -> None:  # noqa: N802 - Twisted's name
        """Something came: a request that begins has a minute, and another if it gets on."""
        # Twisted gives one for each byte: who sends one now and then would be served for ever.
        begins = self.line_mode and self._HTTPChannel__first_line and not self._buffer
        if begins or self._brought >= PROGRESS_BYTES:
            self._begin_minute()

    def _begin_minute(self) -> None:
        self._brought = 0
        super().resetTimeout()  # type: ignore[no-untyped-call]

    def timeoutConnection(self) -> None:  # noqa: N802 - Twisted's name
        """Nothing came for a while: that is no fault where a request waits for its answer."""
        # What was taken of the answer meanwhile: a large one takes a slow peer some minutes.
        before, self._waits = self._waits, self._unsent()
        is_taken = self._untaken is None or before - self._waits >= PROGRESS_BYTES
        # Looked at when the time is over: stopping and starting it costs each request more.
        if self._handlingRequest and is_taken:
            self.setTimeout(self.timeOut)  # type: ignore[no-untyped-call]
        else:
            super().timeoutConnection()  # type: ignore[no-untyped-call]

    def _unsent(self) -> int:
        # Below TLS, which passes on at once what it is given.
        plain = getattr(self.transport, "transport", self.transport)
        if not isinstance(plain, FileDescriptor):
            return 0
        return len(plain.dataBuffer) - plain.offset + plain._tempDataLen  # noqa: SLF001

    def connectionLost(self, reason: Any = connectionDone) -> None:  # noqa: N802 - Twisted's name
        """The peer left; what it sent last is not read any more."""
        self._unread, self._lacks, self._untaken = None, 0, None
        super().connectionLost(reason)  # type: ignore[no-untyped-call]


class AgentsQueue:
    """Connections whose agents' requests were not read yet."""

    def __init__(self) -> None:
        self._waiting: deque[QueuedChannel] = deque()

    def put(self, channel: QueuedChannel) -> None:
        """Have it read in one of the next turns of the event loop."""
        # One call for the queue, not one for each connection: a crowd's would fill the loop.
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._read_some)
        self._waiting.append(channel)

    def _read_some(self) -> None:
        until = time.monotonic() + TURN_S
        while self._waiting:
            channel = self._waiting.popleft()
            try:
                channel.read_on()
            # Ended, as the reactor ends whom Twisted fails on: the others' turn must still come.
            except Exception as error:  # noqa: BLE001
                logger.warning("what a caller sent could not be read: %s", error)
                channel.transport.abortConnection()
            if time.monotonic() >= until:
                break
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._read_some)


queue = AgentsQueue()
