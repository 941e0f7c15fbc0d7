"""Token counts as each framework writes them, in ours. Pure: no framework is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guard.turn import Usage


def langchain_usage(counts: Mapping[str, Any] | None) -> Usage | None:
    """Read LangChain's `usage_metadata`, whose input includes what was cached.

    What was written to a cache comes as one count, or as one for each lifetime in
    its place (langchain-anthropic).

    >>> langchain_usage({"input_tokens": 10_500, "output_tokens": 42, "input_token_details": {
    ...     "cache_read": 9_000, "cache_creation": 300}})
    Usage(input=1200, cache_read=9000, cache_write_5m=300, cache_write_1h=0, output=42, reasoning=0)
    """
    if not counts:
        return None
    read = counts.get("input_token_details") or {}
    said = counts.get("output_token_details") or {}
    cached, hourly = _count(read, "cache_read"), _count(read, "ephemeral_1h_input_tokens")
    tiered = _count(read, "ephemeral_5m_input_tokens") + hourly
    written = max(_count(read, "cache_creation"), tiered)
    return Usage(
        input=max(0, _count(counts, "input_tokens") - cached - written),
        cache_read=cached,
        cache_write_5m=written - hourly,
        cache_write_1h=hourly,
        output=_count(counts, "output_tokens"),
        reasoning=_count(said, "reasoning"),
    )


def _count(counts: Mapping[str, Any], name: str) -> int:
    return int(counts.get(name) or 0)
