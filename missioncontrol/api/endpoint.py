"""Thin ASGI endpoints: authentication, body limit, problem documents, and a wait
that ends when the caller hangs up. No Django in the path (DESIGN 3).
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from pydantic_core import to_json

from missioncontrol.api import keys, rpc_status
from missioncontrol.errors import (
    BodyTooLarge,
    InvalidRequest,
    MissionControlError,
    NotSignedIn,
    WrongMethod,
)
from missioncontrol.runs.cleaning import storable

logger = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BODY_LIMIT = 8 * 1024 * 1024
LONGEST_WAIT_S = 60.0
PROTOBUF = "application/x-protobuf"


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back; `body` is JSON bytes. `sent` runs after it left."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    content_type: bytes = b"application/json"
    sent: Callable[[], Awaitable[None]] | None = None


@dataclass(slots=True)
class Request:
    """One request of an agent whose key has been checked."""

    scope: Scope
    body: bytes
    project: UUID
    params: dict[str, str] = field(default_factory=dict)

    def headers(self, name: bytes) -> list[str]:
        """Return every value of a header, in order."""
        return [value.decode("latin1") for key, value in self.scope["headers"] if key == name]

    def query(self, name: str) -> str | None:
        """Return a query parameter's last value."""
        values = parse_qs(self.scope.get("query_string", b"").decode("latin1")).get(name)
        return values[-1] if values else None


Handler = Callable[[Request], Awaitable[Answer]]


async def serve(
    handler: Handler, params: dict[str, str], scope: Scope, receive: Receive, send: Send
) -> None:
    """Run one handler; stop waiting when the caller hangs up."""
    try:
        check_host(scope)
        project = await keys.project_of(_bearer(scope))
        body = await _read_body(scope, receive)
        answer = await _until_hang_up(handler(Request(scope, body, project, params)), receive)
    except MissionControlError as error:
        answer = _refusal(scope, error)
    except Exception:
        logger.exception("%s %s failed", scope["method"], scope["path"])
        answer = _refusal(scope, MissionControlError("The server failed; the log says how."))
    if answer is not None:
        await _send(send, answer)


async def refuse_method(scope: Scope, send: Send) -> None:
    """Answer 405 for an address that has another method."""
    await _send(send, problem(WrongMethod(f"{scope['method']} is not offered here.")))


def check_host(scope: Scope) -> None:
    """Refuse a Host header that is not ours, as Django does.

    Raises:
        InvalidRequest: the name is none of the accepted ones.
    """
    host, _ = split_domain_port(_header(scope, b"host"))
    if not host or not validate_host(host, settings.ALLOWED_HOSTS):
        raise InvalidRequest("This server does not answer to that Host; see --public-url.")


def problem(error: MissionControlError) -> Answer:
    """Return an error as application/problem+json (RFC 9457)."""
    body = to_json(document(error))
    return Answer(error.status, body, content_type=b"application/problem+json")


def _refusal(scope: Scope, error: MissionControlError) -> Answer:
    """Answer in the caller's words: who sends protobuf reads a google.rpc.Status."""
    if _header(scope, b"content-type") != PROTOBUF:
        return problem(error)
    body = rpc_status.status(error.status, str(error))
    return Answer(error.status, body, content_type=PROTOBUF.encode())


def document(error: MissionControlError) -> dict[str, Any]:
    """Return the members of an error's problem document."""
    return {
        "type": "about:blank",
        "title": error.title,
        "status": error.status,
        "code": error.code,
        "detail": str(error),
        **error.extra(),
    }


def read_json_object(body: bytes) -> dict[str, Any]:
    """Parse a body that must be a JSON object.

    Raises:
        InvalidRequest: it is not.
    """
    try:
        value = storable(json.loads(body))
    except (ValueError, RecursionError):
        raise InvalidRequest("The body is not JSON, or nested too deep.") from None
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be a JSON object.")
    return value


def wait_seconds(text: str | None) -> float:
    """Read a wait, at most a minute; nonsense is no wait."""
    try:
        seconds = float(text or 0)
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), LONGEST_WAIT_S) if math.isfinite(seconds) else 0.0


async def _until_hang_up(work: Awaitable[Answer], receive: Receive) -> Answer | None:
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_hang_up(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for leftover in (task, gone):
            leftover.cancel()


async def _hang_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _read_body(scope: Scope, receive: Receive) -> bytes:
    if int(_header(scope, b"content-length") or 0) > BODY_LIMIT:
        raise BodyTooLarge(f"At most {BODY_LIMIT} bytes a request; send fewer turns at once.")
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise InvalidRequest("The caller hung up before the body ended.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_LIMIT:
            raise BodyTooLarge(f"At most {BODY_LIMIT} bytes a request; send fewer turns at once.")
        more = message.get("more_body", False)
    return b"".join(parts)


async def _send(send: Send, answer: Answer) -> None:
    headers = [
        (b"content-type", answer.content_type),
        (b"content-length", str(len(answer.body)).encode()),
        (b"cache-control", b"no-store"),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
    if answer.sent is not None:
        await answer.sent()


def _bearer(scope: Scope) -> str:
    kind, _, token = _header(scope, b"authorization").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise NotSignedIn("Send the project's agent key as `Authorization: Bearer mc_…`.")
    return token.strip()


def _header(scope: Scope, name: bytes) -> str:
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin1")
            return text
    return ""
