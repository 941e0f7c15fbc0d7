"""`guard.watch` on coroutines and generators, and in the runs of both kinds of sessions."""

import asyncio
import threading

import pytest

import guard
from guard import AsyncSession
from tests.sdk.server import directive
from tests.sdk.watched_calls import add, outcomes

pytestmark = pytest.mark.usefixtures("environment")


@guard.watch
async def fetch(path):
    await asyncio.sleep(0)
    return f"text of {path}"


async def test_a_coroutine_function_stays_one(server):
    async with guard.watch("x") as session:
        assert await fetch("a.py") == "text of a.py"

    assert isinstance(session, AsyncSession)
    assert outcomes(server)[0]["result"] == "text of a.py"


async def test_a_plain_function_works_in_an_asyncio_run(server):
    async with guard.watch("x") as session:
        assert add(1) == 2
        session.unread.clear()

    assert len(server.requests_to("POST", "runs/")) == 1
    assert len(outcomes(server)) == 1


def escalated(_):
    answer = directive("proceed", "try another way")
    answer["messages"][0]["escalation"] = {"reason": "It did the same.", "repeats": 3}
    return (200, answer)


async def test_an_escalation_reaches_an_asyncio_run_through_a_plain_function(server):
    server.answer_turn = escalated
    escalations = []

    async with guard.watch("x", on_escalation=escalations.append):
        add(1)

        assert [one.reason for one in escalations] == ["It did the same."]


async def test_a_coroutine_callback_gets_an_escalation_through_a_plain_function(server):
    server.answer_turn = escalated
    escalations = asyncio.Queue()

    async with guard.watch("x", on_escalation=escalations.put):
        add(1)

        assert (await asyncio.wait_for(escalations.get(), 60)).reason == "It did the same."


async def test_a_failing_coroutine_callback_breaks_no_plain_function(server, caplog):
    server.answer_turn = escalated

    async def fail(_):
        raise ValueError("no stronger model")

    async with guard.watch("x", on_escalation=fail):
        assert add(1) == 2

    assert "on_escalation callback failed" in caplog.text


async def test_a_coroutine_function_works_in_a_plain_run(server):
    with guard.watch("x"):
        assert await fetch("a.py") == "text of a.py"

    assert len(outcomes(server)) == 1


async def test_a_held_coroutine_does_not_hold_others(server):
    tapped = threading.Event()
    server.answer_turn = lambda _: (200, directive("hold"))
    server.answer_poll = lambda _: (tapped.wait(60), (200, directive("proceed", version=2)))[1]
    async with guard.watch("x"):
        held = asyncio.create_task(fetch("a.py"))
        await asyncio.to_thread(server.await_polls)

        tapped.set()
        assert await held == "text of a.py"


async def test_an_asyncio_loop_is_a_run(server):
    @guard.watch("fix-auth")
    async def agent():
        return await asyncio.gather(fetch("a.py"), fetch("b.py"))

    assert await agent() == ["text of a.py", "text of b.py"]
    assert len(server.requests_to("POST", "runs/")) == 1
    assert len(outcomes(server)) == 2


async def test_an_error_of_a_coroutine_comes_out_as_it_was_raised(server):
    broken = OSError("gone")

    @guard.watch
    async def fail():
        raise broken

    async with guard.watch("x"):
        with pytest.raises(OSError, match="gone") as raised:
            await fail()

    assert raised.value is broken
    assert outcomes(server)[0]["error"] == "OSError: gone"


@guard.watch
def lines(n):
    got = []
    for number in range(n):
        sent = yield f"line {number}"
        got.append(sent)
    return got


def test_a_generator_is_one_call_to_its_end(server):
    with guard.watch("x"):
        assert list(lines(3)) == ["line 0", "line 1", "line 2"]

    (came,) = outcomes(server)
    assert '"items": 3' in came["result"]
    assert "line 2" in came["result"]


def test_a_generator_gets_what_is_sent_to_it(server):
    with guard.watch("x"):
        source = lines(2)
        next(source)
        source.send("first")
        with pytest.raises(StopIteration) as finished:
            source.send("second")

    assert finished.value.value == ["first", "second"]


def test_a_generator_closed_early_has_ended(server):
    closed = []

    @guard.watch
    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    with guard.watch("x"):
        source = endless()
        next(source)
        source.close()

    assert closed == [True]
    assert '"items": 1' in outcomes(server)[0]["result"]


def test_a_generator_that_is_not_run_gives_the_text(server):
    server.answer_turn = lambda _: (200, directive("proceed", "Read b.py.", call="skip"))

    with guard.watch("x"):
        assert list(lines(3)) == ["Read b.py."]


def test_a_loop_that_is_a_generator_is_one_run(server):
    @guard.watch("x")
    def agent():
        yield add(1)
        yield add(2)

    assert list(agent()) == [2, 3]
    assert len(server.requests_to("PATCH", "run-1/")) == 1


async def test_an_asynchronous_generator_is_one_call(server):
    @guard.watch
    async def stream(n):
        for number in range(n):
            yield number

    @guard.watch("x")
    async def agent():
        async for number in stream(3):
            yield number

    assert [number async for number in agent()] == [0, 1, 2]
    assert '"items": 3' in outcomes(server)[0]["result"]
