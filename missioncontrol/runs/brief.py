"""Show a turn's texts at a glance: a list of turns stays small whatever they hold. Pure."""

from __future__ import annotations

from typing import Any

# Characters of a content, result or error that a list or a live event carries.
LONGEST_TEXT = 4096

_LONGEST_ARG = 1024
_MOST_MEMBERS = 32
_DEEPEST = 5


def is_long(text: str | None) -> bool:
    """Say whether a text is shown cut."""
    return text is not None and len(text) > LONGEST_TEXT


def brief_text(text: str | None) -> str | None:
    """Return the beginning of a text.

    >>> brief_text("short")
    'short'
    """
    return text[:LONGEST_TEXT] if text is not None and is_long(text) else text


def brief_args(args: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return arguments with their long texts, long lists and depths cut.

    >>> brief_args({"command": "ls", "n": 1})
    {'command': 'ls', 'n': 1}
    """
    if args is None:
        return None
    cut: dict[str, Any] = _brief(args, 0)
    return cut


def _brief(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return value[:_LONGEST_ARG]
    if not isinstance(value, dict | list):
        return value
    if depth >= _DEEPEST:
        return "…"
    if isinstance(value, list):
        return [_brief(part, depth + 1) for part in value[:_MOST_MEMBERS]]
    kept = list(value.items())[:_MOST_MEMBERS]
    # Names are cut too: they are an agent's text as much as the values.
    return {name[:_LONGEST_ARG]: _brief(part, depth + 1) for name, part in kept}
