"""One exchange with an OpenAI-compatible chat endpoint, using only the standard library.

Cerebras, OpenAI, Ollama, vLLM, OpenRouter and a LiteLLM proxy all speak it. A
redirect is not followed but treated like any other answer, so the key goes only
to the address it was given for.
"""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from guard.errors import ModelFailed
from guard.turn import Usage

OK = 200
DONE = "[DONE]"
# An endpoint may send without end; what a model writes is much shorter.
MAX_ANSWER_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 65_536
_MAX_DETAIL_LENGTH = 2000
# By scheme: a key must not be sent to any other, such as `file`.
_CONNECTIONS: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """Where a model is served.

    Attributes:
        url: The API's base, as OpenAI's clients take it: "http://host:8000/v1".
        key: Sent as a bearer token, if set. Never shown.
    """

    url: str
    key: str = field(default="", repr=False)

    def check(self) -> None:
        """Check the endpoint's settings before anything is sent.

        Raises:
            ValueError: The URL is not an http(s) address, or the key is not valid header text.
        """
        parts = urlsplit(self.url)
        # `port` itself raises ValueError if it is not a number up to 65,535.
        if parts.scheme not in _CONNECTIONS or not parts.hostname or parts.port == 0:
            raise ValueError("not an http:// or https:// address")
        if parts.username is not None or parts.password is not None:
            raise ValueError("an address carries no password: say the key apart")
        if not self.key.isascii() or (self.key and not self.key.isprintable()):
            raise ValueError("a key is plain printable text")

    def post(
        self, body: Mapping[str, Any], *, timeout_s: float, max_bytes: int = MAX_ANSWER_BYTES
    ) -> Any:
        """Send one `chat/completions` request and return the parsed answer.

        Args:
            body: The request, as JSON.
            timeout_s: Seconds for the whole exchange, even if the body arrives slowly.
            max_bytes: Most bytes of the answer that are read.

        Raises:
            ModelFailed: No answer in time, not 200, too long, or not JSON.
        """
        try:
            self.check()
            deadline = time.monotonic() + timeout_s
            with self._send_request(body, deadline) as (response, sock):
                status = response.status
                raw = b"".join(_read_body(response, sock, deadline, max_bytes))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ModelFailed(str(error) or type(error).__name__) from error
        # Checked after the body is read: the body of an error says why.
        if status != OK:
            raise _refusal(status, raw)
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise ModelFailed("the endpoint answered no JSON") from error

    def stream(self, body: Mapping[str, Any], *, timeout_s: float) -> Iterator[Any]:
        """Send one request that asks for a stream; yield each chunk as it arrives.

        An endpoint that does not stream sends its whole answer as the only chunk.

        Args:
            body: The request, as JSON, with `stream` set.
            timeout_s: Seconds for the whole stream.

        Raises:
            ModelFailed: No answer in time, not 200, too long, cut off, or not JSON.
        """
        deadline = time.monotonic() + timeout_s
        try:
            self.check()
            with self._send_request(body, deadline) as (response, sock):
                pieces = _read_body(response, sock, deadline, MAX_ANSWER_BYTES)
                if response.status != OK:
                    raise _refusal(response.status, b"".join(pieces))
                if "event-stream" in (response.getheader("Content-Type") or ""):
                    yield from read_events(pieces)
                else:
                    yield json.loads(b"".join(pieces))
        except (OSError, http.client.HTTPException) as error:
            raise ModelFailed(str(error) or type(error).__name__) from error
        except (ValueError, RecursionError) as error:
            raise ModelFailed(f"the endpoint answered no JSON: {error}") from error

    @contextmanager
    def _send_request(
        self, body: Mapping[str, Any], deadline: float
    ) -> Iterator[tuple[http.client.HTTPResponse, socket.socket]]:
        parts = urlsplit(self.url)
        kind = _CONNECTIONS[parts.scheme]
        connection = kind(parts.hostname or "", parts.port, timeout=_seconds_left(deadline))
        path = f"{parts.path.rstrip('/')}/chat/completions"
        try:
            # Keep the socket: the connection drops its reference once the answer has begun.
            connection.connect()
            sock: socket.socket = connection.sock
            sock.settimeout(_seconds_left(deadline))
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self.key:
                headers["Authorization"] = f"Bearer {self.key}"
            connection.request("POST", path, json.dumps(body).encode(), headers)
            yield connection.getresponse(), sock
        finally:
            connection.close()


def _seconds_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def _refusal(status: int, raw: bytes) -> ModelFailed:
    # Only the beginning: a proxy's error page may be long, but says it there.
    detail = raw[:_MAX_DETAIL_LENGTH].decode(errors="replace")
    return ModelFailed(f"the endpoint answered {status}", status=status, detail=detail)


def _read_body(
    response: http.client.HTTPResponse, sock: socket.socket, deadline: float, max_bytes: int
) -> Iterator[bytes]:
    """Yield a body in pieces until the deadline: a socket's timeout restarts with each byte."""
    count = 0
    while True:
        sock.settimeout(_seconds_left(deadline))
        # Not `read`, which waits for a whole chunk, with the full timeout for each wait.
        piece = response.read1(_CHUNK_BYTES)
        if not piece:
            return
        count += len(piece)
        if count > max_bytes:
            raise ModelFailed("the endpoint's answer is too long")
        yield piece


def read_events(pieces: Iterable[bytes]) -> Iterator[Any]:
    r"""Yield the JSON of each server-sent event, up to `[DONE]` or the end.

    >>> list(read_events([b'data: {"a"', b": 1}\n\n: ping\n\ndata: [DONE]\n\n"]))
    [{'a': 1}]
    """
    data: list[str] = []
    for line in _split_lines(pieces):
        field, _, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
        # An empty line ends an event; a second one, or one after a comment, ends nothing.
        elif not line and data:
            text, data = "\n".join(data), []
            if text.strip() == DONE:
                return
            yield json.loads(text)
    # Some servers close the connection without an empty line after the last event.
    if data and (text := "\n".join(data)).strip() != DONE:
        yield json.loads(text)


def _split_lines(pieces: Iterable[bytes]) -> Iterator[str]:
    rest = b""
    for piece in pieces:
        # A piece may end within a character, so only whole lines are decoded.
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line.rstrip(b"\r").decode(errors="replace") for line in whole)
    if rest:
        yield rest.rstrip(b"\r").decode(errors="replace")


def usage_of(usage: Any) -> Usage:
    """Read OpenAI's counts, whose prompt tokens include the cached ones.

    >>> usage_of({"prompt_tokens": 10, "completion_tokens": 3,
    ...           "prompt_tokens_details": {"cached_tokens": 4}})
    Usage(input=6, cache_read=4, cache_write_5m=0, cache_write_1h=0, output=3, reasoning=0)
    """
    # Not `get(…, {})`: some endpoints send null for counts that they do not have.
    cached = int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    details = usage.get("completion_tokens_details") or {}
    return Usage(
        # An endpoint may not include the cached tokens in its prompt tokens: never go below zero.
        input=max(0, int(usage.get("prompt_tokens") or 0) - cached),
        cache_read=cached,
        output=int(usage.get("completion_tokens") or 0),
        reasoning=int(details.get("reasoning_tokens") or 0),
    )
