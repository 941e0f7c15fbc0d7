"""Queue agents' requests inside Daphne, and read and answer them without Twisted's requests.

Twisted and Daphne parse a head line by line and make a dozen objects of it: for a turn, that
costs the event loop more than all our own work. Here one regular expression reads a head that is
unambiguous; any other head is left to Twisted, which decides what it means.

Twisted also reads all available input in one iteration of the event loop: when three thousand
agents wrote at once, it parsed and refused every one of their requests before it reached a
person's. Here an agent's request is put aside unread as soon as its first bytes show whose it
is, and the queue is worked off for a few milliseconds per iteration. Other requests are read at
once.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import deque
from collections.abc import Iterable, MutableMapping
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

# The longest head that Twisted accepts (`HTTPChannel.totalHeadersSize`).
MAX_HEAD_BYTES = 16 * 1024
# The longest body; larger ones are read in pieces, and the key is checked in between.
MAX_BODY_BYTES = 64 * 1024
MAX_LENGTH_DIGITS = 9
# The addresses that `api.limits` counts as turns and telemetry. Header names and values contain no
# characters that servers interpret differently.
_HEAD_PATTERN = re.compile(
    rb"POST (/api/v1/(?:runs/[0-9a-f-]{32,36}/turns|hooks/[a-z-]{1,40})/|/v1/[a-z]{1,20}/?)"
    rb" HTTP/1\.1\r\n"
    rb"((?:[A-Za-z0-9-]{1,64}:[ \t]*[!-~][ -~]*\r\n){1,64})\r\n"
)
# These change how a body or a connection is read, which is left to Twisted.
_TWISTED_ONLY_HEADERS = frozenset({b"transfer-encoding", b"expect", b"upgrade"})


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request's head, and where its body lies in the bytes read so far."""

    path: bytes
    headers: list[tuple[bytes, bytes]]
    body_start: int
    body_end: int


def read_head(data: bytes) -> RequestHead | None:
    """Read the head of a request at the beginning of `data`; None leaves it to Twisted."""
    match = _HEAD_PATTERN.match(data)
    if match is None or match.end() > MAX_HEAD_BYTES:
        return None
    headers = []
    for line in match[2].split(b"\r\n")[:-1]:
        name, _, value = line.partition(b":")
        headers.append((name.lower(), value.strip(b" \t")))
    named = dict(headers)
    length = named.get(b"content-length", b"")
    if (
        # Servers disagree on which of two equal headers counts.
        len(named) < len(headers)
        or not _TWISTED_ONLY_HEADERS.isdisjoint(named)
        or named.get(b"connection", b"keep-alive").lower() != b"keep-alive"
        or not length.isdigit()
        # Python refuses to parse a number of thousands of digits.
        or len(length) > MAX_LENGTH_DIGITS
        or int(length) > min(MAX_BODY_BYTES, settings.BODY_LIMIT)
    ):
        return None
    body_start = match.end()
    return RequestHead(match[1], headers, body_start=body_start, body_end=body_start + int(length))


