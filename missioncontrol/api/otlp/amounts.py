"""Tokens and dollars as dialects write them, in our words."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from guard.formats.fields import read_money
from guard.turn import Usage


def inclusive(
    *, given: int, output: int, read: int = 0, written: int = 0, hour: int = 0, reasoning: int = 0
) -> Usage | None:
    """Return usage of a vendor whose input includes what was cached; None: nothing told.

    Where it is less than what was cached, it was told without it.
    """
    cached = read + written
    usage = Usage(
        input=given - cached if given >= cached else given,
        cache_read=read,
        # Cache writes of no stated tier are 5-minute writes.
        cache_write_5m=written - min(hour, written),
        cache_write_1h=min(hour, written),
        output=output,
        reasoning=reasoning,
    )
    return usage if usage.total else None


def dollars(*figures: Any) -> Decimal | None:
    """Return the first figure above 0: an agent that knows no price says 0."""
    amounts = (read_money(one) for one in figures)
    return next((amount for amount in amounts if amount), None)
