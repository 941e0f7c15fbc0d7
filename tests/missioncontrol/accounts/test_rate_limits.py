"""Rate limits hold across processes and say how long to wait."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections

from missioncontrol.accounts.models import PacedTries
from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.errors import TooManyRequests
from tests.build import NOON

pytestmark = pytest.mark.django_db


def after(seconds):
    return NOON + timedelta(seconds=seconds)


def accepted(limit, caller, at=NOON, times=1):
    """Make this many attempts; return how many were accepted."""
    return sum(limit.try_acquire(caller, at=at) for _ in range(times))


def test_a_caller_may_use_the_whole_limit_at_once():
    assert accepted(RateLimit("codes", per_caller=3, total=10), "ana", times=5) == 3


def test_a_refusal_says_how_long_to_wait():
    limit = RateLimit("codes", per_caller=4, total=10)
    accepted(limit, "ana", times=4)

    with pytest.raises(TooManyRequests) as refused:
        limit.acquire("ana", at=after(0.5))

    assert refused.value.wait_s == 15
    assert refused.value.headers() == {"Retry-After": "15"}
    limit.acquire("ana", at=after(15.5))


def test_a_caller_who_keeps_trying_gets_the_limit_each_minute():
    limit = RateLimit("codes", per_caller=6, total=100)
    accepted(limit, "ana", times=6)

    assert sum(accepted(limit, "ana", at=after(second)) for second in range(1, 121)) == 12


def test_a_minute_without_attempts_restores_the_limit():
    limit = RateLimit("codes", per_caller=3, total=10)
    accepted(limit, "ana", times=3)

    assert accepted(limit, "ana", at=after(60), times=4) == 3


def test_other_callers_are_refused_only_when_the_total_is_used_up():
    limit = RateLimit("codes", per_caller=2, total=3)
    accepted(limit, "ana", times=9)

    assert [accepted(limit, name) for name in ("bo", "cy")] == [1, 0]


def test_refused_attempts_are_not_counted():
    limit = RateLimit("codes", per_caller=1, total=2)
    accepted(limit, "ana", times=9)
    accepted(limit, "bo")
    accepted(limit, "cy", times=9)

    assert accepted(limit, "cy", at=after(30)) == 1


def test_each_limit_counts_separately():
    accepted(RateLimit("codes", per_caller=1, total=1), "ana")

    assert accepted(RateLimit("links", per_caller=1, total=1), "ana") == 1


def test_processes_share_the_count():
    accepted(RateLimit("codes", per_caller=2, total=9), "ana", times=2)

    assert accepted(RateLimit("codes", per_caller=2, total=9), "ana") == 0


def test_no_row_reveals_the_caller():
    accepted(RateLimit("codes", per_caller=2, total=9), "192.0.2.1")

    assert all(re.fullmatch("[0-9a-f]{64}", row.who) for row in PacedTries.objects.all())


def test_rows_are_deleted_after_a_minute_without_attempts():
    limit = RateLimit("codes", per_caller=1, total=100)
    for number in range(50):
        accepted(limit, f"192.0.2.{number}")

    accepted(limit, "ana", at=after(61))

    assert PacedTries.objects.count() == 2


@pytest.mark.parametrize(("per_caller", "total"), [(5, 100), (100, 5)])
@pytest.mark.django_db(transaction=True)
def test_parallel_attempts_are_limited_like_sequential_ones(per_caller, total):
    limit = RateLimit("codes", per_caller=per_caller, total=total)

    def attempt(_):
        try:
            return limit.try_acquire("ana", at=NOON)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as processes:
        results = list(processes.map(attempt, range(24)))

    assert sum(results) == 5


def test_nobody_waits_because_the_clock_was_set_back():
    limit = RateLimit("codes", per_caller=1, total=10)
    accepted(limit, "ana", at=after(3600))

    assert accepted(limit, "ana", times=2) == 1


def test_a_slightly_older_clock_gives_no_extra_attempts():
    limit = RateLimit("codes", per_caller=3, total=10)
    accepted(limit, "ana", at=after(1), times=3)

    assert accepted(limit, "ana") == 0
