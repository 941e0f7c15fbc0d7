"""Rules that other systems published, exact to their sources, each with its preset.

A module here is imported only where a policy names its rule. It holds `DETECTOR`, the
rule, and `Rule`, its thresholds: a policy's table `contrib.NAME` sets them.
"""

from __future__ import annotations

from guard.errors import PolicyInvalid


def check_order(rule: object, least: str, most: str) -> None:
    """Refuse thresholds of which the later is met before the earlier."""
    low, high = getattr(rule, least), getattr(rule, most)
    if high < low:
        raise PolicyInvalid(most, f"a whole number from {low} to 50", high)
