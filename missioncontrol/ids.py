"""Identifiers: UUIDv7, so that rows sort by creation and indexes stay compact."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """Return a new UUIDv7 as a standard-library UUID."""
    return uuid7()


def earlier_id(row_id: UUID, *, by: timedelta) -> UUID:
    """Return the id that would have been made `by` earlier: its first 48 bits are the time."""
    milliseconds = by // timedelta(milliseconds=1)
    return UUID(int=max(0, row_id.int - (milliseconds << 80)))
