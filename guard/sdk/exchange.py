"""What a flow asks of its driver: requests, waits, slow work; never a socket.

The protocol between a session and Mission Control is written once, as
generators ("flows") that yield steps and are sent their results;
a sync and an async driver run the same flows.
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
    # For all of a request: a directive that is waited for says more.
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Status and parsed JSON; None where the body is empty or no JSON.

    `retry_after_s`: when to come again, where the server says so.
    """

    status: int
    body: Any = None
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
# Time and threads are asked for, as requests are: so one flow serves both sessions.
class Wait:
    """Let this much time pass, then go on with the flow."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Do:
    """Run this, which may block, and send back what it returns: no event loop waits."""

    work: Callable[[], Any]


Step = Request | Wait | Do
# A `Request` is answered by an `Answer`, a `Wait` by None, a `Do` by its result.
Flow = Generator[Step, Any, T]


class Transport(Protocol):
    """Carries requests for a `Session`; replace it in a test.

    `send` raises `ServerAway` when no answer came, and may be called by several
    threads at once.
    """

    def send(self, request: Request) -> Answer: ...

    def close(self) -> None: ...


class AsyncTransport(Protocol):
    """Carries requests for an `AsyncSession`."""

    async def send(self, request: Request) -> Answer: ...

    async def close(self) -> None: ...
