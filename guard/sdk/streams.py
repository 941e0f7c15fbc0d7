"""The transport of an `AsyncSession`: HTTP/1.1 over asyncio's streams."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from dataclasses import dataclass

from guard.errors import ServerAway
from guard.sdk.exchange import Answer, Request
from guard.sdk.transport import (
    CONNECT_S,
    IDLE_CONNECTIONS,
    Endpoint,
    answer_of,
    keep_alive,
    payload,
)

# No connection, a cut one, or bytes that are no HTTP.
_NO_ANSWER = (OSError, EOFError, ValueError, LookupError, asyncio.LimitOverrunError)


@dataclass(frozen=True, slots=True)
class _Stream:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class AsyncHttpTransport:
    """Keeps a few connections open, as `HttpTransport`: a held call is a socket, not a thread."""

    def __init__(self, url: str, key: str) -> None:
        self._endpoint = Endpoint.of(url, key)
        self._idle: dict[asyncio.AbstractEventLoop, list[_Stream]] = {}
        self._keeps = True

    async def send(self, request: Request) -> Answer:
        """Send and read the whole answer.

        Raises:
            ServerAway: No answer within the request's time.
        """
        idle = self._idle_here()
        try:
            if idle:
                # One that the server closed meanwhile is no answer; see HttpTransport.send.
                with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                    return await self._exchange(idle.pop(), request)
            secure = ssl.create_default_context() if self._endpoint.scheme == "https" else None
            host, port = self._endpoint.host, self._endpoint.port
            # No `wait_for`: before Python 3.12 it may forget that its caller was cancelled.
            async with asyncio.timeout(CONNECT_S):
                stream = _Stream(*await asyncio.open_connection(host, port, ssl=secure))
            keep_alive(stream.writer.get_extra_info("socket"))
            return await self._exchange(stream, request)
        except _NO_ANSWER as error:
            raise ServerAway(str(error) or type(error).__name__) from error

    async def close(self) -> None:
        """Close what is kept; a request that is under way closes its own."""
        idle, self._keeps = self._idle_here(), False
        while idle:
            await _closed(idle.pop())

    def _idle_here(self) -> list[_Stream]:
        """Give what is kept of the running event loop: no other can use it, or even close it."""
        for loop in tuple(self._idle):
            if loop.is_closed():
                self._idle.pop(loop, None)
        return self._idle.setdefault(asyncio.get_running_loop(), [])

    async def _exchange(self, stream: _Stream, request: Request) -> Answer:
        try:
            body = payload(request)
            asked = {
                "Host": self._endpoint.authority,
                "Content-Length": str(len(body)),
                **self._endpoint.headers(request),
            }
            target = self._endpoint.target(request)
            head = "".join(f"{name}: {value}\r\n" for name, value in asked.items())
            sent = f"{request.method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body
            # One time for all of it: an answer that drips is no answer.
            async with asyncio.timeout(request.timeout_s):
                stream.writer.write(sent)
                await stream.writer.drain()
                top = (await stream.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = top.split("\r\n")
                status = int(first.split()[1])
                pairs = (line.partition(":") for line in lines if line)
                headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
                # What ends a body, in the order in which the standard asks (RFC 9112, 6.3).
                if status in {204, 304}:
                    raw = b""
                elif "chunked" in headers.get("transfer-encoding", "").lower():
                    raw = await _read_chunks(stream.reader)
                elif "content-length" in headers:
                    raw = await stream.reader.readexactly(int(headers["content-length"]))
                else:
                    headers["connection"] = "close"  # its end is the connection's end
                    raw = await stream.reader.read()
                answer = answer_of(status, raw, headers.get("retry-after"))
        except BaseException:
            # Cancelled too: what is still to come on it would answer the next request.
            await _closed(stream)
            raise
        ends = headers.get("connection", "").lower() == "close"
        idle = self._idle_here()
        if ends or not self._keeps or len(idle) >= IDLE_CONNECTIONS:
            await _closed(stream)
        else:
            idle.append(stream)
        return answer


async def _closed(stream: _Stream) -> None:
    stream.writer.close()
    with contextlib.suppress(OSError):  # closed from the other side: closed is all we want
        await stream.writer.wait_closed()


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readuntil(b"\r\n")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return body
