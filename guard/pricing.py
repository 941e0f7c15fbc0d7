"""Tokens to dollars, with cache tiers. Unknown models have no price, never $0.

The prices are those of genai-prices, which comes with `missioncontrol-guard[prices]`.
Without it only what the agent prices itself has a price; one warning says so.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal, InvalidOperation
from importlib.util import find_spec

from guard.turn import Turn, Usage

logger = logging.getLogger(__name__)

# A higher amount is a mistake of the sender.
_MAX_DOLLARS = 10**9

# Vendors' own names for themselves -> the names genai-prices knows.
_PROVIDERS = {
    "bedrock": "aws",
    "aws_bedrock": "aws",
    "azure_openai": "azure",
    "gcp": "google",
    "gemini": "google",
    "google_genai": "google",
    "vertex": "google",
    "vertex_ai": "google",
    "mistral_ai": "mistral",
    "xai": "x-ai",
}


def read_dollars(value: object) -> Decimal | None:
    """Read dollars from a decimal string or a number; never below 0."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount <= _MAX_DOLLARS else None


def price(
    usage: Usage, *, model: str | None, provider: str | None, at: datetime | None = None
) -> Decimal | None:
    """Price the tokens of one model call in dollars; None: no price is known.

    Args:
        usage: Tokens; `input` excludes cached ones.
        model: The model's name as the vendor or the agent writes it.
        provider: Who serves it; None guesses from the model's name.
        at: When the call was made, for prices that changed since.

    >>> used = Usage(input=1200, cache_write_5m=300, cache_read=9000, output=42)
    >>> price(used, model="claude-sonnet-4-5", provider="anthropic")
    Decimal('0.008055')
    >>> price(used, model="no-such-model", provider=None) is None
    True
    """
    # Without a model nothing is guessed: a wrong price is worse than none.
    if not model:
        return None
    # Prices change by the day at most: dropping the time lets the cache work.
    day = at.replace(hour=0, minute=0, second=0, microsecond=0) if at else None
    return _priced(usage, model, provider, day)


def price_turns(
    turns: Iterable[Turn | None], *, paid: set[str] | None = None
) -> list[Decimal | None]:
    """Price each position of a recording in dollars; None: its cost is not known.

    Args:
        turns: By position; None stands for a line that could not be read.
        paid: Model calls (`call_id`) that were counted before; those of these turns
            are added. Usage under one `call_id` counts once.
    """
    known = set[str]() if paid is None else paid
    prices: list[Decimal | None] = []
    for turn in turns:
        if turn is None or (turn.cost_usd is None and turn.usage is None):
            prices.append(None)
            continue
        if turn.call_id is not None and turn.call_id in known:
            # An answer with several calls is several turns, each with the usage of the whole
            # answer.
            prices.append(Decimal(0))
            continue
        if turn.call_id is not None:
            known.add(turn.call_id)
        # The cost that the agent reports takes precedence over our price list.
        cost = turn.cost_usd
        if cost is None and turn.usage is not None:
            cost = price(turn.usage, model=turn.model, provider=turn.provider, at=turn.ts)
        prices.append(cost)
    return prices


@functools.lru_cache(maxsize=4096)
def _priced(usage: Usage, model: str, provider: str | None, day: datetime | None) -> Decimal | None:
    if not _has_prices():
        return None
    name = (provider or "").strip().lower()
    # For a provider that genai-prices does not know, such as a gateway, the model's name decides.
    for known_provider in dict.fromkeys((_PROVIDERS.get(name, name) or None, None)):
        try:
            # 0.2 s to import: only budgets and reports in dollars pay for it.
            from genai_prices import Usage as TheirUsage
            from genai_prices import calc_price

            written = usage.cache_write_5m + usage.cache_write_1h
            counts = {
                # Their input count includes cached tokens, ours does not.
                "input_tokens": usage.input + usage.cache_read + written,
                "cache_read_tokens": usage.cache_read,
                "cache_write_tokens": written,
                "cache_write_1h_tokens": usage.cache_write_1h,
                "output_tokens": usage.output,
            }
            calculation = calc_price(
                TheirUsage(**{name: count for name, count in counts.items() if count}),
                model,
                provider_id=known_provider,
                genai_request_timestamp=day,
            )
            # normalize() writes 100 as 1E+2; with 0 added it is written out.
            return calculation.total_price.normalize() + Decimal(0)
        except (LookupError, ValueError):
            continue
    return None


@functools.cache
def _has_prices() -> bool:
    if find_spec("genai_prices") is not None:
        return True
    # Cached, so that this is logged once.
    logger.warning("genai-prices is not installed: tokens have no price (the extra `prices`)")
    return False
