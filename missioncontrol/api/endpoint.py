"""Thin ASGI endpoints: authentication, body limit, problem documents, and a wait
that ends when the caller hangs up. Django is not involved.
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

from pydantic_core import ValidationError, to_json

from guard.json_depth import limit_depth
from missioncontrol import origin
from missioncontrol.accounts.models import AgentKey
from missioncontrol.accounts.selectors import KeyHolder
from missioncontrol.accounts.services import record_usage
from missioncontrol.accounts.tokens import AGENT_PREFIX, bearer_of, digest
from missioncontrol.api import keys, limits
from missioncontrol.api.problems import (
    DATABASE_ERRORS,
    database_problem,
    problem_document,
    rpc_status,
)
from missioncontrol.api.web_process import dispatcher
from missioncontrol.clock import now
from missioncontrol.errors import (
    InvalidRequest,
    MissionControlError,
    NotSignedIn,
)
from missioncontrol.runs.sanitizing import storable_json

logger = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AfterSend = Callable[[], Awaitable[None]]

MAX_WAIT_S = 60.0
# The message a handler is cancelled with when its caller hangs up; a server that ends gives none.
CLIENT_DISCONNECTED = "the caller hung up"
PROTOBUF = "application/x-protobuf"
GZIP_MAGIC = b"\x1f\x8b"
_AGENT_KEY_START = f"bearer {AGENT_PREFIX}"


@dataclass(frozen=True, slots=True)
class Response:
    """The answer; `body` is JSON bytes. `after_send` runs once it was sent."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    content_type: bytes = b"application/json"
    after_send: AfterSend | None = None

    @property
    def all_headers(self) -> list[tuple[bytes, bytes]]:
        """Its own headers, after those that every answer has."""
        return [
            (b"content-type", self.content_type),
            (b"content-length", str(len(self.body)).encode()),
            # What an agent is told holds for this moment only: no cache in between may repeat it.
            (b"cache-control", b"no-store"),
            *self.headers,
        ]


def json_response(body: Any, *, after_send: AfterSend | None = None) -> Response:
    """Answer a JSON value."""
    return Response(200, json.dumps(body).encode(), after_send=after_send)


@dataclass(slots=True)
class Request:
    """One request of an agent whose key has been checked."""

    scope: Scope
    body: bytes
    key: KeyHolder
    params: dict[str, str] = field(default_factory=dict)

    def headers(self, name: bytes) -> list[str]:
        """Return every value of a header, in order."""
        return [value.decode("latin1") for key, value in self.scope["headers"] if key == name]

    async def check_key(self) -> None:
        """Look the key up again: it may have been revoked while this request waited.

        Raises:
            NotSignedIn: it was revoked or has expired.
            ProjectArchived: its project takes nothing in.
        """
        await keys.holder_of(bearer_token(self.scope))

    async def record_key_use(self, run: UUID | None = None) -> None:
        """Note where the key is used from, once a minute; `run`: a run that it reaches."""
        use = keys.due_use(
            AgentKey,
            self.key.key,
            address=client_address(self.scope),
            user_agent=header(self.scope, b"user-agent"),
            run=run,
        )
        if use is not None:
            await dispatcher.run(lambda: record_usage(use, at=now()))

    def query(self, name: str) -> str | None:
        """Return a query parameter's last value."""
        # The last, as in Django's own requests.
        values = parse_qs(self.scope.get("query_string", b"").decode("latin1")).get(name)
        return values[-1] if values else None


Handler = Callable[[Request], Awaitable[Response]]


async def serve(
    handler: Handler, params: dict[str, str], scope: Scope, receive: Receive, send: Send
) -> None:
    """Run one handler; stop waiting when the caller hangs up."""
    try:
        # First: a Host that is not ours must not cost a database query.
        check_host(scope)
        token = bearer_token(scope)
        key = await keys.holder_of(token)
        # The key before the body: a stranger's body is not even collected.
        body = await _read_body(receive)
        limits.rate_limiter.count_authenticated(
            limits.kind_of(scope["method"], scope["path"]),
            len(body),
            key=digest(token),
            project=str(key.project),
        )
        request = Request(scope, body, key, params)
        await request.record_key_use()
        response = await _run_until_disconnect(handler(request), receive)
    except MissionControlError as error:
        response = error_response(scope, error)
    except DATABASE_ERRORS as fault:
        logger.warning("%s %s: %s", scope["method"], scope["path"], fault)
        response = error_response(scope, database_problem(fault))
    # The last resort: without an answer the agent would wait for its time-out.
    except Exception:
        logger.exception("%s %s failed", scope["method"], scope["path"])
        response = error_response(
            scope, MissionControlError("The server failed; the log says how.")
        )
    if response is not None:
        await _send_response(send, response)


