"""The one place that reads the time. Everything else takes `at=`."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """Return this instant in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - this is the edge
