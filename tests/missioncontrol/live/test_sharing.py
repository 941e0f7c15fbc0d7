"""A reading is shared by those who asked before it began, and by nobody else."""

import asyncio

import pytest

from missioncontrol.live import CoalescedReads


class Reading:
    """Counts how often it is begun, and ends when it is told to."""

    def __init__(self):
        self.begun, self.may_end = 0, asyncio.Event()

    async def __call__(self):
        self.begun += 1
        number = self.begun
        await self.may_end.wait()
        return f"reading {number}"


async def settled():
    for _ in range(10):
        await asyncio.sleep(0)


async def test_two_hundred_simultaneous_requests_share_one_read():
    shared, reading = CoalescedReads(), Reading()
    asking = [asyncio.ensure_future(shared.read("board", reading)) for _ in range(200)]
    reading.may_end.set()

    assert set(await asyncio.gather(*asking)) == {"reading 1"}


async def test_a_request_during_a_read_gets_the_next_one():
    shared, reading = CoalescedReads(), Reading()
    first = asyncio.ensure_future(shared.read("board", reading))
    await settled()
    late = [asyncio.ensure_future(shared.read("board", reading)) for _ in range(3)]
    await settled()
    reading.may_end.set()

    assert await first == "reading 1"
    assert set(await asyncio.gather(*late)) == {"reading 2"}


async def test_boards_are_read_separately():
    shared, reading = CoalescedReads(), Reading()
    asking = [asyncio.ensure_future(shared.read(name, reading)) for name in ("one", "two")]
    reading.may_end.set()

    assert await asyncio.gather(*asking) == ["reading 1", "reading 2"]


async def test_a_failed_read_fails_for_all_and_is_retried_by_the_next():
    shared = CoalescedReads()

    async def fail():
        raise LookupError("gone")

    for _ in range(2):
        with pytest.raises(LookupError):
            await shared.read("board", fail)


async def test_a_disconnect_leaves_the_read_to_the_others():
    shared, reading = CoalescedReads(), Reading()
    gone, kept = (asyncio.ensure_future(shared.read("board", reading)) for _ in range(2))
    await settled()
    gone.cancel()
    reading.may_end.set()

    assert await kept == "reading 1"
