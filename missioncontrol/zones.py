"""Time zones by the names that people and browsers give them."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from missioncontrol.errors import InvalidRequest


def find_zone(name: str) -> ZoneInfo | None:
    """Return the zone of an IANA name; None: this machine does not know it."""
    try:
        return ZoneInfo(name)
    # ValueError: a path out of the zones' folder. OSError: `Europe` is such a folder itself.
    except (KeyError, ValueError, OSError):
        return None


def read_zone(name: str, *, field: str) -> ZoneInfo:
    """Return the zone that a request names.

    Raises:
        InvalidRequest: it is none that this machine knows.
    """
    zone = find_zone(name)
    if zone is None:
        # Cut: a request may send kilobytes in place of a name.
        raise InvalidRequest(
            f"{field}: expected an IANA name such as Europe/Berlin, got {name[:60]!r}.", field=field
        )
    return zone
