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
from missioncontrol.redaction import Redaction

EARLIEST_YEAR, LATEST_YEAR = 1970, 2200


def storable_text(text: str) -> str:
    """Drop NUL, which PostgreSQL cannot hold, and replace lone surrogates.

    Agents cut emoji in half when they shorten a text; a half cannot be encoded.
    """
    text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def storable_json(value: Any) -> Any:
    """Return JSON that every database returns unchanged: no NUL, NaN, infinity or -0."""
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float):  # PostgreSQL has no negative zero
        return value + 0.0 if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {storable_json(name): storable_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [storable_json(part) for part in value]
    return value


def texts_in(value: Any, *, max_depth: int | None = None) -> Iterator[str]:
    """Yield every text in a JSON value, including field names and numbers."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        if max_depth == 0:
            return
        below = None if max_depth is None else max_depth - 1
        parts = itertools.chain.from_iterable(value.items()) if isinstance(value, dict) else value
        for part in parts:
            yield from texts_in(part, max_depth=below)
    # Not `True`: it would be found in every run.
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def masked_text(text: str | None, redaction: Redaction) -> str | None:
    """Return a storable text without secrets and without matches of a project's rules."""
    # Secrets first: the project's rules skip what is masked already.
    return redaction.mask_text(redact(storable_text(text))) if text else text


def masked_name(text: str | None, max_length: int, redaction: Redaction) -> str:
    """Return a storable name without secrets, of at most `max_length` characters."""
    # Masked before it is cut: half of a secret would not be recognized.
    return (masked_text(text, redaction) or "")[:max_length]


def masked_json(value: Any, redaction: Redaction) -> Any:
    """Return storable JSON without secrets and without matches of a project's rules."""
    return redaction.mask_json(redact_json(storable_json(value))) if value else value


def storable_moment(moment: datetime | None) -> datetime | None:
    """Return a moment in UTC; None: its year is outside 1970 to 2200."""
    if moment is None:
        return None
    try:
        # A moment without a time zone is taken as UTC.
        known = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except OverflowError:
        return None
    return known if EARLIEST_YEAR <= known.year <= LATEST_YEAR else None


SHORT_FIELDS = ("key", "agent", "tool", "state", "action_class", "call_id", "model", "provider")
# Each with its column's length: a mask may be longer than what it hides. Models and providers are
# not masked, as prices are looked up by them, nor are ids, which link turns and calls.
MASKED_FIELDS = {"agent": 100, "state": 200, "tool": 200}


def storable_turn(turn: Turn, redaction: Redaction) -> Turn:
    """Return the turn without secrets and with short fields that fit a column.

    An empty short field becomes None.
    """
    changes: dict[str, Any] = {
        "content": masked_text(turn.content, redaction),
        "result": masked_text(turn.result, redaction),
        "error": masked_text(turn.error, redaction),
        "args": masked_json(turn.args, redaction),
        "files": tuple(masked_text(path, redaction) or "" for path in turn.files),
    }
    # Its texts come from the agent too.
    if turn.nature is not None:
        changes["nature"] = ToolNature.from_mapping(storable_json(asdict(turn.nature)))
    for name in SHORT_FIELDS:
        if (text := getattr(turn, name)) is None:
            continue
        max_length = MASKED_FIELDS.get(name)
        fit = masked_name(text, max_length, redaction) if max_length else storable_text(text)
        if fit != text or not fit:
            changes[name] = fit or None
    return replace(turn, **changes)
