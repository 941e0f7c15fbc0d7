"""A server that is there and says when to come again is asked again then, for a while."""

import time

import pytest

from guard import AsyncSession, Session
from guard.hooks.forwarding import forward
from guard.sdk import background, responses
from guard.sdk.connections import USER_WIDE, Connection
from guard.sdk.flow import Response
from guard.sdk.responses import MAX_RETRY_WAIT_S, backoff, retry_delay
from tests.installations import wait_for
from tests.sdk.server import directive


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(responses, "MIN_RETRY_S", 0.01)


@pytest.fixture(params=[429, 503])
def busy(server, request):
    """A server that has no time for the first two turns."""
    answers = [(request.param, {"code": "busy"})] * 2
    server.answer_turn = lambda _: answers.pop() if answers else (200, directive())
    server.retry_after = "0"
    return server


def test_a_session_retries_a_busy_server(busy):
    with Session("fix-auth", url=busy.url, key="mc_k") as session:
        assert session.before("Bash", {"command": "ls"}).run

    assert len({turn.turn["key"] for turn in busy.requests_to("POST", "/turns/")}) == 1
    assert len(busy.requests_to("POST", "/turns/")) == 3


async def test_an_async_session_retries_a_busy_server(busy):
    async with AsyncSession("fix-auth", url=busy.url, key="mc_k") as session:
        assert (await session.before("Bash", {"command": "ls"})).run

    assert len(busy.requests_to("POST", "/turns/")) == 3


@pytest.mark.parametrize("retry_after", ["3600", "soon", None])
def test_a_session_does_not_wait_for_a_long_retry_after(server, retry_after):
    server.answer_turn, server.retry_after = lambda _: (429, {"code": "busy"}), retry_after

    with Session("fix-auth", url=server.url, key="mc_k", outbox="off") as session:
        assert session.before("Bash", {"command": "ls"}).run

    assert len(server.requests_to("POST", "/turns/")) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_its_background_thread_respects_retry_after(server, tmp_path, monkeypatch, status):
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 0.01)
    with Session("fix-auth", url=server.url, key="mc_k", outbox=tmp_path) as session:
        session.before("Bash", {"command": "ls"})
        # What it has to do at the beginning is done: it would find the server busy by itself.
        wait_for(lambda: server.requests_to("GET", "/rules/"))
        server.answer_turn, server.retry_after = lambda _: (status, {"code": "busy"}), "30"
        session.before("Bash", {"command": "pwd"})
        time.sleep(0.2)

        assert (
            len(server.requests_to("POST", "/runs/"))
            == len(server.requests_to("GET", "/rules/"))
            == 1
        )


def test_a_held_call_respects_retry_after(server):
    answers = [(503, {"code": "busy"}), (200, directive())]
    asked_at = []

    def answer(_):
        asked_at.append(time.monotonic())
        return answers.pop(0)

    server.answer_turn = lambda _: (200, directive("hold"))
    server.answer_poll, server.retry_after = answer, "1"

    with Session("fix-auth", url=server.url, key="mc_k") as session:
        assert session.before("Bash", {"command": "ls"}).run

    assert asked_at[1] - asked_at[0] >= 1


def test_a_forwarder_retries_a_busy_server(server):
    answers = [(503, {"code": "busy"})] * 2
    answer = server.answer
    server.answer = lambda asked: answers.pop() if answers else answer(asked)
    server.retry_after = "0"
    connection = Connection(client="codex", place=USER_WIDE, url=server.url, key="mc_k")

    assert forward(connection, {"hook_event_name": "Stop"}) == {"id": "run-1"}


def test_the_retry_delay_has_jitter_and_a_limit():
    answer = Response(status=503, retry_after_s=2.0)
    pauses = [retry_delay(answer, left_s=MAX_RETRY_WAIT_S) for _ in range(50)]

    assert all(2.0 <= pause <= 2.5 for pause in pauses)
    assert len(set(pauses)) > 1
    assert retry_delay(answer, left_s=1.9) is None
    assert retry_delay(Response(status=400, retry_after_s=2.0), left_s=60) is None


def test_callers_that_a_restart_cut_off_do_not_all_retry_at_once():
    pauses = [backoff(4.0) for _ in range(50)]

    assert all(2.0 <= pause <= 4.0 for pause in pauses)
    assert len(set(pauses)) == len(pauses)
    assert backoff(4.0, 8.0) >= 8.0


def test_a_message_is_marked_delivered_once_a_busy_server_has_taken_it(server):
    answers = [(503, {"code": "busy"})]
    answer, server.retry_after = server.answer, "0"
    server.answer = lambda asked: (
        answers.pop() if answers and asked.path.endswith("/delivered/") else answer(asked)
    )
    directives = [directive("proceed", "look in b.py")]
    server.answer_turn = lambda _: (200, directives.pop() if directives else directive())

    with Session("fix-auth", url=server.url, key="mc_k") as session:
        session.before("Bash", {"command": "ls"})
        assert not answers
        server.answer = answer
        wait_for(lambda: session.before("Bash", {"command": "pwd"}) and marked(server))

    assert marked(server) == ["/api/v1/runs/run-1/messages/m-look%20in%20b.py/delivered/"]


def marked(server):
    return [asked.path for asked in server.requests_to("POST", "/delivered/")]
