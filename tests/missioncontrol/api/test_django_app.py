"""Django behind ASGI: one long-lived thread per request, cleaned up, nothing carried over."""

import asyncio
import threading
from types import ModuleType

import pytest
from django.db import connections
from django.http import HttpResponse
from django.urls import path
from django.utils import translation

from missioncontrol.api import django_app
from missioncontrol.api.django_app import AGENT_THREADS, PEOPLE_THREADS, DjangoApplication

LONG = 60


class Views:
    """Views that note who ran them, and wait where a test says so."""

    def __init__(self):
        self.threads, self.bodies, self.connections = [], [], []
        self.may_go = threading.Event()

    def note(self, request):
        self.threads.append(threading.current_thread())
        return HttpResponse("noted")

    def wait(self, request):
        self.threads.append(threading.current_thread())
        self.may_go.wait(LONG)
        self.bodies.append(request.body)
        return HttpResponse()

    def fail(self, request):
        mine = connections["default"]
        mine.ensure_connection()
        mine.errors_occurred, mine.close_at = True, 0
        self.connections.append(mine)
        raise LookupError("the view's own")

    def speak(self, request):
        language = translation.get_language()
        translation.activate("de")
        return HttpResponse(language)


@pytest.fixture
def views(settings):
    found = Views()
    urls = [
        path(f"{name}/", getattr(found, name), name=name)
        for name in ("note", "wait", "fail", "speak")
    ]
    settings.ROOT_URLCONF = ModuleType("urls_of_this_test")
    settings.ROOT_URLCONF.urlpatterns = urls
    settings.MIDDLEWARE = []
    yield found
    found.may_go.set()


class Client:
    """One request over ASGI, whose client may leave."""

    def __init__(self, app, name, *, body=b"", key=""):
        self.sent, self.left = [], asyncio.Event()
        self._messages = [{"type": "http.request", "body": body, "more_body": False}]
        scope = {
            "type": "http",
            "method": "POST",
            "path": f"/{name}/",
            "query_string": b"",
            "headers": [
                (b"host", b"testserver"),
                (b"authorization", f"Bearer {key}".encode()),
            ],
        }
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self):
        if self._messages:
            return self._messages.pop()
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        self.sent.append(message)

    async def answer(self):
        """Wait for the answer: its status and its text."""
        await asyncio.wait_for(self.task, LONG)
        return self.sent[0]["status"], b"".join(m.get("body", b"") for m in self.sent).decode()


async def until(claim):
    async with asyncio.timeout(LONG):
        while not claim():  # noqa: ASYNC110 - what a thread did
            await asyncio.sleep(0.01)


async def test_many_requests_share_a_few_long_lived_threads(views):
    app = DjangoApplication()

    answers = [await one.answer() for one in [Client(app, "note") for _ in range(40)]]

    assert answers == [(200, "noted")] * 40
    assert len(set(views.threads)) <= PEOPLE_THREADS
    assert all(thread.is_alive() for thread in views.threads)


@pytest.mark.django_db(transaction=True)
async def test_broken_connections_are_closed_even_if_a_view_fails(views):
    app = DjangoApplication()

    assert (await Client(app, "fail").answer())[0] == 500

    assert [one.errors_occurred for one in views.connections] == [False]
    assert (await Client(app, "note").answer())[0] == 200


async def test_context_set_by_a_view_does_not_reach_the_next_request(views):
    app = DjangoApplication()
    first = await Client(app, "speak").answer()

    assert await Client(app, "speak").answer() == first


async def test_a_view_keeps_its_request_body_after_the_client_left(views):
    client = Client(DjangoApplication(), "wait", body=b"a tap")
    await until(lambda: views.threads)

    client.left.set()
    await asyncio.sleep(0.1)
    views.may_go.set()
    await asyncio.wait_for(client.task, LONG)

    assert (views.bodies, client.sent) == ([b"a tap"], [])


async def test_a_request_whose_client_left_while_queued_never_starts(views):
    app = DjangoApplication()
    busy = [Client(app, "wait") for _ in range(PEOPLE_THREADS)]
    await until(lambda: len(views.threads) == PEOPLE_THREADS)
    waiting = Client(app, "note")
    await asyncio.sleep(0.1)

    waiting.left.set()
    await asyncio.wait_for(waiting.task, LONG)
    views.may_go.set()

    assert [(await one.answer())[0] for one in busy] == [200] * PEOPLE_THREADS
    assert len(views.threads) == PEOPLE_THREADS


async def test_people_and_probes_do_not_wait_for_agents(views):
    app = DjangoApplication()
    held = [Client(app, "wait", key="mc_1") for _ in range(3 * AGENT_THREADS)]
    await until(lambda: len(views.threads) == AGENT_THREADS)

    assert await Client(app, "note").answer() == (200, "noted")
    assert await Client(app, "note", key="mcu_ana").answer() == (200, "noted")

    views.may_go.set()
    assert [(await one.answer())[0] for one in held] == [200] * len(held)


async def test_an_agent_that_waited_too_long_gets_a_retry_after(views, monkeypatch):
    monkeypatch.setattr(django_app, "MAX_AGENT_WAIT_S", 0.0)
    late = Client(DjangoApplication(), "note", key="mc_1")

    assert (await late.answer())[0] == 503
    assert (b"Retry-After", b"2") in late.sent[0]["headers"]
    assert views.threads == []
