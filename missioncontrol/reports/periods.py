"""Days, weeks and months in the calendar of a time zone. Pure.

A day is from midnight to midnight there: 23 or 25 hours where clocks are put forward
or back, and never counted as 24.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

PeriodKind = Literal["day", "week", "month"]
WEEK = timedelta(days=7)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Whole days, `first` to `last`; times from `since` on, before `until`."""

    first: date
    last: date
    zone: tzinfo

    @property
    def since(self) -> datetime:
        """The midnight at which it begins."""
        return midnight(self.first, self.zone)

    @property
    def until(self) -> datetime:
        """The midnight after its last day."""
        return midnight(self.last + timedelta(days=1), self.zone)

    @property
    def minutes(self) -> int:
        """Its length; 1380 or 1500 on a day whose clocks are changed."""
        return (self.until - self.since) // MINUTE


def midnight(day: date, zone: tzinfo) -> datetime:
    """Return when a day begins there.

    Where clocks are put forward at midnight, it is the first moment after the gap, because a
    time in a gap is read with the offset before it.
    """
    return datetime.combine(day, time.min, tzinfo=zone).astimezone(UTC)


def today(zone: tzinfo, *, at: datetime) -> date:
    """Return the current date there."""
    return at.astimezone(zone).date()


def period_of(kind: PeriodKind, day: date, zone: tzinfo) -> Period:
    """Return the day, the week from Monday on, or the month that a day is in."""
    if kind == "day":
        return Period(first=day, last=day, zone=zone)
    if kind == "week":
        monday = day - timedelta(days=day.weekday())
        return Period(first=monday, last=monday + timedelta(days=6), zone=zone)
    first = day.replace(day=1)
    # 31 days after the first is in the next month, whatever the length of this one.
    after = (first + timedelta(days=31)).replace(day=1)
    return Period(first=first, last=after - timedelta(days=1), zone=zone)


def period_before(kind: PeriodKind, period: Period) -> Period:
    """Return the period to compare with: the day a week before, or the previous week or month."""
    # Months differ in length; days and weeks are compared with the same weekdays.
    if kind == "month":
        return period_of(kind, period.first - timedelta(days=1), period.zone)
    return Period(first=period.first - WEEK, last=period.last - WEEK, zone=period.zone)


def same_time_before(period: Period, before: Period, *, at: datetime) -> datetime:
    """Return when the period before had progressed as far as this one has, by the clocks there."""
    if at >= period.until:
        return before.until
    here = at.astimezone(period.zone)
    days = here.date() - period.first
    # By the clocks there: with a fixed offset a day of 23 hours would shift the comparison.
    then = datetime.combine(before.first + days, here.time(), tzinfo=period.zone).astimezone(UTC)
    # February has no 30th: by then the whole of a shorter month counts.
    return max(before.since, min(then, before.until))


def days_until(last: date, *, count: int) -> list[date]:
    """Return `count` days in order, ending with `last`."""
    return [last - timedelta(days=back) for back in range(count - 1, -1, -1)]
