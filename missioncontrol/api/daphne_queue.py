"""Agents' requests queue inside Daphne; whoever else calls is read at once.

Twisted reads whatever is there in one turn of the event loop: of three thousand agents that
write at once it parsed, and refused, each before it came to a person's request among them.
Here an agent's request is put aside unread as soon as its first bytes show whose it is, and
the queue is gone through for a few milliseconds a turn.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import deque
from typing import Any

from twisted.internet import tcp
from twisted.internet.abstract import FileDescriptor
from twisted.internet.protocol import connectionDone
from twisted.web import http

from missioncontrol.accounts.tokens import AGENT_PREFIX
from missioncontrol.api.agent_requests import HEAD_BYTES, AgentRequest, read_head

logger = logging.getLogger(__name__)

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
            request = AgentRequest(self, head, data[head.begin :])
            self.requests.append(request)
            # An empty line before a request is passed over once.
            self._HTTPChannel__first_line = 1
            self._handlingRequest = True
            self.setRawMode()  # type: ignore[no-untyped-call]
            request.begin()

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
        # Looked at when the time is over: stopping and starting it costs each request more.
        if self._handlingRequest and (self._untaken is None or self._is_being_taken()):
            self.setTimeout(self.timeOut)  # type: ignore[no-untyped-call]
        else:
            super().timeoutConnection()  # type: ignore[no-untyped-call]

    def _is_being_taken(self) -> bool:
        """Say whether the answer gets on; a large one takes a slow peer some minutes."""
        before, self._waits = self._waits, self._unsent()
        return before - self._waits >= PROGRESS_BYTES

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
