"""The one place that reads the time, and the zones it is told in. Everything else takes `at=`."""

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
    """Return a zone that was chosen before; UTC where this machine does not know it.

    Judging goes on: what a day costs and when people sleep is asked with every turn and card.
    """
    if name == "UTC":
        return UTC
    zone = _find_zone(name)
    if zone is None:
        # Once a process, for the answer is cached.
        logger.warning("the time zone %s is not known here: UTC stands in", name)
    return zone or UTC


def read_zone(name: str, *, field: str) -> ZoneInfo:
    """Return the zone that a request names.

    Raises:
        InvalidRequest: it is none that this machine knows.
    """
    zone = _find_zone(name)
    if zone is None:
        # Cut: a request may send kilobytes in place of a name.
        raise InvalidRequest(
            f"{field}: expected an IANA name such as Europe/Berlin, got {name[:60]!r}.", field=field
        )
    return zone


def check_to_come(expires_at: datetime | None, *, at: datetime) -> None:
    """Refuse an end that a request names and that is past.

    Raises:
        InvalidRequest: what it ends would be over at once.
    """
    if expires_at is not None and expires_at <= at:
        raise InvalidRequest("expires_at: expected a time in the future.", field="expires_at")


def _find_zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    # ValueError: a path out of the zones' folder. OSError: `Europe` is such a folder itself.
    except (KeyError, ValueError, OSError):
        return None
