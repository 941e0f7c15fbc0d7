"""What a flow asks of its driver: requests, waits and slow work; never a socket.

The protocol between a session and Mission Control is written once, as generators ("flows") that
yield steps and are sent the results. A synchronous and an asynchronous driver run the same flows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of the REST API; `path` is relative to `/api/v1/`."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # Time-out of the whole request; one that waits for a directive sets a longer one.
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """Status and parsed JSON; None where the body is empty or not JSON.

    `retry_after_s`: seconds until the server may be asked again, if it says so.
    """

    status: int
    body: Any = None
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
# Flows yield waits and blocking work as they yield requests: so one flow serves both sessions.
class Wait:
    """Wait this many seconds, then continue the flow."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingCall:
    """Run this function, which may block, off the event loop; send back what it returns."""

    function: Callable[[], Any]


Step = Request | Wait | BlockingCall
# The driver sends a `Response` for a `Request`, None for a `Wait`, the result for a
# `BlockingCall`.
Flow = Generator[Step, Any, T]


class Transport(Protocol):
    """Carries requests for a `Session`; replace it in a test.

    `send` raises `ServerAway` when no answer came, and may be called by several
    threads at once.
    """

    def send(self, request: Request) -> Response: ...

    def close(self) -> None: ...


class AsyncTransport(Protocol):
    """Carries requests for an `AsyncSession`."""

    async def send(self, request: Request) -> Response: ...

    async def close(self) -> None: ...
