from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from guard.pricing import price
from guard.turn import Usage

USAGE = Usage(input=1200, cache_write_5m=300, cache_read=9000, output=42)


def test_it_agrees_with_claude_codes_own_figure():
    assert price(USAGE, model="claude-sonnet-4-5", provider="anthropic") == Decimal("0.008055")


def test_an_hours_cache_costs_more_than_five_minutes():
    hour = Usage(input=1200, cache_write_1h=300, cache_read=9000, output=42)

    assert price(hour, model="claude-sonnet-4-5", provider="anthropic") == Decimal("0.00873")


@pytest.mark.parametrize("provider", [None, "anthropic", "Anthropic", "a-proxy-of-ours"])
def test_the_model_tells_where_the_provider_does_not(provider):
    assert price(USAGE, model="claude-sonnet-4-5", provider=provider) == Decimal("0.008055")


@pytest.mark.parametrize("model", [None, "", "no-such-model"])
def test_an_unknown_model_is_unpriced_and_never_free(model):
    assert price(USAGE, model=model, provider="anthropic") is None


def test_the_day_of_the_call_counts():
    at = datetime(2026, 11, 21, 21, 8, tzinfo=UTC)

    assert price(USAGE, model="claude-sonnet-4-5", provider="anthropic", at=at) is not None


def test_no_tokens_cost_nothing():
    assert price(Usage(), model="claude-sonnet-4-5", provider="anthropic") == 0
