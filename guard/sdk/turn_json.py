"""Turns as JSON, as a session reports them."""

from __future__ import annotations

import logging
from dataclasses import asdict, fields
from typing import Any

from guard.turn import Turn

logger = logging.getLogger("guard")

# Of one text; a request may have 8 MB in all.
MAX_CHARS = 200_000


# The server numbers the turns.
_FIELDS = tuple(field.name for field in fields(Turn) if field.name != "seq")


def turn_to_json(turn: Turn) -> dict[str, Any]:
    """Write a turn; absent fields are left out."""
    written = {name: getattr(turn, name) for name in _FIELDS}
    for name in ("content", "result", "error"):
        written[name] = cut_middle(written[name])
    if turn.usage is not None:
        written["usage"] = asdict(turn.usage)
    if turn.nature is not None:
        written["nature"] = asdict(turn.nature)
    if turn.ts is not None:
        written["ts"] = turn.ts.isoformat()
    # An empty text stays: an empty answer differs from no answer yet.
    return {name: value for name, value in written.items() if value not in (None, ())}


def cut_middle(text: str | None, max_chars: int = MAX_CHARS) -> str | None:
    """Cut the middle out of a text that nobody reads to the end."""
    if text is None or len(text) <= max_chars:
        return text
    half = max_chars // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters cut]\n{text[-half:]}"


def text_of(value: object) -> str:
    """Return a value as text; if its own code fails at that, the name of its type."""
    try:
        return str(value)
    except Exception:
        logger.debug("a value that cannot be told as text", exc_info=True)
        return f"<{type(value).__qualname__}>"