def raw_response(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bytes:
    """Return a response as it is sent."""
    line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
    return b"".join((line, *(b"%b: %b\r\n" % header for header in headers), b"\r\n", body))


class AgentRequest:
    """One request whose body has arrived, and which the application serves beside the others.

    To Twisted's channel it is one of its requests, to Daphne's server a protocol.
    """

    def __init__(self, channel: Any, head: RequestHead, body: bytes) -> None:
        self._channel = channel
        self._server = channel.factory.server
        self._body: bytes | None = body
        self._disconnected = asyncio.Event()
        self._response_start: MutableMapping[str, Any] = {}
        self._body_parts: list[bytes] = []
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
        # Daphne looks here for the requests to end when the server ends.
        self._server.connections[self] = {
            "connected": time.time(),
            "application_instance": asyncio.ensure_future(self._serve()),
        }

    async def _serve(self) -> None:
        try:
            try:
                endpoint.apply_rate_limit(self._scope)
            except TooManyRequests as error:
                await endpoint.send_error(error, self._scope, self._send)
            else:
                await self._server.application(self._scope, self._receive, self._send)
        except Exception:  # the application answers its own errors; this one would go unseen
            logger.exception("answering %s failed", self._scope["path"])
        finally:
            del self._server.connections[self]
            if not (self._is_answered or self._disconnected.is_set()):
                self._channel.loseConnection()

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._disconnected.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if self._is_answered or self._disconnected.is_set():
            return
        if message["type"] == "http.response.start":
            self._response_start = message
            return
        self._body_parts.append(message.get("body", b""))
        if message.get("more_body"):
            return
        self._is_answered = True
        start, body = self._response_start, b"".join(self._body_parts)
        self._channel.send_response(self, raw_response(start["status"], start["headers"], body))

    def connectionLost(self, _reason: Any) -> None:  # noqa: N802 - Twisted's name
        """The peer left."""
        self._disconnected.set()

    def check_timeouts(self) -> None:
        """Do nothing: Daphne asks each connection, and ours end with the wait they asked for."""


# Time for agents' requests in one iteration of the event loop; at least one is read.
READ_SLICE_S = 0.004
# The bytes of an incomplete request that have to arrive within Twisted's minute to extend it, and
# that a peer has to take of an answer: no head is longer, and a body slower than 273 bytes a second
# would take hours.
PROGRESS_BYTES = MAX_HEAD_BYTES
_AGENT_KEY_PATTERN = re.compile(
    rb"\nauthorization:[ \t]*bearer[ \t]+%b" % AGENT_PREFIX.encode(), re.IGNORECASE
)


class QueuedChannel(http.HTTPChannel):
    """A connection whose requests wait for their turn if an agent sends them."""

    transport: Any
    _unread: list[bytes] | None = None
    """What arrived while the connection waits in the queue; None when it does not wait."""
    _missing_bytes = 0
    """Bytes of a body that are still missing before the connection joins the queue again."""
    _undelivered: Any = None
    """The request whose answer the peer has not taken yet."""
    _unsent_before = 0
    """Bytes of that answer that were unsent when its current minute began."""
    _received_bytes = 0
    """Bytes that arrived within the current minute."""

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """Read on, or wait, in which case at most one more piece is taken from the network."""
        self._received_bytes += len(data)
        if self._unread is not None:
            self._unread.append(data)
            if not self._missing_bytes:
                # Otherwise a peer could fill our memory while it waits for its turn.
                self.transport.pauseProducing()
            elif len(data) < self._missing_bytes:
                self._missing_bytes -= len(data)
            else:
                self._missing_bytes = 0
                queue.put(self)
        # Only at the beginning of a request: a body may contain any bytes.
        elif self.line_mode and _AGENT_KEY_PATTERN.search(data, 0, MAX_HEAD_BYTES):
            self._unread = [data]
            queue.put(self)
        else:
            super().dataReceived(data)  # type: ignore[no-untyped-call]

    def read_queued(self) -> None:
        """Read what waited, if the peer is still connected."""
        unread, self._unread = self._unread, None
        if unread is None:
            return
        # It was paused when a second piece arrived.
        if len(unread) > 1:
            self.transport.resumeProducing()
        data = b"".join(unread)
        # If Twisted has begun to read a request, this is not the beginning of one, whatever it
        # looks like.
        head = None if self.requests or self._buffer else read_head(data)
        if head is None or len(data) > head.body_end:
            super().dataReceived(data)  # type: ignore[no-untyped-call]
        elif len(data) < head.body_end:
            # Many clients send the body separately. It has one minute for all its pieces.
            self._restart_timeout()
            self._unread, self._missing_bytes = [data], head.body_end - len(data)
        else:
            # As with Twisted's own requests, what arrives meanwhile waits for the answer.
            self._restart_timeout()
            self.requests.append(AgentRequest(self, head, data[head.body_start :]))
            # One empty line before a request is skipped.
            self._HTTPChannel__first_line = 1
            self._handlingRequest = True
            self.setRawMode()  # type: ignore[no-untyped-call]

    def send_response(self, request: AgentRequest, data: bytes) -> None:
        """Send an answer, and go on to the next request."""
        transport = self.transport
        is_plain = isinstance(transport, tcp.Connection)
        # Write at once if nothing waits to be sent; otherwise the event loop has to be asked first.
        if is_plain and not (transport.dataBuffer or transport._tempDataBuffer):  # noqa: SLF001
            sent = transport.writeSomeData(data)
            data = data[sent:] if isinstance(sent, int) and sent > 0 else data
        if data:
            transport.write(data)
        self._restart_timeout()
        self.requestDone(request)

    def requestDone(self, request: Any) -> None:  # noqa: N802 - Twisted's name
        """Go on to the next request, once the peer takes its answer."""
        # Otherwise a peer that sends hundreds at once and reads nothing would make us keep all
        # answers.
        if self._waitingForTransport and self.persistent:
            self._undelivered, self._unsent_before = request, self._unsent_bytes()
            self.setTimeout(self._savedTimeOut or self.timeOut)  # type: ignore[no-untyped-call]
        else:
            super().requestDone(request)  # type: ignore[no-untyped-call]

    def resumeProducing(self) -> None:  # noqa: N802 - Twisted's name
        """The peer has taken what waited to be sent."""
        super().resumeProducing()  # type: ignore[no-untyped-call]
        if (request := self._undelivered) is not None:
            self._undelivered = None
            super().requestDone(request)  # type: ignore[no-untyped-call]

    def resetTimeout(self) -> None:  # noqa: N802 - Twisted's name
        """Something arrived: a new request gets a minute, and another one if it makes progress."""
        # Twisted extends it for every byte: a peer that sends one now and then would hold on for
        # ever.
        begins = self.line_mode and self._HTTPChannel__first_line and not self._buffer
        if begins or self._received_bytes >= PROGRESS_BYTES:
            self._restart_timeout()

    def _restart_timeout(self) -> None:
        self._received_bytes = 0
        super().resetTimeout()  # type: ignore[no-untyped-call]

    def timeoutConnection(self) -> None:  # noqa: N802 - Twisted's name
        """Nothing arrived for a while, which is no fault while a request waits for its answer."""
        # Count what the peer took of the answer: a large one takes a slow peer several minutes.
        before, self._unsent_before = self._unsent_before, self._unsent_bytes()
        is_taken = self._undelivered is None or before - self._unsent_before >= PROGRESS_BYTES
        # Checked when the time is over: stopping and restarting the timer costs each request more.
        if self._handlingRequest and is_taken:
            self.setTimeout(self.timeOut)  # type: ignore[no-untyped-call]
        else:
            super().timeoutConnection()  # type: ignore[no-untyped-call]

    def _unsent_bytes(self) -> int:
        # The transport below TLS, because TLS passes on at once whatever it is given.
        plain = getattr(self.transport, "transport", self.transport)
        if not isinstance(plain, FileDescriptor):
            return 0
        return len(plain.dataBuffer) - plain.offset + plain._tempDataLen  # noqa: SLF001

    def connectionLost(self, reason: Any = connectionDone) -> None:  # noqa: N802 - Twisted's name
        """The peer left; what it sent last is no longer read."""
        self._unread, self._missing_bytes, self._undelivered = None, 0, None
        super().connectionLost(reason)  # type: ignore[no-untyped-call]


class ReadQueue:
    """Connections whose agents' requests have not been read yet."""

    def __init__(self) -> None:
        self._waiting: deque[QueuedChannel] = deque()

    def put(self, channel: QueuedChannel) -> None:
        """Have a connection read in one of the next iterations of the event loop."""
        # One callback for the queue, not one for each connection: a crowd's would fill the loop.
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._read_batch)
        self._waiting.append(channel)

    def _read_batch(self) -> None:
        until = time.monotonic() + READ_SLICE_S
        while self._waiting:
            channel = self._waiting.popleft()
            try:
                channel.read_queued()
            # Abort it, as the reactor does when Twisted fails: the others must still get their
            # turn.
            except Exception as error:  # noqa: BLE001
                logger.warning("what a caller sent could not be read: %s", error)
                channel.transport.abortConnection()
            if time.monotonic() >= until:
                break
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._read_batch)


queue = ReadQueue()
