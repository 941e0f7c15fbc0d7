"""Where a run's turns are sent to be judged: to one worker, while it answers."""

import asyncio
import base64
import json
import threading
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import OperationalError, connections
from redis.asyncio import Redis

from missioncontrol import broadcast
from missioncontrol.broadcast import subscriber
from missioncontrol.detection import dispatcher as module
from missioncontrol.detection.dispatcher import Dispatcher
from tests.build import a_call, a_run, put
from tests.installations import PATIENCE_S, wait_for

EVEN, ODD = settings.DETECT_QUEUES
ANY = settings.CELERY_TASK_DEFAULT_QUEUE


@pytest.fixture
async def broker():
    """Be the workers: take their tasks from the broker."""
    async with Redis.from_url(settings.BROKER_URL) as client:
        await client.delete(EVEN, ODD, ANY)
        yield client


@pytest.fixture
async def dispatcher():
    made = Dispatcher()
    yield made
    for task in made._tasks:
        task.cancel()
    for name in (broadcast.wake_channel(), made._channel):
        await subscriber.remove(name, made._receive)
    # What is still under way would open the connection again.
    await asyncio.gather(*made._background_tasks)
    await made._broker.aclose()
    for pool in (made._writers, made._readers, made._senders):
        # In each of its threads: every one has a connection of its own.
        all_there = threading.Barrier(pool._max_workers)
        for _ in range(pool._max_workers):
            pool.submit(lambda all_there=all_there: (all_there.wait(), connections.close_all()))
        pool.shutdown()


async def taken(broker, queue):
    """Wait for a queue's next dispatch; return its runs, its reply channel and its number."""
    _, message = await broker.brpop([queue], timeout=60)
    envelope = json.loads(message)
    is_encoded = envelope["properties"].get("body_encoding") == "base64"
    _, task, _ = json.loads(base64.b64decode(envelope["body"]) if is_encoded else envelope["body"])
    return {UUID(run) for run in task["runs"]}, task["reply_to"], task["number"]


def a_run_id(number):
    return UUID(int=number)


async def test_runs_are_divided_among_the_workers(broker, dispatcher):
    dispatcher.dispatch(a_run_id(2))
    dispatcher.dispatch(a_run_id(3))

    assert (await taken(broker, EVEN))[0] == {a_run_id(2)}
    assert (await taken(broker, ODD))[0] == {a_run_id(3)}


async def test_the_runs_of_a_tree_are_sent_to_one_worker(broker, dispatcher):
    for number in (1, 2, 3):
        dispatcher.dispatch(a_run_id(number), root=a_run_id(2))

    assert (await taken(broker, EVEN))[0] == {a_run_id(1), a_run_id(2), a_run_id(3)}
    assert not await broker.llen(ODD)


async def test_runs_that_arrive_while_a_worker_is_busy_are_sent_together(broker, dispatcher):
    dispatcher.dispatch(a_run_id(2))
    first, reply_to, number = await taken(broker, EVEN)
    for later in (4, 6, 2):
        dispatcher.dispatch(a_run_id(later))
    assert not await broker.llen(EVEN)

    broadcast.send_to_channel(reply_to, {"type": "judged", "ring": number, "runs": {}})

    assert first == {a_run_id(2)}
    assert (await taken(broker, EVEN))[0] == {a_run_id(2), a_run_id(4), a_run_id(6)}


@pytest.fixture
async def rested(broker, dispatcher):
    """A dispatcher that has been answered: nothing is under way."""
    dispatcher.dispatch(a_run_id(2))
    _, reply_to, number = await taken(broker, EVEN)
    woken = asyncio.Event()

    def note(_):
        woken.set()

    await subscriber.add(reply_to, note)
    broadcast.send_to_channel(reply_to, {"type": "judged", "ring": number, "runs": {}})
    await woken.wait()
    await subscriber.remove(reply_to, note)
    return dispatcher


