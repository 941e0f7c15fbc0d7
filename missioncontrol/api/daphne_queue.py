"""Agents' requests queue inside Daphne; whoever else calls is read at once.

Twisted reads whatever is there in one turn of the event loop: of three thousand agents that
write at once it parsed, and refused, each before it came to a person's request among them.
Here an agent's request is put aside unread as soon as its first bytes show whose it is, and
the queue is gone through for a few milliseconds a turn.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from typing import Any

from twisted.internet.protocol import connectionDone
from twisted.web import http

from missioncontrol.accounts.tokens import AGENT_PREFIX

# For agents' requests in one turn of the event loop; at least one is read.
TURN_S = 0.004
# As far as Twisted takes a head to reach (`HTTPChannel.totalHeadersSize`).
HEAD_BYTES = 16 * 1024
_AGENTS = re.compile(
    rb"\nauthorization:[ \t]*bearer[ \t]+%b" % AGENT_PREFIX.encode(), re.IGNORECASE
)


class QueuedChannel(http.HTTPChannel):
    """A connection whose requests wait for their turn if an agent sends them."""

    transport: Any
    _unread: list[bytes] | None = None
    """What came while it waits; None: it does not."""

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """Read on, or wait: then no more than one further piece is taken from the network."""
        if self._unread is not None:
            self._unread.append(data)
            # Else a peer fills our memory while it waits for its turn.
            self.transport.pauseProducing()
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
        super().dataReceived(b"".join(unread))  # type: ignore[no-untyped-call]

    def connectionLost(self, reason: Any = connectionDone) -> None:  # noqa: N802 - Twisted's name
        """The peer left; what it sent last is not read any more."""
        self._unread = None
        super().connectionLost(reason)  # type: ignore[no-untyped-call]


class AgentsQueue:
    """Connections whose agents' requests were not read yet."""

    def __init__(self) -> None:
        self._waiting: deque[QueuedChannel] = deque()

    def put(self, channel: QueuedChannel) -> None:
        """Have it read in one of the next turns of the event loop."""
        # One call for the queue, not one for each connection: a crowd's would fill the loop.
        if not self._waiting:
            self._read_later()
        self._waiting.append(channel)

    def _read_later(self) -> None:
        asyncio.get_running_loop().call_soon(self._read_some)

    def _read_some(self) -> None:
        until = time.monotonic() + TURN_S
        self._waiting.popleft().read_on()
        while self._waiting and time.monotonic() < until:
            self._waiting.popleft().read_on()
        if self._waiting:
            self._read_later()


queue = AgentsQueue()
