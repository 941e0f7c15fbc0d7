"""The protocol of Codex's app-server: JSON-RPC without its version field; also for a daemon.

Since 0.169.0 the screen (`codex`) keeps its session in an app-server daemon, which a signal to the
screen does not end. The daemon listens on a socket of this machine, with one JSON-RPC message a
WebSocket frame, and any client of the same user may steer and interrupt a turn.
"""

from __future__ import annotations

import abc
import base64
import contextlib
import itertools
import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from guard.adapters.parsing import mapping, text
from guard.errors import GuardError
from guard.running.processes import calling_agent

CLIENT_INFO = {"name": "missioncontrol", "title": "Mission Control", "version": "1"}
APP_SERVER = "app-server"
SOCKET_SCHEME = "unix://"
DEFAULT_SOCKET = Path("app-server-control") / "app-server-control.sock"

ANSWER_TIMEOUT_S = 10.0

TEXT_FRAME, CLOSE_FRAME = 1, 8
# A frame's first length byte: the length itself follows, in 2 or 8 bytes (RFC 6455, 5.2).
LENGTH_IN_16_BITS, LENGTH_IN_64_BITS = 126, 127


class AppServerFailed(GuardError):
    """Codex's app-server refused, or did not answer."""

    code = "app_server_failed"


# The daemon has gone, speaks another protocol, or refuses.
DAEMON_ERRORS = (OSError, ValueError, AppServerFailed)


class AppServerClient(abc.ABC):
    """A conversation with an app-server; subclasses transport the messages."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)

    def initialize(self) -> None:
        """Introduce us to the server."""
        self.request("initialize", clientInfo=CLIENT_INFO)
        self._send({"method": "initialized"})

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request, and wait for the answer.

        Raises:
            AppServerFailed: It refused, has gone, or does not answer.
        """
        message = {"id": next(self._ids), "method": method, "params": params}
        answer = self._exchange(message)
        if "error" in answer:
            reason = mapping(answer["error"]).get("message", "no reason given")
            raise AppServerFailed(f"codex app-server refused {method}: {reason}")
        return dict(mapping(answer.get("result")))

    @abc.abstractmethod
    def _send(self, message: Mapping[str, Any]) -> None:
        """Send a message."""

    @abc.abstractmethod
    def _exchange(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a request, and return the message that answers it."""


def socket_of_daemon() -> Path | None:
    """Return the socket of the daemon that called our hook; None: it was not a daemon."""
    _, command = calling_agent("codex")
    address = next((word for word in command if word.startswith(SOCKET_SCHEME)), None)
    if APP_SERVER not in command or address is None:
        return None
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    path = Path(address.removeprefix(SOCKET_SCHEME) or home / DEFAULT_SOCKET)
    # Resolved: a socket's own address must be short, however long Codex's home is.
    return path.resolve() if path.exists() else None


def reach_session(body: Mapping[str, Any]) -> DaemonSession | None:
    """Return a hook body's session if its daemon can be reached."""
    path = socket_of_daemon()
    return DaemonSession(path, thread=text(body, "session_id")) if path else None


class DaemonSession:
    """One session in Codex's daemon. No connection is kept between two calls."""

    def __init__(self, path: Path, *, thread: str) -> None:
        self._path, self._thread = path, thread

    def stop(self) -> bool:
        """Interrupt the running turn; return whether the session is at rest."""
        with contextlib.suppress(*DAEMON_ERRORS), self._connect() as codex:
            turn = self._running_turn(codex)
            if turn:
                codex.request("turn/interrupt", threadId=self._thread, turnId=turn)
            return True
        return False

    def send_text(self, words: str) -> bool:
        """Put a text into the running turn, or begin a turn with it; True: it was taken."""
        given = [{"type": "text", "text": words}]
        with contextlib.suppress(*DAEMON_ERRORS), self._connect() as codex:
            turn = self._running_turn(codex)
            if turn:
                codex.request("turn/steer", threadId=self._thread, expectedTurnId=turn, input=given)
            else:
                codex.request("turn/start", threadId=self._thread, input=given)
            return True
        return False

    def _running_turn(self, codex: _WebSocketClient) -> str:
        listed = codex.request("thread/turns/list", threadId=self._thread, limit=1)
        newest = mapping(next(iter(listed.get("data") or ()), None))
        return text(newest, "id") if newest.get("status") == "inProgress" else ""

    @contextlib.contextmanager
    def _connect(self) -> Iterator[_WebSocketClient]:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(ANSWER_TIMEOUT_S)
            link.connect(str(self._path))
            with link.makefile("rwb") as stream:
                client = _WebSocketClient(stream)
                client.initialize()
                yield client


class _WebSocketClient(AppServerClient):
    """Messages over a WebSocket (RFC 6455), as a client: its frames are masked."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream
        key = base64.b64encode(os.urandom(16)).decode()
        head = (
            "GET / HTTP/1.1",
            "Host: localhost",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}",
        )
        stream.write(("\r\n".join(head) + "\r\n\r\n").encode())
        stream.flush()
        status = stream.readline()
        if b" 101 " not in status:
            raise ValueError(f"Codex's daemon speaks no WebSocket: {status!r}")
        # The other headers; the proof that no cache answered is not needed on a unix socket.
        while stream.readline().strip():
            pass

    def _exchange(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self._send(request)
        while True:
            # Messages to the person's screen may come in between.
            message = self._receive()
            if message.get("id") == request["id"] and "method" not in message:
                return message

    def _send(self, message: Mapping[str, Any]) -> None:
        data, mask = json.dumps(message).encode(), os.urandom(4)
        length = len(data)
        # The length in seven bits, or a mark and 16 or 64 bits (RFC 6455, 5.2).
        if length < LENGTH_IN_16_BITS:
            head = bytes([0x80 | length])
        elif length < 1 << 16:
            head = bytes([0x80 | LENGTH_IN_16_BITS]) + length.to_bytes(2, "big")
        else:
            head = bytes([0x80 | LENGTH_IN_64_BITS]) + length.to_bytes(8, "big")
        # A server must close the connection if a client's frame is not masked (RFC 6455, 5.1).
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))
        self._stream.write(bytes([0x80 | TEXT_FRAME]) + head + mask + masked)
        self._stream.flush()

    def _receive(self) -> Mapping[str, Any]:
        """Read the next message; control frames (such as a ping) are skipped."""
        data = b""
        while True:
            first, length = self._read_exactly(2)
            length &= 0x7F
            if length >= LENGTH_IN_16_BITS:
                length = int.from_bytes(
                    self._read_exactly(2 if length == LENGTH_IN_16_BITS else 8), "big"
                )
            part, kind = self._read_exactly(length), first & 0x0F
            if kind == CLOSE_FRAME:
                raise ConnectionResetError("Codex's daemon closed the conversation")
            # Control frames may come between the fragments of a message (RFC 6455, 5.4).
            if kind > TEXT_FRAME:
                continue
            data += part
            # The last fragment of a message.
            if first & 0x80:
                return mapping(json.loads(data))

    def _read_exactly(self, count: int) -> bytes:
        read: bytes = self._stream.read(count)
        if len(read) < count:
            raise ConnectionResetError("Codex's daemon has gone")
        return read
