"""Reading hook bodies that nobody promised the shape of."""

from __future__ import annotations

from typing import Any

from guard.adapters.base import Body


def text(body: Body, name: str) -> str:
    """Return a text field; empty where it is none."""
    value = body.get(name)
    return value if isinstance(value, str) else ""


def names(listing: Any) -> tuple[str, ...]:
    """Return the texts of a list."""
    if not isinstance(listing, list):
        return ()
    return tuple(name for name in listing if isinstance(name, str))


def whole(value: Any) -> int | None:
    """Return a whole number of 0 or more; None where it is none."""
    counts = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if counts else None


def mapping(value: Any) -> dict[str, Any]:
    """Return an object; empty where it is none."""
    return value if isinstance(value, dict) else {}
