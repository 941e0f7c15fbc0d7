"""How often something may be tried, whichever process is asked, and how long to wait."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections

from missioncontrol.accounts.models import PacedTries
from missioncontrol.accounts.pace import Pace
from missioncontrol.errors import TooManyRequests
from tests.build import NOON

pytestmark = pytest.mark.django_db


def after(seconds):
    return NOON + timedelta(seconds=seconds)


def taken(pace, name, at=NOON, times=1):
    """Try so often; return how many were taken."""
    return sum(pace.may(name, at=at) for _ in range(times))


def test_as_many_as_it_says_are_taken_at_once():
    assert taken(Pace("codes", most=3, in_all=10), "ana", times=5) == 3


def test_one_too_many_says_when_the_next_is_taken():
    pace = Pace("codes", most=4, in_all=10)
    taken(pace, "ana", times=4)

    with pytest.raises(TooManyRequests) as refused:
        pace.check("ana", at=after(0.5))

    assert refused.value.wait_s == 15
    assert refused.value.headers() == {"Retry-After": "15"}
    pace.check("ana", at=after(15.5))


def test_who_goes_on_trying_has_so_many_a_minute_and_no_more():
    pace = Pace("codes", most=6, in_all=100)
    taken(pace, "ana", times=6)

    assert sum(taken(pace, "ana", at=after(second)) for second in range(1, 121)) == 12


def test_a_minutes_rest_gives_all_of_them_back():
    pace = Pace("codes", most=3, in_all=10)
    taken(pace, "ana", times=3)

    assert taken(pace, "ana", at=after(60), times=4) == 3


def test_others_are_not_slowed_until_all_together_are_too_many():
    pace = Pace("codes", most=2, in_all=3)
    taken(pace, "ana", times=9)

    assert [taken(pace, name) for name in ("bo", "cy")] == [1, 0]


def test_what_was_refused_is_counted_for_nobody():
    pace = Pace("codes", most=1, in_all=2)
    taken(pace, "ana", times=9)
    taken(pace, "bo")
    taken(pace, "cy", times=9)

    assert taken(pace, "cy", at=after(30)) == 1


def test_each_thing_has_a_count_of_its_own():
    taken(Pace("codes", most=1, in_all=1), "ana")

    assert taken(Pace("links", most=1, in_all=1), "ana") == 1


def test_another_process_goes_on_counting():
    taken(Pace("codes", most=2, in_all=9), "ana", times=2)

    assert taken(Pace("codes", most=2, in_all=9), "ana") == 0


def test_no_row_tells_who_tried():
    taken(Pace("codes", most=2, in_all=9), "192.0.2.1")

    assert all(re.fullmatch("[0-9a-f]{64}", row.who) for row in PacedTries.objects.all())


def test_what_rests_for_a_minute_is_forgotten():
    pace = Pace("codes", most=1, in_all=100)
    for number in range(50):
        taken(pace, f"192.0.2.{number}")

    taken(pace, "ana", at=after(61))

    assert PacedTries.objects.count() == 2


@pytest.mark.parametrize(("most", "in_all"), [(5, 100), (100, 5)])
@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_as_many_are_taken_as_one_after_the_other(most, in_all):
    pace = Pace("codes", most=most, in_all=in_all)

    def try_once(_):
        try:
            return pace.may("ana", at=NOON)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as processes:
        tried = list(processes.map(try_once, range(24)))

    assert sum(tried) == 5


def test_a_clock_that_is_set_back_keeps_nobody_waiting():
    pace = Pace("codes", most=1, in_all=10)
    taken(pace, "ana", at=after(3600))

    assert taken(pace, "ana", times=2) == 1


def test_who_read_the_clock_a_moment_earlier_has_no_more_tries():
    pace = Pace("codes", most=3, in_all=10)
    taken(pace, "ana", at=after(1), times=3)

    assert taken(pace, "ana") == 0
