"""The only module that reads the clock, and its time zones. Everything else takes `at=`."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, tzinfo
from functools import cache
from zoneinfo import ZoneInfo

from missioncontrol.errors import InvalidRequest

logger = logging.getLogger(__name__)


def now() -> datetime:
    """Return this instant in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - this is the edge


@cache
def zone_of(name: str) -> tzinfo:
    """Return a time zone that was chosen earlier; UTC if this machine does not know it.

    It never fails: every turn and card asks for a day's costs and for quiet hours.
    """
    if name == "UTC":
        return UTC
    zone = _find_zone(name)
    if zone is None:
        # Once per process, because the answer is cached.
        logger.warning("the time zone %s is not known here: UTC stands in", name)
    return zone or UTC


def read_zone(name: str, *, field: str) -> ZoneInfo:
    """Return the time zone that a request names.

    Raises:
        InvalidRequest: this machine does not know it.
    """
    zone = _find_zone(name)
    if zone is None:
        # Cut: a request may send kilobytes in place of a name.
        raise InvalidRequest(
            f"{field}: expected an IANA name such as Europe/Berlin, got {name[:60]!r}.", field=field
        )
    return zone


def check_in_future(expires_at: datetime | None, *, at: datetime) -> None:
    """Refuse an expiry in the past.

    Raises:
        InvalidRequest: what it limits would expire at once.
    """
    if expires_at is not None and expires_at <= at:
        raise InvalidRequest("expires_at: expected a time in the future.", field="expires_at")


def _find_zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    # ValueError: a path outside the zones' folder. OSError: `Europe` is such a folder itself.
    except (KeyError, ValueError, OSError):
        return None
