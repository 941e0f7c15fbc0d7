"""Answers of any length in bounded memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import close_old_connections
from django.db.models import Model, QuerySet
from django.http import StreamingHttpResponse
from rest_framework.request import Request

M = TypeVar("M", bound=Model)

ROWS_AT_ONCE = 200
# A frame for each line would be more headers than text.
BYTES_AT_ONCE = 64 * 1024
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}


def pages_of(found: QuerySet[M], *, size: int = ROWS_AT_ONCE) -> Iterator[list[M]]:
    """Yield rows that sort by `id` or `seq`, page by page, with no cursor left open.

    What is added meanwhile moves nothing: each page begins behind the last row.
    """
    order = found.query.order_by[0]
    column, sign = str(order).lstrip("-"), "lt" if str(order).startswith("-") else "gt"
    # No cursor: SQLite's would keep a reading open for as long as the client takes to download.
    page = list(found[:size])
    while page:
        yield page
        last = getattr(page[-1], column)
        page = list(found.filter(**{f"{column}__{sign}": last})[:size])


def stream(
    request: Request, lines: Iterator[bytes], *, kind: str, name: str
) -> StreamingHttpResponse:
    """Answer lines as a file, as fast as they are taken.

    Under ASGI Django would first gather an ordinary iterator in memory.
    """
    parts = _gathered(lines)

    @sync_to_async
    def next_part() -> bytes | None:
        try:
            # With a default: a StopIteration cannot be raised into a future.
            return next(parts, None)
        finally:
            # The thread is this answer's own: a pool would never get back what it holds.
            close_old_connections()

    async def later() -> AsyncIterator[bytes]:
        while (part := await next_part()) is not None:
            yield part

    is_async = isinstance(request._request, ASGIRequest)  # noqa: SLF001 - what DRF wraps
    response = StreamingHttpResponse(later() if is_async else parts, content_type=TYPES[kind])
    response["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return response


def _gathered(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines in parts that are worth a frame each."""
    part = bytearray()
    for line in lines:
        part += line
        if len(part) >= BYTES_AT_ONCE:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)
