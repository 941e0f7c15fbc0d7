"""Django behind ASGI: all middleware and the view of a request run in one long-lived thread.

Django's own handler goes from the event loop to a new thread and back for every
synchronous middleware, and each such thread opens a database connection. Our middleware
and views are synchronous: one switch is enough, into a thread that keeps its connection. On a
busy server a tap reached its view in 11 ms instead of 18 to 22 (docs/measurements.md).
The thread lives on, but what a request sets does not: each runs in a copy of its own context.

Agents, people and probes have separate threads: however many agents wait, a person's
request and `/healthz` do not wait for them. When there are too many agents, they are told to
come again.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

from asgiref.sync import ThreadSensitiveContext
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.core.signals import request_started
from django.db import close_old_connections
from django.http import FileResponse
from django.urls import set_script_prefix

from missioncontrol.api import endpoint, problems
from missioncontrol.api.limits import RETRY_AFTER_S
from missioncontrol.errors import Unavailable

T = TypeVar("T")
# Threads for people's requests.
PEOPLE_THREADS = 6
# Agents open runs and ask for rules here; their turns take another path (`endpoint`).
AGENT_THREADS = 4
# How long an agent's request waits for a thread. Our SDK gives up after 10 s, and its next attempt
# would join those that wait.
MAX_AGENT_WAIT_S = 4.0
PROBE_PATH = "/healthz"


class RequestPool:
    """Threads for one kind of caller, for which nobody waits longer than is useful."""

    def __init__(self, name: str, threads: int, *, max_wait_s: float = math.inf) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._max_wait_s = max_wait_s

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Have a thread run `work` in the caller's context.

        The future raises Unavailable if no thread was free in time.
        """
        # A copy: the thread lives on, and what one request sets must not be there for the next.
        context, asked_at = copy_context(), time.monotonic()

        def begin() -> T:
            if time.monotonic() - asked_at > self._max_wait_s:
                raise Unavailable("The request waited too long.", wait_s=RETRY_AFTER_S)
            return context.run(work)

        return self._threads.submit(begin)


class DjangoApplication(ASGIHandler):
    """Answers the requests that the thin endpoints do not."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._agent_pool = RequestPool("django-agents", AGENT_THREADS, max_wait_s=MAX_AGENT_WAIT_S)
        self._people_pool = RequestPool("django", PEOPLE_THREADS)
        self._probe_pool = RequestPool("django-probes", 1)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request; if its client leaves, still run the view to its end.

        Django's own handler starts two threads per request, and blocks the event loop until the
        busy machine has started them: 300 to 500 ms in a crowd, for everybody.
        """
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with body:
            set_script_prefix(get_script_prefix(scope))
            request, refused = self.create_request(scope, body)
            if refused is not None:
                await self.send_response(refused, send)
                return
            serving = asyncio.ensure_future(self._serve(request, send))
            # After the body, the next message says that the client left.
            gone = asyncio.ensure_future(receive())
            try:
                await asyncio.wait({serving, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                gone.cancel()
                serving.cancel()  # has no effect if it is done
                with suppress(asyncio.CancelledError):
                    await serving

    async def _serve(self, request: Any, send: Any) -> None:
        response = await self.run_get_response(request)
        if not response.streaming:
            await self.send_response(response, send)
            return
        try:
            async with ThreadSensitiveContext():  # a streamed answer is made in its own thread
                await self.send_response(response, send)
        finally:
            # In a thread, not on the event loop: closing ends the database cursors, and blocks.
            self._people_pool.submit(response.close)

    async def run_get_response(self, request: Any) -> Any:
        """Run middleware and view in a thread for this kind of caller."""
        # Probes have their own: one that waited behind people would get a busy server restarted.
        pool = self._probe_pool if request.scope["path"] == PROBE_PATH else self._people_pool
        if endpoint.sends_agent_key(request.scope):
            pool = self._agent_pool

        def respond() -> Any:
            # As Django's handlers do; `request_finished` is sent by the answer's `close`.
            request_started.send(sender=self.__class__, scope=request.scope)
            try:
                response = self.get_response(request)
                if not response.streaming:
                    response.close()
                return response
            finally:
                # The thread lives on: the next request must not get a broken connection.
                close_old_connections()

        future = pool.submit(respond)
        try:
            response = await asyncio.wrap_future(future)
        except Unavailable as error:
            response = problems.problem_response(error)
        except asyncio.CancelledError:
            # The client left; the view must end before the body that it reads is closed.
            if not future.cancelled():
                await asyncio.wait([asyncio.wrap_future(future)])
            raise
        response._handler_class = self.__class__  # noqa: SLF001 - as Django's own does
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        return response