ReleaseSlot = Callable[[], None]


def apply_rate_limit(scope: Scope) -> Callable[[], ReleaseSlot]:
    """Count a request by its head alone, before its body is read.

    Call the returned function once the body is there: it takes a slot, and returns the function
    that gives it back. It raises Unavailable if too many requests of its kind are being served. A
    request whose body is still arriving holds no slot: a stranger's body may never end.

    Raises:
        TooManyRequests: its address or its key has sent too many.
    """
    kind = limits.kind_of(scope["method"], scope["path"])
    if kind is None:
        return _acquire_nothing
    credential = header(scope, b"authorization") or header(scope, b"cookie")
    # A key or token is counted by the hash it is stored as, whatever whitespace surrounds it.
    is_bearer = credential.strip().lower().startswith("bearer ")
    key = digest(credential.strip()[len("bearer ") :].strip() if is_bearer else credential)
    limits.rate_limiter.count_request(kind, address=client_address(scope), key=key)
    return limits.run_openings.acquire if kind == "runs" else _acquire_nothing


def client_address(scope: Scope) -> str:
    """Return the caller's address, as far as the proxies in between are trusted."""
    # Behind a Unix socket a server reports no peer.
    peer = (scope.get("client") or ("", 0))[0]
    # Some proxies add a header line of their own, below what the caller made up.
    forwarded = (value for key, value in scope["headers"] if key == b"x-forwarded-for")
    return origin.resolve_client_address(peer, b",".join(forwarded).decode("latin1"))


def _acquire_nothing() -> ReleaseSlot:
    """Return what gives nothing back: most requests hold no slot."""
    return lambda: None


def limit_request(scope: Scope, receive: Receive, releases: list[ReleaseSlot]) -> Receive:
    """Return a `receive` that takes the request's slot once the body is there.

    It raises BodyTooLarge past what this caller may send. `releases` gets what gives the slot back.

    Raises:
        TooManyRequests: its address or its key has sent too many.
        BodyTooLarge: more was announced.
    """
    acquire = apply_rate_limit(scope)
    announced, has_key, size = header(scope, b"content-length"), may_send_large_body(scope), 0
    # Without a valid length, the bytes read are counted all the same.
    limits.check_body_size(int(announced) if announced.isdecimal() else 0, has_key=has_key)

    async def receive_counted() -> MutableMapping[str, Any]:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        limits.check_body_size(size, has_key=has_key)
        if message["type"] == "http.request" and not message.get("more_body") and not releases:
            releases.append(acquire())
        return message

    return receive_counted


async def send_error(error: MissionControlError, scope: Scope, send: Send) -> None:
    """Answer an error in the format that the caller reads."""
    await _send_response(send, error_response(scope, error))


def check_host(scope: Scope) -> None:
    """Refuse a Host header that is not ours, as Django does.

    Raises:
        InvalidRequest: the name is none of the accepted ones.
    """
    if not origin.is_our_host(header(scope, b"host")):
        raise InvalidRequest("This server does not serve that Host; see --public-url.")


def error_response(scope: Scope, error: MissionControlError) -> Response:
    """Answer in the format that the caller reads: for protobuf, a google.rpc.Status (OTLP)."""
    lines = tuple((name.encode(), value.encode()) for name, value in error.headers().items())
    if header(scope, b"content-type") == PROTOBUF:
        body = rpc_status(error.status, str(error))
        return Response(error.status, body, lines, content_type=PROTOBUF.encode())
    body = to_json(problem_document(error))
    return Response(error.status, body, lines, content_type=b"application/problem+json")


