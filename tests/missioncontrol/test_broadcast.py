"""Waking who waits: at once in this process, by the broker in the others."""

import asyncio
from uuid import uuid4

import pytest

from missioncontrol import broadcast
from missioncontrol.broadcast import Subscriber


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch):
    monkeypatch.setattr(broadcast, "_wakers", [])


def test_a_wake_reaches_this_process_without_the_broker():
    received, run = [], uuid4()
    broadcast.register_waker(received.append)

    broadcast.wake([run])

    assert received == [[run]]


def test_a_waker_whose_event_loop_is_closed_is_removed():
    received, loop = [], asyncio.new_event_loop()
    loop.close()
    broadcast.register_waker(lambda runs: loop.call_soon_threadsafe(received.append, runs))
    broadcast.register_waker(received.append)

    broadcast.wake([uuid4()])
    broadcast.wake([uuid4()])

    assert len(received) == 2
    assert len(broadcast._wakers) == 1


@pytest.mark.parametrize("sign", ["*", "?", "[a]", "]", "\\"])
async def test_a_prefix_may_contain_any_character(settings, sign):
    settings.BROKER_PREFIX = f"mc{sign}{uuid4().hex}"
    here = broadcast.channel("test", "here")
    subscriber, received = Subscriber(), asyncio.Queue()
    await subscriber.add(here, received.put_nowait)

    broadcast.send_to_groups(
        [here], lambda listened: {group: {"events": ["1"]} for group in listened}
    )

    assert await asyncio.wait_for(received.get(), 60) == {"events": ["1"]}
    await subscriber.remove(here, received.put_nowait)


async def test_frames_are_made_only_for_groups_with_listeners():
    here, nobody = (broadcast.channel("test", uuid4().hex) for _ in range(2))
    subscriber, received, made = Subscriber(), asyncio.Queue(), []
    await subscriber.add(here, received.put_nowait)

    def build(listened):
        made.append(set(listened))
        return {group: {"events": ["1"]} for group in listened}

    broadcast.send_to_groups([nobody], build)
    broadcast.send_to_groups([here, nobody], build)

    assert await received.get() == {"events": ["1"]}
    assert made == [{here}]
    await subscriber.remove(here, received.put_nowait)


async def test_a_frame_that_cannot_be_made_does_not_stop_the_others():
    here = broadcast.channel("test", uuid4().hex)
    subscriber, received = Subscriber(), asyncio.Queue()
    await subscriber.add(here, received.put_nowait)

    broadcast.send_to_groups([here], lambda _: {}[here])
    broadcast.send_to_groups([here], lambda _: {here: {"events": ["1"]}})

    assert await asyncio.wait_for(received.get(), 60) == {"events": ["1"]}
    await subscriber.remove(here, received.put_nowait)


async def test_queued_frames_are_sent_in_the_order_of_the_commits():
    here = broadcast.channel("test", uuid4().hex)
    subscriber, received = Subscriber(), asyncio.Queue()
    await subscriber.add(here, received.put_nowait)

    for number in range(20):
        broadcast.send_to_groups([here], lambda _, number=number: {here: {"n": number}})

    assert [(await received.get())["n"] for _ in range(20)] == [*range(20)]
    await subscriber.remove(here, received.put_nowait)
