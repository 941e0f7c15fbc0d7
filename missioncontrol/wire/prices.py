"""A project's own prices."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow:
    """A project's own price of a model, in dollars for a million tokens."""

    project: UUID
    model: str
    input: str
    output: str
    cache_read: str | None
    """None: as input."""
    cache_write: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSet:
    """A price that was set, and what it counted again."""

    model: str
    calls: int
    """That had no price until now."""
    usd: Decimal