async def test_turns_that_nobody_waits_for_are_batched(broker, rested):
    rested.dispatch(a_run_id(4))
    await asyncio.sleep(0)
    rested.dispatch(a_run_id(6))

    assert (await taken(broker, EVEN))[0] == {a_run_id(4), a_run_id(6)}


async def test_a_waiting_request_dispatches_the_whole_batch(broker, rested, monkeypatch):
    monkeypatch.setattr(module, "BATCH_DELAY_S", 3600)
    rested.dispatch(a_run_id(4))

    waiting = asyncio.create_task(rested.wait_for_verdict(a_run_id(6), obs=1, timeout_s=3600))

    assert (await taken(broker, EVEN))[0] == {a_run_id(4), a_run_id(6)}
    waiting.cancel()


async def test_requests_whose_turns_were_stored_together_are_judged_together(broker, rested):
    runs = [a_run_id(number) for number in (4, 6, 8)]

    waiting = [
        asyncio.create_task(rested.wait_for_verdict(run, obs=1, timeout_s=3600)) for run in runs
    ]

    assert (await taken(broker, EVEN))[0] == set(runs)
    for request in waiting:
        request.cancel()


@pytest.mark.django_db(transaction=True)
async def test_a_silent_worker_is_skipped(broker, dispatcher, project, monkeypatch):
    monkeypatch.setattr(module, "REPLY_TIMEOUT_S", 0.1)
    run = await sync_to_async(a_run)(project)
    await sync_to_async(put)(run, a_call("ls"))
    mine = settings.DETECT_QUEUES[run.id.int % 2]

    dispatcher.dispatch(run.id)
    await taken(broker, mine)

    assert (await taken(broker, ANY))[0] == {run.id}
    dispatcher.dispatch(run.id)
    assert (await taken(broker, ANY))[0] == {run.id}
    assert not await broker.llen(mine)


@pytest.mark.django_db(transaction=True)
async def test_a_reply_during_the_recovery_of_another_dispatch_does_no_harm(
    broker, dispatcher, project, monkeypatch
):
    monkeypatch.setattr(module, "REPLY_TIMEOUT_S", 0.1)
    run = await sync_to_async(a_run)(project)
    await sync_to_async(put)(run, a_call("ls"))
    may_read = threading.Event()
    for _ in range(2):
        dispatcher._readers.submit(may_read.wait)
    dispatcher.dispatch(a_run_id(2))
    dispatcher.dispatch(a_run_id(3))
    _, reply_to, _ = await taken(broker, EVEN)
    # Of two that are overdue the first is looked after.
    await sync_to_async(wait_for)(lambda: len(dispatcher._in_flight) == 1)

    (late,) = dispatcher._in_flight
    broadcast.send_to_channel(reply_to, {"type": "judged", "ring": late, "runs": {}})
    await sync_to_async(wait_for)(lambda: not dispatcher._in_flight)
    may_read.set()
    dispatcher.dispatch(run.id)

    assert (await taken(broker, ANY))[0] == {run.id}


async def test_a_sent_answer_is_recorded_once_the_database_is_back(monkeypatch):
    monkeypatch.setattr(module, "DATABASE_RETRY_EVERY_S", 0)
    faults = [OperationalError("the server is shutting down"), OperationalError("no route")]

    def note():
        if faults:
            raise faults.pop()
        return "noted"

    assert await Dispatcher().persist(note) == "noted"


async def test_a_sent_answer_is_recorded_although_its_request_was_cancelled(monkeypatch):
    monkeypatch.setattr(module, "DATABASE_RETRY_EVERY_S", 0)
    dispatcher = Dispatcher()
    is_asked, is_back, is_noted = (threading.Event() for _ in range(3))

    def note():
        is_asked.set()
        if not is_back.is_set():
            raise OperationalError("the server is shutting down")
        is_noted.set()

    answered = asyncio.create_task(dispatcher.persist(note))
    await asyncio.to_thread(is_asked.wait, PATIENCE_S)
    answered.cancel()
    await asyncio.wait([answered])
    is_back.set()

    assert await asyncio.to_thread(is_noted.wait, PATIENCE_S)
