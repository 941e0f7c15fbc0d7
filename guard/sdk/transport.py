"""HTTP/1.1 with keep-alive, from the standard library alone."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import ssl
import threading
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from guard.errors import ServerAway
from guard.sdk.exchange import Answer, Request

CONNECT_S = 5.0
"""A dead host costs its caller no more than this."""

IDLE_CONNECTIONS = 4


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where Mission Control is, and the agent key it knows us by."""

    scheme: str
    host: str
    port: int
    prefix: str
    key: str

    @classmethod
    def of(cls, url: str, key: str) -> Endpoint:
        """Take a URL apart.

        Raises:
            ValueError: It is no http(s) address, or the key is no header text.
        """
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{url!r} is no http:// or https:// address")
        if not key.isascii() or not key.isprintable():
            raise ValueError("an agent key is plain printable text")
        return cls(parts.scheme, parts.hostname, _port(parts), parts.path.rstrip("/"), key)

    @property
    def authority(self) -> str:
        """Host and port as the Host header says them; IPv6 in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def target(self, request: Request) -> str:
        """The request's path on the server."""
        return f"{self.prefix}/api/v1/{request.path}"

    def headers(self, request: Request) -> dict[str, str]:
        """Headers of every request: who we are and what we speak."""
        return {
            "Authorization": f"Bearer {self.key}",
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "missioncontrol-guard",
            **request.headers,
        }


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def payload(request: Request) -> bytes:
    """The body's bytes; what JSON cannot say is said as text."""
    return b"" if request.body is None else json.dumps(request.body, default=str).encode()


def answer_of(status: int, raw: bytes) -> Answer:
    """Read a response; a proxy's HTML page is an answer without a body."""
    try:
        body: Any = json.loads(raw) if raw else None
    except ValueError:
        body = None
    return Answer(status=status, body=body)


class HttpTransport:
    """Keeps a few connections open and lends one to each request."""

    def __init__(self, url: str, key: str) -> None:
        self._endpoint = Endpoint.of(url, key)
        self._idle: list[http.client.HTTPConnection] = []
        self._keeps = True
        self._lock = threading.Lock()

    def send(self, request: Request) -> Answer:
        """Send and read the whole answer.

        Raises:
            ServerAway: No answer within the request's time.
        """
        kept = self._borrow()
        if kept is not None:
            try:
                return self._exchange(kept, request)
            except (http.client.RemoteDisconnected, ConnectionError):
                # The server closed a connection we kept. Every call of ours may
                # be repeated (turns have keys), so a fresh one is tried.
                kept.close()
            except (OSError, http.client.HTTPException) as error:
                raise ServerAway(str(error) or type(error).__name__) from error
        try:
            return self._exchange(self._connect(), request)
        except (OSError, http.client.HTTPException) as error:
            raise ServerAway(str(error) or type(error).__name__) from error

    def close(self) -> None:
        """Close what is kept; a request that is under way closes its own."""
        with self._lock:
            idle, self._idle, self._keeps = self._idle, [], False
        for connection in idle:
            connection.close()

    def _exchange(self, connection: http.client.HTTPConnection, request: Request) -> Answer:
        try:
            if connection.sock is not None:
                connection.sock.settimeout(request.timeout_s)
            target, headers = self._endpoint.target(request), self._endpoint.headers(request)
            connection.request(request.method, target, payload(request), headers)
            response = connection.getresponse()
            answer = answer_of(response.status, response.read())
        except BaseException:
            connection.close()
            raise
        self._give_back(connection)
        return answer

    def _connect(self) -> http.client.HTTPConnection:
        kind = _CONNECTIONS[self._endpoint.scheme]
        connection = kind(self._endpoint.host, self._endpoint.port, timeout=CONNECT_S)
        connection.connect()
        return connection

    def _borrow(self) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            room = (
                connection.sock is not None and len(self._idle) < IDLE_CONNECTIONS and self._keeps
            )
            if room:
                self._idle.append(connection)
        if not room:
            connection.close()


_CONNECTIONS: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}


_NO_ANSWER = (OSError, EOFError, ValueError, LookupError, asyncio.LimitOverrunError)
"""No connection, a cut one, or bytes that are no HTTP."""


@dataclass(frozen=True, slots=True)
class _Stream:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class AsyncHttpTransport:
    """The same over asyncio streams: a held call is a socket, not a thread."""

    def __init__(self, url: str, key: str) -> None:
        self._endpoint = Endpoint.of(url, key)
        self._idle: list[_Stream] = []
        self._keeps = True

    async def send(self, request: Request) -> Answer:
        """Send and read the whole answer.

        Raises:
            ServerAway: No answer within the request's time.
        """
        if self._idle:
            try:
                return await self._exchange(self._idle.pop(), request)
            except (asyncio.IncompleteReadError, ConnectionError):
                pass  # a kept connection the server closed; see HttpTransport.send
            except _NO_ANSWER as error:
                raise ServerAway(str(error) or type(error).__name__) from error
        try:
            return await self._exchange(await self._connect(), request)
        except _NO_ANSWER as error:
            raise ServerAway(str(error) or type(error).__name__) from error

    async def close(self) -> None:
        """Close what is kept; a request that is under way closes its own."""
        idle, self._idle, self._keeps = self._idle, [], False
        for stream in idle:
            await _closed(stream)

    async def _connect(self) -> _Stream:
        secure = ssl.create_default_context() if self._endpoint.scheme == "https" else None
        opening = asyncio.open_connection(self._endpoint.host, self._endpoint.port, ssl=secure)
        return _Stream(*await asyncio.wait_for(opening, CONNECT_S))

    async def _exchange(self, stream: _Stream, request: Request) -> Answer:
        try:
            async with asyncio.timeout(request.timeout_s):
                stream.writer.write(self._head(request) + payload(request))
                await stream.writer.drain()
                status, headers = await _read_head(stream.reader)
                answer = answer_of(status, await _read_body(stream.reader, status, headers))
        except BaseException:
            await _closed(stream)
            raise
        ends = headers.get("connection", "").lower() == "close"
        if ends or not self._keeps or len(self._idle) >= IDLE_CONNECTIONS:
            await _closed(stream)
        else:
            self._idle.append(stream)
        return answer

    def _head(self, request: Request) -> bytes:
        headers = {
            "Host": self._endpoint.authority,
            "Content-Length": str(len(payload(request))),
            **self._endpoint.headers(request),
        }
        first = f"{request.method} {self._endpoint.target(request)} HTTP/1.1\r\n"
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{first}{lines}\r\n".encode("latin-1")


async def _closed(stream: _Stream) -> None:
    stream.writer.close()
    with contextlib.suppress(OSError):  # closed from the other side: closed is all we want
        await stream.writer.wait_closed()


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return int(first.split()[1]), headers


async def _read_body(reader: asyncio.StreamReader, status: int, headers: dict[str, str]) -> bytes:
    if status in {204, 304}:
        return b""
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _read_chunks(reader)
    if "content-length" in headers:
        return await reader.readexactly(int(headers["content-length"]))
    headers["connection"] = "close"  # its end is the connection's end
    return await reader.read()


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readuntil(b"\r\n")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return body
