"""Days, weeks and months of a time zone, also where its clocks are moved."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from missioncontrol.reports.periods import (
    days_until,
    midnight,
    period_before,
    period_of,
    same_time_before,
    today,
)

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = [
    ZoneInfo(name)
    for name in (
        "Europe/Berlin",
        "America/New_York",
        "Asia/Kolkata",
        "Asia/Beirut",
        "Australia/Lord_Howe",
        "Pacific/Kiritimati",
        "America/Havana",
    )
]
DAYS = st.dates(min_value=date(2020, 1, 1), max_value=date(2030, 12, 31))


@pytest.mark.parametrize(
    ("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 11, 21), 24)]
)
def test_a_day_has_the_hours_that_its_clocks_give_it(day, hours):
    assert period_of("day", day, BERLIN).minutes == hours * 60


def test_a_day_whose_midnight_is_left_out_begins_after_the_gap():
    began = midnight(date(2026, 3, 29), ZoneInfo("Asia/Beirut"))

    assert began == datetime(2026, 3, 28, 22, tzinfo=UTC)
    assert began.astimezone(ZoneInfo("Asia/Beirut")).hour == 1


@given(day=DAYS, zone=st.sampled_from(ZONES))
def test_days_follow_each_other_without_a_gap_or_an_overlap(day, zone):
    period = period_of("day", day, zone)

    assert period.until == period_of("day", day + timedelta(days=1), zone).since
    assert today(zone, at=period.since) == day
    assert today(zone, at=period.until - timedelta(microseconds=1)) == day


@given(day=DAYS, zone=st.sampled_from(ZONES), kind=st.sampled_from(["day", "week", "month"]))
def test_a_period_holds_its_day_and_the_one_before_ends_before_it(day, zone, kind):
    period = period_of(kind, day, zone)
    before = period_before(kind, period)

    assert period.first <= day <= period.last
    assert before.last < period.first
    assert kind == "day" or before.until == period.since


@given(
    day=DAYS,
    minutes=st.integers(0, 45 * 1440),
    zone=st.sampled_from(ZONES),
    kind=st.sampled_from(["day", "week", "month"]),
)
def test_the_same_time_before_lies_in_the_period_before(day, minutes, zone, kind):
    period = period_of(kind, day, zone)
    before = period_before(kind, period)
    then = same_time_before(period, before, at=period.since + timedelta(minutes=minutes))

    assert before.since <= then <= before.until


def test_the_same_time_is_the_clocks_though_they_were_put_back_since():
    period = period_of("day", date(2026, 10, 26), BERLIN)
    at = datetime(2026, 10, 26, 14, 41, tzinfo=BERLIN)

    then = same_time_before(period, period_before("day", period), at=at)

    assert then == datetime(2026, 10, 19, 14, 41, tzinfo=BERLIN)


def test_a_week_begins_on_monday_and_a_month_on_its_first():
    week, month = (period_of(kind, date(2026, 11, 21), BERLIN) for kind in ("week", "month"))

    assert (week.first, week.last) == (date(2026, 11, 16), date(2026, 11, 22))
    assert (month.first, month.last) == (date(2026, 11, 1), date(2026, 11, 30))
    assert period_before("month", month).first == date(2026, 10, 1)


def test_days_are_in_order_and_the_last_is_the_one_asked_for():
    assert days_until(date(2026, 3, 1), count=2) == [date(2026, 2, 28), date(2026, 3, 1)]