def read_json_object(body: bytes) -> dict[str, Any]:
    """Parse a body that must be a JSON object.

    Raises:
        InvalidRequest: it is not.
    """
    try:
        # PostgreSQL stores neither NUL nor half of a surrogate pair in a text: mended here, for
        # all.
        try:
            value = storable_json(json.loads(body))
        except RecursionError:
            # If it were refused, such a call would run unseen where its agent fails open.
            value = storable_json(json.loads(limit_depth(body)))
    except (ValueError, RecursionError):  # RecursionError: nested deep and never closed
        packed = body.startswith(GZIP_MAGIC)
        what = "gzip, which only telemetry may be. Send plain JSON." if packed else "not JSON."
        raise InvalidRequest(f"The body is {what}") from None
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be a JSON object.")
    return value


# pydantic speaks of Python's types; who sends JSON knows lists and objects.
JSON_MESSAGES = {
    "tuple_type": "Input should be a list",
    "dict_type": "Input should be an object",
    "dataclass_type": "Input should be an object",
    "uuid_type": "Input should be a valid UUID",
    "decimal_type": "Input should be a number",
}
# What it puts behind the name of a field that may be of several types.
UNION_MEMBERS = {"uuid", "str", "dict[str,any]"}


def first_fault(error: ValidationError) -> tuple[str, str, str]:
    """Return where a body is wrong first (empty: as a whole), how in words, and the kind of fault.

    One fault at a time, and without the input, which may be a secret.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"] if part not in UNION_MEMBERS)
    return where, JSON_MESSAGES.get(first["type"], first["msg"]), first["type"]


def read_wait_s(text: str | None) -> float:
    """Read a wait in seconds, at most a minute; an invalid value is no wait."""
    try:
        seconds = float(text or 0)
    except ValueError:
        return 0.0
    # `float` also reads "nan", for which min and max return whichever argument stands first.
    return min(max(seconds, 0.0), MAX_WAIT_S) if math.isfinite(seconds) else 0.0


async def _run_until_disconnect(work: Awaitable[Response], receive: Receive) -> Response | None:
    """Await some work, and cancel it when its caller hangs up; None if it did."""
    task = asyncio.current_task()

    async def cancel_on_disconnect() -> None:
        # The body has arrived: only the end of the connection can still come.
        while (await receive())["type"] != "http.disconnect":
            pass
        if task is not None:
            task.cancel(CLIENT_DISCONNECTED)

    listening = asyncio.ensure_future(cancel_on_disconnect())
    try:
        return await work
    except asyncio.CancelledError:
        if task is not None and listening.done() and not listening.cancelled():
            # This cancellation was ours and is handled: a time-out further up must not take it for
            # its own.
            task.uncancel()
            return None
        raise
    finally:
        listening.cancel()


async def _read_body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise InvalidRequest("The connection ended before the whole body arrived.")
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


async def _send_response(send: Send, response: Response) -> None:
    status, headers = response.status, response.all_headers
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})
    # Only after it was sent: an answer that never left must not be noted as delivered.
    if response.after_send is not None:
        await response.after_send()


def bearer_token(scope: Scope) -> str:
    """Return the secret of an `Authorization: Bearer` header.

    Raises:
        NotSignedIn: there is none.
    """
    token = bearer_of(header(scope, b"authorization"))
    if not token:
        raise NotSignedIn("Send the project's agent key as `Authorization: Bearer mc_…`.")
    return token


def sends_agent_key(scope: Scope) -> bool:
    """Say whether the caller presents itself as an agent; its key is not checked yet."""
    # By its beginning alone: this is asked of every request before anything is looked up.
    return header(scope, b"authorization")[: len(_AGENT_KEY_START)].lower() == _AGENT_KEY_START


def may_send_large_body(scope: Scope) -> bool:
    """Say whether the caller presents itself as an agent, or as a person who uploads a file."""
    is_upload = scope["method"] == "POST" and limits.UPLOAD_PATHS.match(scope["path"])
    credential = header(scope, b"authorization") or header(scope, b"cookie")
    return sends_agent_key(scope) or bool(is_upload and credential)


def header(scope: Scope, name: bytes) -> str:
    """Return the first value of a header; an empty text if there is none."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin1")
            return text
    return ""
