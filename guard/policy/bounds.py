"""What a threshold may be; each check names the field it refuses."""

from __future__ import annotations

from guard.errors import PolicyInvalid


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Refuse what is no whole number from `low` to `high`."""
    if isinstance(value, bool) or not low <= value <= high:
        raise PolicyInvalid(name, f"a whole number from {low} to {high}", value)


def check_share(name: str, value: float) -> None:
    """Refuse what is not in (0, 1]."""
    if not 0.0 < value <= 1.0:
        raise PolicyInvalid(name, "a number above 0, at most 1", value)


def check_number(name: str, value: float, low: float, high: float) -> None:
    """Refuse what is not from `low` to `high`."""
    if not low <= value <= high:
        raise PolicyInvalid(name, f"a number from {low:g} to {high:g}", value)
