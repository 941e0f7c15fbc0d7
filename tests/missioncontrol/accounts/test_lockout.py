"""Who guesses waits longer each time."""

import pytest

from missioncontrol.accounts import lockout
from missioncontrol.accounts.lockout import FREE, Lockout
from missioncontrol.errors import TooManyRequests


class Clock:
    def __init__(self):
        self.at = 1000.0

    def __call__(self):
        return self.at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lock(clock):
    return Lockout(clock=clock)


def wait_of(lock, account="ana", address="192.0.2.1"):
    with pytest.raises(TooManyRequests) as refused:
        lock.begin(account, address)
    return refused.value.wait_s


def test_the_first_tries_are_free(lock):
    assert [lock.begin("ana", "192.0.2.1") for _ in range(FREE)] == [1, 2, 3, 4, 5]


def test_each_further_one_takes_twice_as_long_up_to_a_quarter_of_an_hour(lock, clock):
    for _ in range(FREE):
        lock.begin("ana", "192.0.2.1")
    waits = []

    for _ in range(12):
        waits.append(wait_of(lock))
        clock.at += waits[-1]
        lock.begin("ana", "192.0.2.1")

    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]


def test_a_try_that_was_refused_makes_no_wait_longer(lock):
    for _ in range(FREE):
        lock.begin("ana", "192.0.2.1")

    assert [wait_of(lock), wait_of(lock), wait_of(lock)] == [2, 2, 2]


def test_who_signed_in_begins_anew(lock):
    for _ in range(FREE):
        lock.begin("ana", "192.0.2.1")

    lock.succeeded("Ana", "192.0.2.1")

    assert lock.begin("ana", "192.0.2.1") == 1


@pytest.mark.parametrize(("account", "address"), [("ana", "192.0.2.2"), ("olu", "192.0.2.1")])
def test_nobody_else_waits(lock, account, address):
    for _ in range(FREE):
        lock.begin("ana", "192.0.2.1")

    assert lock.begin(account, address) == 1


def test_it_does_not_grow_without_end(lock, monkeypatch):
    monkeypatch.setattr(lockout, "MOST_KEPT", 10)

    for number in range(100):
        lock.begin("ana", f"192.0.2.{number}")

    assert len(lock._tries) == 10
