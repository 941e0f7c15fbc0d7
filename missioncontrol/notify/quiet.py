"""Quiet hours: from one time of day to another, in somebody's zone, over midnight too."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo


def end_of_quiet(
    at: datetime, *, start: time | None, end: time | None, zone: str
) -> datetime | None:
    """Return when the quiet hours end that hold at a moment; None: none do.

    Hours without a beginning, an end or a length are none. A day of 23 or 25 hours
    has them too: they end when the clock on the wall says so.
    """
    if start is None or end is None or start == end:
        return None
    local = at.astimezone(ZoneInfo(zone))
    clock = local.time()
    over_midnight = end < start
    is_quiet = clock >= start or clock < end if over_midnight else start <= clock < end
    if not is_quiet:
        return None
    day = local.date() + timedelta(days=1 if over_midnight and clock >= start else 0)
    wall = datetime.combine(day, end, tzinfo=local.tzinfo)
    # Of a time that comes twice in a night, as clocks go back, the one still ahead.
    first, second = (wall.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    return first if first > at else second
