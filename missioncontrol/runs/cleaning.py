"""Make text and JSON fit to be stored: masked, and storable in every database."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from guard.nature import ToolNature
from guard.redact import redact, redact_json
from guard.turn import Turn
from missioncontrol.redaction import NOTHING, Redaction

EARLIEST, LATEST = 1970, 2200


def storable_text(text: str) -> str:
    """Drop NUL, which PostgreSQL cannot hold, and replace halves of a character.

    Agents cut emoji in half when they shorten a text; the half has no encoding.
    """
    text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def storable(value: Any) -> Any:
    """Return JSON that every database gives back alike: no NUL, no NaN, no infinity, no -0."""
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float):  # PostgreSQL has no zero below zero
        return value + 0.0 if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {storable(name): storable(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [storable(part) for part in value]
    return value


def texts_in(value: Any, *, deepest: int | None = None) -> Iterator[str]:
    """Yield every text in a JSON value, names of fields and numbers too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        if deepest == 0:
            return
        below = None if deepest is None else deepest - 1
        parts = itertools.chain.from_iterable(value.items()) if isinstance(value, dict) else value
        for part in parts:
            yield from texts_in(part, deepest=below)
    # Not `True`: it would be found in every run.
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def masked_text(text: str | None, own: Redaction = NOTHING) -> str | None:
    """Return a storable text without secrets, nor what a project's `own` rules match."""
    # Secrets first: the project's rules leave alone what is masked already.
    return own.text(redact(storable_text(text))) if text else text


def masked_name(text: str | None, most: int, own: Redaction = NOTHING) -> str:
    """Return a storable name without secrets, at most so many characters long."""
    # Masked before it is cut: half of a secret would not be recognized.
    return (masked_text(text, own) or "")[:most]


def masked_json(value: Any, own: Redaction = NOTHING) -> Any:
    """Return storable JSON without secrets, nor what a project's `own` rules match."""
    return own.json(redact_json(storable(value))) if value else value


def storable_moment(moment: datetime | None) -> datetime | None:
    """Return a moment in UTC; None: a year no database reads back."""
    if moment is None:
        return None
    try:
        # One that names no zone is taken for UTC: nothing says more of it.
        known = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except OverflowError:
        return None
    return known if EARLIEST <= known.year <= LATEST else None


SHORT_FIELDS = ("key", "agent", "tool", "state", "action_class", "call_id", "model", "provider")
# With the length that fits the column: a mask may be longer than what it hides. Not models and
# providers, which prices go by, nor ids, which pair what belongs together.
MASKED_FIELDS = {"agent": 100, "state": 200, "tool": 200}


def storable_turn(turn: Turn, own: Redaction = NOTHING) -> Turn:
    """Return the turn without secrets and with short fields that fit a column.

    An empty short field is absent.
    """
    changes: dict[str, Any] = {
        "content": masked_text(turn.content, own),
        "result": masked_text(turn.result, own),
        "error": masked_text(turn.error, own),
        "args": masked_json(turn.args, own),
        "files": tuple(masked_text(path, own) or "" for path in turn.files),
    }
    # Its texts come from the agent as well.
    if turn.nature is not None:
        changes["nature"] = ToolNature.from_mapping(storable(asdict(turn.nature)))
    for name in SHORT_FIELDS:
        if (text := getattr(turn, name)) is None:
            continue
        longest = MASKED_FIELDS.get(name)
        fit = masked_name(text, longest, own) if longest else storable_text(text)
        if fit != text or not fit:
            changes[name] = fit or None
    return replace(turn, **changes)
