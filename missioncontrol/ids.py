"""Identifiers: UUIDv7, so that rows sort by birth and indexes stay compact."""

from __future__ import annotations

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """Return a new UUIDv7 as a standard-library UUID."""
    return uuid7()
