"""Quiet hours: from one time of day to another, in somebody's zone, over midnight too."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any

from missioncontrol.clock import zone_of
from missioncontrol.errors import InvalidRequest
from missioncontrol.notify.models import Channel, Device


def read_clock(text: str | None, *, field: str) -> time | None:
    """Read a time of day that a person entered; an empty one is none.

    Raises:
        InvalidRequest: it is no time; `field` is whose it was to be.
    """
    if not text:
        return None
    try:
        # To the minute, as the field shows it; a zone in it would contradict the target's own.
        return time.fromisoformat(text).replace(second=0, microsecond=0, tzinfo=None)
    except ValueError:
        raise InvalidRequest(
            f"{field}: expected a time of day such as 22:00, got {text[:20]!r}.", field=field
        ) from None


def write_clock(value: time | None) -> str | None:
    """Write a time of day as a person enters it."""
    return value.strftime("%H:%M") if value else None


def read_hours(target: Device | Channel, changes: Mapping[str, Any]) -> dict[str, time | None]:
    """Read what a person changes of somebody's quiet hours: both ends, or neither, stand after it.

    Raises:
        InvalidRequest: one is no time, or one alone would stand.
    """
    named = {end: changes[end] for end in ("quiet_from", "quiet_to") if end in changes}
    read = {end: read_clock(text, field=end) for end, text in named.items()}
    # A change may name one end alone.
    begin, end = (read.get(name, getattr(target, name)) for name in ("quiet_from", "quiet_to"))
    if (begin is None) != (end is None):
        raise InvalidRequest("quiet_from, quiet_to: give both, or neither.", field="quiet_from")
    return read


def end_of_quiet(
    at: datetime, *, start: time | None, end: time | None, zone: str
) -> datetime | None:
    """Return when the quiet hours end that hold at a moment; None: none do.

    Hours without a beginning, an end or a length are none. A day of 23 or 25 hours
    has them too: they end when the clock on the wall says so.
    """
    if start is None or end is None or start == end:
        return None
    local = at.astimezone(zone_of(zone))
    clock = local.time()
    over_midnight = end < start
    # `end` itself is no longer quiet: what was put off is due then.
    is_quiet = clock >= start or clock < end if over_midnight else start <= clock < end
    if not is_quiet:
        return None
    day = local.date() + timedelta(days=1 if over_midnight and clock >= start else 0)
    wall = datetime.combine(day, end, tzinfo=local.tzinfo)
    # Of a time that comes twice in a night, as clocks go back, the one still ahead.
    first, second = (wall.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    return first if first > at else second
