"""An agent's turns, hook calls and telemetry, read and answered past Twisted's requests.

Twisted and Daphne take a head apart line by line and make a dozen objects of it: of a turn that
costs the event loop more than all we do with it. Here a head is read by one expression, if
it leaves no doubt; whatever else comes is left to Twisted, which decides what it means.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.conf import settings
from twisted.internet.interfaces import ISSLTransport

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
    """One request whose body is there, served by the application.

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

    def begin(self) -> None:
        """Serve it, beside the others."""
        task = asyncio.ensure_future(self._serve())
        # There Daphne finds whom to end when the server ends.
        self._server.connections[self] = {
            "connected": time.time(),
            "application_instance": task,
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
