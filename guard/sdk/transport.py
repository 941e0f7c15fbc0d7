"""HTTP/1.1 with keep-alive, from the standard library alone; no asyncio: hooks start often."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from guard.errors import ServerAway
from guard.sdk.flow import Request, Response
from guard.sdk.forking import register_after_fork

# Longest wait for a connection to a dead host.
CONNECT_S = 5.0

IDLE_CONNECTIONS = 4

# A held call may be silent for an hour. Routers forget a connection that is silent for some
# minutes, and a machine that went away sends nothing: so the system probes every half minute and
# closes the connection after the sixth probe without an answer. Names differ between systems.
KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPALIVE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Mission Control's address, and the agent key by which it knows us."""

    scheme: str
    host: str
    port: int
    prefix: str
    key: str

    @classmethod
    def of(cls, url: str, key: str) -> Endpoint:
        """Parse a URL.

        Raises:
            ValueError: It is not an http(s) address, or the key cannot be sent in a header.
        """
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{url!r} is no http:// or https:// address")
        # A line break in the key would begin another header.
        if not key.isascii() or not key.isprintable():
            raise ValueError("an agent key is plain printable text")
        return cls(
            parts.scheme,
            parts.hostname,
            parts.port or (443 if parts.scheme == "https" else 80),
            parts.path.rstrip("/"),
            key,
        )

    @property
    def authority(self) -> str:
        """Host and port as in the Host header; IPv6 in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def target(self, request: Request) -> str:
        """The request's path on the server."""
        return f"{self.prefix}/api/v1/{request.path}"

    def headers(self, request: Request) -> dict[str, str]:
        """Headers of every request: our key, and the format that we send."""
        return {
            "Authorization": f"Bearer {self.key}",
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "missioncontrol-guard",
            **request.headers,
        }


def encode_body(request: Request) -> bytes:
    """The body as bytes; what JSON cannot represent is written as text."""
    return b"" if request.body is None else json.dumps(request.body, default=str).encode()


def parse_response(status: int, raw: bytes, retry_after: str | None = None) -> Response:
    """Read a response; a proxy's HTML page becomes an answer without a body.

    `Retry-After` is read in seconds only, not as a date.
    """
    try:
        body: Any = json.loads(raw) if raw else None
    except (ValueError, RecursionError):
        body = None
    after = (retry_after or "").strip()
    retry_s = float(after) if after.isdecimal() else None
    return Response(status=status, body=body, retry_after_s=retry_s)


def enable_keepalive(sock: socket.socket) -> None:
    """Let the system probe a silent connection, to learn whether its other end is there."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE.items():
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class HttpTransport:
    """Keeps a few connections open and lends one to each request."""

    def __init__(self, url: str, key: str) -> None:
        self._endpoint = Endpoint.of(url, key)
        self._idle: list[http.client.HTTPConnection] = []
        self._keeps_idle, self._is_aborted = True, False
        self.reset_after_fork()
        register_after_fork(self)

    def reset_after_fork(self) -> None:
        """Leave the connections to the parent: sharing one, each would read the other's answers."""
        self._lock = threading.Lock()
        self._in_flight: set[http.client.HTTPConnection] = set()
        inherited, self._idle = self._idle, []
        for connection in inherited:
            connection.close()

    def send(self, request: Request) -> Response:
        """Send and read the whole answer.

        Raises:
            ServerAway: No answer within the request's time.
        """
        with self._lock:
            kept = self._idle.pop() if self._idle else None
        try:
            if kept is not None:
                try:
                    return self._exchange(kept, request)
                except (http.client.RemoteDisconnected, ConnectionError):
                    # The server closed an idle connection. All our requests may be repeated (turns
                    # have keys), so a new connection is tried.
                    kept.close()
                    if self._is_aborted:
                        raise ServerAway("it was given up") from None
            kind = _CONNECTIONS[self._endpoint.scheme]
            connection = kind(self._endpoint.host, self._endpoint.port, timeout=CONNECT_S)
            connection.connect()
            enable_keepalive(connection.sock)
            return self._exchange(connection, request)
        except (OSError, http.client.HTTPException) as error:
            raise ServerAway(str(error) or type(error).__name__) from error

    def close(self) -> None:
        """Close the idle connections; a request under way closes its own."""
        with self._lock:
            idle, self._idle, self._keeps_idle = self._idle, [], False
        for connection in idle:
            connection.close()

    def abort(self) -> None:
        """Close all connections for good, even those in use: nobody answers at their other end."""
        self.close()
        with self._lock:
            self._is_aborted, in_flight = True, list(self._in_flight)
        for connection in in_flight:
            if (sock := connection.sock) is not None:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _exchange(self, connection: http.client.HTTPConnection, request: Request) -> Response:
        with self._lock:
            self._in_flight.add(connection)
        try:
            if connection.sock is not None:
                # Connecting had its own time-out; this one may be as long as a held call.
                connection.sock.settimeout(request.timeout_s)
            target, headers = self._endpoint.target(request), self._endpoint.headers(request)
            connection.request(request.method, target, encode_body(request), headers)
            response = connection.getresponse()
            retry_after = response.getheader("Retry-After")
            answer = parse_response(response.status, response.read(), retry_after)
        except BaseException:
            # The rest of this answer would be read as the next one's.
            connection.close()
            raise
        finally:
            with self._lock:
                self._in_flight.discard(connection)
        with self._lock:
            # It closes its socket itself if the server said that it closes.
            room = (
                connection.sock is not None
                and len(self._idle) < IDLE_CONNECTIONS
                and self._keeps_idle
            )
            if room:
                self._idle.append(connection)
        if not room:
            connection.close()
        return answer


_CONNECTIONS: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}
