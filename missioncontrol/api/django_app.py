"""Django behind ASGI: the whole chain of a request in one kept thread.

Django's own handler goes from the event loop to a fresh thread and back for every
synchronous middleware, and each such thread opens the database anew. Our middleware
and views are synchronous: one hop does, into a thread that keeps its connection. On a
busy server a tap reached its view in 11 ms instead of 18 to 22 (docs/measurements.md).
The thread stays, what a request sets does not: each runs in a copy of its own context.

Agents, people and probes have threads of their own: however many agents wait, a person's
request and `/healthz` wait for none of them. Too many agents are told to come again.
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
from missioncontrol.api.limits import COME_AGAIN_S
from missioncontrol.errors import Unavailable

T = TypeVar("T")
# For people's requests.
THREADS = 6
# Agents open runs and ask for rules there; their turns take another way (`endpoint`).
AGENTS_THREADS = 4
# For a thread. Our SDK gives up after 10 s, and would ask again on top of what waits.
AGENTS_WAIT_S = 4.0
PROBE = "/healthz"


class RequestPool:
    """Threads for one kind of caller, in which nobody waits longer than is of use."""

    def __init__(self, name: str, threads: int, *, patience_s: float = math.inf) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._patience_s = patience_s

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Have a thread do it in the caller's context.

        The future raises Unavailable if no thread was free in time.
        """
        # A copy: the thread stays, and what one request sets must not be there for the next.
        context, asked_at = copy_context(), time.monotonic()

        def begin() -> T:
            if time.monotonic() - asked_at > self._patience_s:
                raise Unavailable("The request waited too long.", wait_s=COME_AGAIN_S)
            return context.run(work)

        return self._threads.submit(begin)


class DjangoApplication(ASGIHandler):
    """Answer what the thin endpoints do not."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._agents = RequestPool("django-agents", AGENTS_THREADS, patience_s=AGENTS_WAIT_S)
        self._people = RequestPool("django", THREADS)
        self._probes = RequestPool("django-probes", 1)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request; if its client leaves, see the view to its end all the same.

        Django's own way starts two threads a request, and waits on the event loop until the
        busy machine has begun them: 300 to 500 ms in a crowd, for everybody.
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
            # After the body the next message is the client's leaving.
            gone = asyncio.ensure_future(receive())
            try:
                await asyncio.wait({serving, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                gone.cancel()
                serving.cancel()  # nothing happens to what is done
                with suppress(asyncio.CancelledError):
                    await serving

    async def _serve(self, request: Any, send: Any) -> None:
        response = await self.run_get_response(request)
        if not response.streaming:
            await self.send_response(response, send)
            return
        try:
            async with ThreadSensitiveContext():  # its parts are made in a thread of its own
                await self.send_response(response, send)
        finally:
            # Closing ends what reads the database, and blocks: in a thread, not on the event loop.
            self._people.submit(response.close)

    async def run_get_response(self, request: Any) -> Any:
        """Run middleware and view in a thread for this kind of caller."""
        # A probe that waited behind people's requests would have a busy server restarted.
        pool = self._probes if request.scope["path"] == PROBE else self._people
        if endpoint.bears_agent_key(request.scope):
            pool = self._agents

        def respond() -> Any:
            # As Django's handlers do; `request_finished` comes with the answer's `close`.
            request_started.send(sender=self.__class__, scope=request.scope)
            try:
                response = self.get_response(request)
                if not response.streaming:
                    response.close()
                return response
            finally:
                # The thread is kept: a connection that broke must not meet the next request.
                close_old_connections()

        begun = pool.submit(respond)
        try:
            response = await asyncio.wrap_future(begun)
        except Unavailable as error:
            response = problems.problem_response(error)
        except asyncio.CancelledError:
            # The client left; its view is seen to its end before the body it reads is closed.
            if not begun.cancelled():
                await asyncio.wait([asyncio.wrap_future(begun)])
            raise
        response._handler_class = self.__class__  # noqa: SLF001 - as Django's own does
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        return response
