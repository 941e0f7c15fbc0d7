"""Waking who waits: at once in this process, by the broker in the others."""

import asyncio
from uuid import uuid4

import pytest

from missioncontrol import broadcast


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch):
    monkeypatch.setattr(broadcast, "_wakers", [])


def test_a_wake_is_heard_in_this_process_without_the_broker():
    heard, run = [], uuid4()
    broadcast.hear_wakes(heard.append)

    broadcast.wake([run])

    assert heard == [[run]]


def test_a_waker_whose_loop_is_closed_is_forgotten():
    heard, loop = [], asyncio.new_event_loop()
    loop.close()
    broadcast.hear_wakes(lambda runs: loop.call_soon_threadsafe(heard.append, runs))
    broadcast.hear_wakes(heard.append)

    broadcast.wake([uuid4()])
    broadcast.wake([uuid4()])

    assert len(heard) == 2
    assert len(broadcast._wakers) == 1
