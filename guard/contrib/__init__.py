"""Rules that other systems published, exact to their sources, each with its preset.

A module here is imported only where a policy names its rule. It defines `DETECTOR`, the
rule, and `Rule`, its thresholds, which a policy sets in its table `contrib.NAME`.
"""

from __future__ import annotations

from guard.errors import PolicyInvalid


def check_order(rule: object, lower: str, upper: str) -> None:
    """Raise PolicyInvalid if the later threshold would be reached before the earlier one."""
    low, high = getattr(rule, lower), getattr(rule, upper)
    if high < low:
        raise PolicyInvalid(upper, f"a whole number from {low} to 50", high)
