"""Each framework's token counts, converted to ours. Pure: no framework is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from guard.chat import usage_of
from guard.turn import Usage


def langchain_usage(counts: Mapping[str, Any] | None) -> Usage | None:
    """Read LangChain's `usage_metadata`, whose input includes cached tokens.

    Tokens written to a cache come as one count, or instead as one for each lifetime
    (langchain-anthropic).

    >>> langchain_usage({"input_tokens": 10_500, "output_tokens": 42, "input_token_details": {
    ...     "cache_read": 9_000, "cache_creation": 300}})
    Usage(input=1200, cache_read=9000, cache_write_5m=300, cache_write_1h=0, output=42, reasoning=0)
    """
    if not counts:
        return None
    read = counts.get("input_token_details") or {}
    answered = counts.get("output_token_details") or {}
    cached, hourly = _count(read, "cache_read"), _count(read, "ephemeral_1h_input_tokens")
    tiered = _count(read, "ephemeral_5m_input_tokens") + hourly
    # Not their sum: each is the whole of what was written, in another form.
    written = max(_count(read, "cache_creation"), tiered)
    return Usage(
        input=max(0, _count(counts, "input_tokens") - cached - written),
        cache_read=cached,
        cache_write_5m=written - hourly,
        cache_write_1h=hourly,
        output=_count(counts, "output_tokens"),
        reasoning=_count(answered, "reasoning"),
    )


def responses_usage(counts: Any) -> Usage | None:
    """Read the OpenAI Agents SDK's `Usage`, whose input includes cached tokens.

    >>> from types import SimpleNamespace as Counts
    >>> responses_usage(Counts(input_tokens=10_500, output_tokens=42,
    ...     input_tokens_details=Counts(cached_tokens=9_000, cache_write_tokens=300),
    ...     output_tokens_details=Counts(reasoning_tokens=20))).reasoning
    20
    """
    # The SDK creates an empty one if the provider reported nothing: this is not a call with 0
    # tokens.
    if not counts or not (counts.input_tokens or counts.output_tokens):
        return None
    read, answered = counts.input_tokens_details, counts.output_tokens_details
    cached = getattr(read, "cached_tokens", 0) or 0
    written = getattr(read, "cache_write_tokens", 0) or 0
    return Usage(
        input=max(0, counts.input_tokens - cached - written),
        cache_read=cached,
        cache_write_5m=written,
        output=counts.output_tokens,
        reasoning=getattr(answered, "reasoning_tokens", 0) or 0,
    )


def litellm_usage(counts: Mapping[str, Any]) -> Usage:
    """Read LiteLLM's counts: OpenAI's, with tokens written to a cache as part of the prompt.

    >>> litellm_usage({"prompt_tokens": 10_500, "completion_tokens": 42,
    ...     "prompt_tokens_details": {"cached_tokens": 9_000, "cache_creation_tokens": 300}})
    Usage(input=1200, cache_read=9000, cache_write_5m=300, cache_write_1h=0, output=42, reasoning=0)
    """
    usage, read = usage_of(counts), counts.get("prompt_tokens_details") or {}
    written = _count(read, "cache_creation_tokens") or _count(counts, "cache_creation_input_tokens")
    tiers = read.get("cache_creation_token_details") or {}
    hourly = min(written, _count(tiers, "ephemeral_1h_input_tokens"))
    return replace(
        usage,
        input=max(0, usage.input - written),
        cache_write_5m=written - hourly,
        cache_write_1h=hourly,
    )


def _count(counts: Mapping[str, Any], name: str) -> int:
    # Null as well as absent: providers send either.
    return int(counts.get(name) or 0)
