"""A project's own prices of models: dollars for a million tokens. Pure.

They apply to what is counted from then on, and win over the public price list; an agent's
own figure wins over both.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from guard.turn import Usage
from missioncontrol.errors import InvalidRequest

MILLION = Decimal(1_000_000)
MAX_PRICE = Decimal(100_000)
MAX_NAME_LENGTH = 100
FIELDS = ("input", "output", "cache_read", "cache_write")


def project_price(
    prices: Mapping[str, Any], model: str | None, usage: Usage | None
) -> Decimal | None:
    """Price a call by a project's own table; None: it has no price for this model.

    >>> prices = {"house": {"input": "2", "output": "10"}}
    >>> project_price(prices, "house", Usage(input=500_000))
    Decimal('1')
    """
    table = prices.get(model or "")
    if table is None or usage is None or not usage.total:
        return None
    # Cached tokens without a price of their own cost as much as fresh input.
    fresh = Decimal(table["input"])
    read, written = (Decimal(table.get(name) or fresh) for name in ("cache_read", "cache_write"))
    # Output includes reasoning, which has no price of its own.
    total = (
        usage.input * fresh
        + usage.cache_read * read
        + (usage.cache_write_5m + usage.cache_write_1h) * written
        + usage.output * Decimal(table["output"])
    )
    return (total / MILLION).normalize() + Decimal(0)


def check_price(model: str, entered: Mapping[str, str | None]) -> tuple[str, dict[str, str]]:
    """Validate what a person entered: return the model's name, and its price as stored.

    Raises:
        InvalidRequest: a field is wrong; the error names it and what was expected.
    """
    name = model.strip()
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise InvalidRequest(f"model: expected 1 to {MAX_NAME_LENGTH} signs.", field="model")
    table: dict[str, str] = {}
    for field in FIELDS:
        if not (text := entered.get(field)):
            continue
        try:
            amount = Decimal(text)
        except InvalidOperation:
            amount = Decimal(-1)
        # Finite first: "NaN" is a decimal too, and cannot be compared.
        if not (amount.is_finite() and 0 <= amount <= MAX_PRICE):
            raise InvalidRequest(
                f"{field}: expected dollars from 0 to {MAX_PRICE}, got {text!r}.", field=field
            )
        table[field] = format(amount, "f")  # never "1E+2"
    for field in ("input", "output"):
        if field not in table:
            raise InvalidRequest(f"{field}: expected dollars per million tokens.", field=field)
    return name, table
