"""Hearing the broker: confirmed before it counts, once a message, and again after an absence."""

import asyncio
import json

import pytest
from django.conf import settings
from redis.asyncio import Redis

from missioncontrol import broadcast
from missioncontrol.broadcast import CLIENT_NAME, Subscriber


@pytest.fixture
async def broker():
    async with Redis.from_url(settings.BROKER_URL) as client:
        yield client


@pytest.fixture
def name(request):
    return broadcast.channel("test", request.node.name)


async def count(broker, name):
    [(_, listeners)] = await broker.pubsub_numsub(name)
    return listeners


async def cut(broker):
    """Cut what this process hears by; others may use the same broker."""
    clients = await broker.client_list(_type="pubsub")
    for client in clients:
        if client["name"] == CLIENT_NAME:
            await broker.client_kill_filter(_id=client["id"])


async def until(claim):
    for _ in range(6000):
        if await claim():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


async def test_add_returns_once_the_broker_has_confirmed(broker, name):
    subscriber, received = Subscriber(), asyncio.Queue()

    await subscriber.add(name, received.put_nowait)

    assert await broker.publish(name, json.dumps({"n": 1})) == 1
    assert await received.get() == {"n": 1}
    await subscriber.remove(name, received.put_nowait)


async def test_a_message_that_is_not_json_does_not_end_the_subscription(broker, name):
    subscriber, received = Subscriber(), asyncio.Queue()
    await subscriber.add(name, received.put_nowait)

    await broker.publish(name, "{")
    await broker.publish(name, json.dumps({"n": 1}))

    assert await asyncio.wait_for(received.get(), 60) == {"n": 1}
    await subscriber.remove(name, received.put_nowait)


async def test_two_listeners_share_one_subscription_at_the_broker(broker, name):
    subscriber, one, two = Subscriber(), asyncio.Queue(), asyncio.Queue()
    await asyncio.gather(*(subscriber.add(name, queue.put_nowait) for queue in (one, two)))

    assert await broker.publish(name, json.dumps({"n": 1})) == 1

    assert await one.get() == await two.get() == {"n": 1}
    await subscriber.remove(name, one.put_nowait)
    assert await broker.publish(name, json.dumps({"n": 2})) == 1
    assert await two.get() == {"n": 2}
    assert one.empty()
    await subscriber.remove(name, two.put_nowait)


async def test_a_channel_without_listeners_is_unsubscribed(broker, name):
    subscriber, received = Subscriber(), asyncio.Queue()
    await subscriber.add(name, received.put_nowait)
    await subscriber.add(f"{name}2", received.put_nowait)

    await subscriber.remove(f"{name}2", received.put_nowait)

    await until(lambda: is_nobodys(broker, f"{name}2"))
    assert await count(broker, name) == 1
    await subscriber.remove(name, received.put_nowait)
    await until(lambda: is_nobodys(broker, name))


async def is_nobodys(broker, name):
    return not await count(broker, name)


@pytest.mark.parametrize("place", ["the same", "another"])
async def test_a_listener_added_as_the_last_one_leaves_receives_messages(broker, name, place):
    subscriber, gone, received = Subscriber(), asyncio.Queue(), asyncio.Queue()
    left, come = f"{name} the same", f"{name} {place}"
    await subscriber.add(left, gone.put_nowait)

    leaving = asyncio.create_task(subscriber.remove(left, gone.put_nowait))
    await asyncio.sleep(0)
    await subscriber.add(come, received.put_nowait)
    await leaving
    await broker.publish(come, json.dumps({"n": 1}))

    assert await received.get() == {"n": 1}
    await subscriber.remove(come, received.put_nowait)


@pytest.mark.parametrize("steps", range(30))
async def test_cancelling_during_the_connection_leaves_no_connection_behind(broker, name, steps):
    subscriber, received = Subscriber(), asyncio.Queue()
    connecting = asyncio.create_task(subscriber.add(name, received.put_nowait))
    for _ in range(steps):
        await asyncio.sleep(0)
    connecting.cancel()
    await asyncio.wait_for(subscriber.remove(name, received.put_nowait), 60)

    await subscriber.add(f"{name}2", received.put_nowait)

    assert await count(broker, f"{name}2") == 1
    await subscriber.remove(f"{name}2", received.put_nowait)


@pytest.mark.parametrize("steps", range(1, 8))
async def test_a_listener_cancelled_while_it_is_added_is_released(broker, name, steps):
    subscriber, received = Subscriber(), asyncio.Queue()
    await subscriber.add(name, received.put_nowait)
    adding = asyncio.create_task(subscriber.add(f"{name}2", received.put_nowait))
    for _ in range(steps):
        await asyncio.sleep(0)

    is_over = not adding.cancel()

    await asyncio.wait({adding})
    assert is_over or adding.cancelled()
    for left in (name, f"{name}2"):
        await subscriber.remove(left, received.put_nowait)


async def test_listeners_are_told_that_messages_may_be_lost(broker, name):
    subscriber, received, lost = Subscriber(), asyncio.Queue(), asyncio.Event()
    await subscriber.add(name, received.put_nowait, lost.set)
    assert not lost.is_set()

    await cut(broker)

    await asyncio.wait_for(lost.wait(), 60)
    await subscriber.remove(name, received.put_nowait)


async def test_it_receives_messages_again_after_its_connection_was_cut(broker, name, caplog):
    subscriber, received = Subscriber(), asyncio.Queue()
    await subscriber.add(name, received.put_nowait)

    await cut(broker)
    await until(lambda: is_best_source(broker, name))

    assert await received.get() == {"n": 1}
    assert "the broker cannot be heard" in caplog.text
    await subscriber.remove(name, received.put_nowait)


async def is_best_source(broker, name):
    return await broker.publish(name, json.dumps({"n": 1}))


async def test_a_failing_listener_does_not_keep_messages_from_the_others(broker, name):
    subscriber, received = Subscriber(), asyncio.Queue()

    def fail(message):
        raise LookupError("gone")

    for listener in (fail, received.put_nowait):
        await subscriber.add(name, listener)
    await broker.publish(name, json.dumps({"n": 1}))

    assert await received.get() == {"n": 1}
    for listener in (fail, received.put_nowait):
        await subscriber.remove(name, listener)
