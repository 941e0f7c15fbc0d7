"""Quiet hours end when the clock on the wall says so."""

from __future__ import annotations

from datetime import UTC, datetime, time

import pytest

from missioncontrol.notify.quiet_hours import quiet_hours_end

BERLIN = "Europe/Berlin"


def quiet(at: str, start: str, end: str, zone: str = BERLIN) -> str | None:
    found = quiet_hours_end(
        datetime.fromisoformat(at).replace(tzinfo=UTC),
        start=time.fromisoformat(start),
        end=time.fromisoformat(end),
        zone=zone,
    )
    return found.astimezone(UTC).isoformat()[:16] if found else None


@pytest.mark.parametrize(
    ("at", "until"),
    [
        ("2026-11-21T20:59", None),
        ("2026-11-21T21:00", "2026-11-22T06:00"),
        ("2026-11-22T02:00", "2026-11-22T06:00"),
        ("2026-11-22T06:00", None),
    ],
)
def test_they_go_over_midnight_in_the_zone(at, until):
    assert quiet(at, "22:00", "07:00") == until


def test_within_a_day_they_begin_and_end_on_it():
    assert quiet("2026-11-21T12:30", "13:00", "14:00") == "2026-11-21T13:00"
    assert quiet("2026-11-21T13:00", "13:00", "14:00") is None


def test_the_night_that_loses_an_hour_ends_at_the_same_hour_on_the_wall():
    assert quiet("2026-03-28T22:00", "22:00", "07:00") == "2026-03-29T05:00"


def test_an_end_that_the_clock_leaps_over_is_the_moment_after_the_leap():
    assert quiet("2026-03-29T00:30", "22:00", "02:30") == "2026-03-29T01:30"


def test_the_night_that_has_an_hour_twice_ends_at_the_one_still_ahead():
    assert quiet("2026-10-25T00:15", "22:00", "02:30") == "2026-10-25T00:30"
    assert quiet("2026-10-25T01:15", "22:00", "02:30") == "2026-10-25T01:30"


def test_in_a_zone_that_is_not_known_here_any_more_they_are_in_utc():
    assert quiet("2026-11-21T23:00", "22:00", "07:00", "Lemuria/Port") == "2026-11-22T07:00"


def test_hours_without_a_length_are_none():
    assert quiet("2026-11-21T12:00", "13:00", "13:00") is None
    assert quiet_hours_end(datetime.now(UTC), start=None, end=time(7), zone=BERLIN) is None
