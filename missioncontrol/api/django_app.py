"""Django behind ASGI: the whole chain of a request in one kept thread.

Django's own handler goes from the event loop to a fresh thread and back for every
synchronous middleware, and each such thread opens the database anew. Our middleware
and views are synchronous: one hop does, into a thread that keeps its connection. On a
busy server a tap reached its view in 11 ms instead of 18 to 22 (docs/measurements.md).
The thread stays, what a request sets does not: each runs in a copy of its own context.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.db import close_old_connections
from django.http import FileResponse

THREADS = 6


class DjangoApplication(ASGIHandler):
    """Answer what the thin endpoints do not."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._desk = ThreadPoolExecutor(THREADS, thread_name_prefix="django")

    async def run_get_response(self, request: Any) -> Any:
        """Run middleware and view in one of our threads."""
        begun = self._desk.submit(copy_context().run, self._respond, request)
        response = await _finished(begun)
        response._handler_class = self.__class__  # noqa: SLF001 - as Django's own does
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        return response

    def _respond(self, request: Any) -> Any:
        close_old_connections()
        try:
            return self.get_response(request)
        finally:
            close_old_connections()


async def _finished(begun: Future[Any]) -> Any:
    """Wait for a view; one whose client left is seen to its end before its body is closed."""
    try:
        return await asyncio.wrap_future(begun)
    except asyncio.CancelledError:
        if not begun.cancelled():
            await asyncio.wait([asyncio.wrap_future(begun)])
        raise
