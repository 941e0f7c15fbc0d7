"""Quiet hours: from one time of day to another, in a time zone, across midnight too."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any

from missioncontrol.clock import zone_of
from missioncontrol.errors import InvalidRequest
from missioncontrol.notify.models import Channel, Device


def parse_time(text: str | None, *, field: str) -> time | None:
    """Parse a time of day that a person entered; None for an empty one.

    Raises:
        InvalidRequest: it is no time of day; the error names `field`.
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


def format_time(value: time | None) -> str | None:
    """Return a time of day as a person enters it."""
    return value.strftime("%H:%M") if value else None


def parse_quiet_hours(
    target: Device | Channel, changes: Mapping[str, Any]
) -> dict[str, time | None]:
    """Parse a change of quiet hours; afterwards both ends must be set, or neither.

    Raises:
        InvalidRequest: one is no time of day, or only one end would be set.
    """
    texts = {end: changes[end] for end in ("quiet_from", "quiet_to") if end in changes}
    parsed = {end: parse_time(text, field=end) for end, text in texts.items()}
    # A change may name only one end.
    begin, end = (parsed.get(name, getattr(target, name)) for name in ("quiet_from", "quiet_to"))
    if (begin is None) != (end is None):
        raise InvalidRequest("quiet_from, quiet_to: give both, or neither.", field="quiet_from")
    return parsed


def quiet_hours_end(
    at: datetime, *, start: time | None, end: time | None, zone: str
) -> datetime | None:
    """Return when the current quiet hours end; None: it is not quiet.

    Hours without a start, an end or a length do not count. On a day of 23 or 25 hours they
    end when local time says so.
    """
    if start is None or end is None or start == end:
        return None
    local = at.astimezone(zone_of(zone))
    clock = local.time()
    over_midnight = end < start
    # `end` itself is no longer quiet: what was postponed is due then.
    is_quiet = clock >= start or clock < end if over_midnight else start <= clock < end
    if not is_quiet:
        return None
    day = local.date() + timedelta(days=1 if over_midnight and clock >= start else 0)
    wall = datetime.combine(day, end, tzinfo=local.tzinfo)
    # If a local time occurs twice, as clocks go back, take the one that is still ahead.
    first, second = (wall.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    return first if first > at else second
