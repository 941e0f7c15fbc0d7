"""Who guesses waits longer each time, whichever process they ask."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections

from missioncontrol.accounts import rate_limits
from missioncontrol.accounts.models import SignInAttempts
from missioncontrol.accounts.rate_limits import FREE_ATTEMPTS
from missioncontrol.errors import TooManyRequests
from tests.build import NOON

pytestmark = pytest.mark.django_db

HERE = "192.0.2.1"


def tried(times=1, account="ana", address=HERE, at=NOON):
    return [rate_limits.count_sign_in_attempt(account, address, at=at) for _ in range(times)]


def wait_of(at=NOON):
    with pytest.raises(TooManyRequests) as refused:
        tried(at=at)
    return refused.value.wait_s


def test_the_first_tries_are_free():
    assert tried(FREE_ATTEMPTS) == [1, 2, 3, 4, 5]


def test_each_further_one_takes_twice_as_long_up_to_a_quarter_of_an_hour():
    tried(FREE_ATTEMPTS)
    at, waits = NOON, []

    for _ in range(12):
        waits.append(wait_of(at))
        at += timedelta(seconds=waits[-1])
        tried(at=at)

    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]


def test_a_try_that_was_refused_makes_no_wait_longer():
    tried(FREE_ATTEMPTS)

    assert [wait_of(), wait_of(), wait_of()] == [2, 2, 2]


def test_who_signed_in_begins_anew():
    tried(FREE_ATTEMPTS)

    rate_limits.clear_sign_in_attempts("Ana", HERE)

    assert tried() == [1]


@pytest.mark.parametrize(("account", "address"), [("ana", "192.0.2.2"), ("olu", HERE)])
def test_nobody_else_waits(account, address):
    tried(FREE_ATTEMPTS)

    assert tried(account=account, address=address) == [1]


def test_no_row_tells_who_was_guessed_at_nor_from_where():
    tried()

    who = SignInAttempts.objects.get().who
    assert re.fullmatch("[0-9a-f]{64}", who)


def test_what_rests_for_an_hour_is_forgotten():
    for number in range(100):
        tried(address=f"192.0.2.{number}")

    tried(at=NOON + rate_limits.RESET_AFTER + timedelta(seconds=1))

    assert SignInAttempts.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_as_many_are_free_as_one_after_the_other():
    def guess(_):
        try:
            return tried()[0]
        except TooManyRequests:
            return None
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as processes:
        counted = list(processes.map(guess, range(24)))

    assert sorted(filter(None, counted)) == [1, 2, 3, 4, 5]
