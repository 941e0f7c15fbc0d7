"""How often something may be tried, and how long to wait when it was too often."""

import pytest

from missioncontrol.accounts.pace import Pace
from missioncontrol.errors import TooManyRequests


class Clock:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock():
    return Clock()


def tries(pace, clock, *said):
    for name, at in said:
        clock.at = at
        pace.check(name)


def test_one_too_many_says_when_the_oldest_is_forgotten(clock):
    pace = Pace(most=2, in_all=10, clock=clock)
    tries(pace, clock, ("ana", 100.0), ("ana", 130.0))

    clock.at = 140.5
    with pytest.raises(TooManyRequests) as refused:
        pace.check("ana")

    assert refused.value.wait_s == 20
    assert refused.value.headers() == {"Retry-After": "20"}
    tries(pace, clock, ("ana", 140.5 + 20))


def test_others_are_not_slowed_until_all_together_are_too_many(clock):
    pace = Pace(most=2, in_all=3, clock=clock)
    tries(pace, clock, ("ana", 100.0), ("ana", 110.0), ("bo", 120.0))

    assert not pace.may("cy")
    assert pace.wait_s("cy") == 40


def test_what_was_refused_is_not_counted(clock):
    pace = Pace(most=1, in_all=9, clock=clock)
    tries(pace, clock, ("ana", 100.0))

    assert not pace.may("ana")
    tries(pace, clock, ("ana", 160.5))
