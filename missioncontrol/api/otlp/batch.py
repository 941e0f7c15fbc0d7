"""What a request held: the records that could be read, and why others could not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from missioncontrol.api.otlp.record import Record, Signal, whole
from missioncontrol.runs.cleaning import storable, storable_text

# Far above what exporters send at once (512 spans, by the specification's default).
MOST_RECORDS = 20_000
# Of a value within a value.
DEEPEST = 24
# The year 2200: no database reads a later one back.
LAST_SECOND = 7_258_118_400


class Unreadable(ValueError):
    """One record cannot be read; the others can."""


@dataclass(slots=True)
class Batch:
    """Records in the order of the request; `refused` says why, by position."""

    signal: Signal
    records: list[Record] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    points: int = 0
    """Data points of metrics, which are looked at and not kept."""

    def refuse(self, place: int, why: str) -> None:
        """Leave out a record and say why."""
        self.refused[place] = why

    @property
    def message(self) -> str:
        """Say what was refused, the first few by name; empty where nothing was."""
        reasons = [f"record {place}: {why}" for place, why in sorted(self.refused.items())[:5]]
        more = len(self.refused) - len(reasons)
        return "; ".join(reasons) + (f"; and {more} more" if more else "")


def moment(nanoseconds: int) -> datetime | None:
    """Return a moment; None where none was told or it cannot be."""
    if not 0 < nanoseconds < LAST_SECOND * 1_000_000_000:  # before dividing: it may fit no float
        return None
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def began(when_ns: int, attributes: dict[str, Any]) -> datetime | None:
    """Return when a log record's deed began: it is told at its end, with its duration."""
    # A negative duration, of a clock that was set back, must not put it after its end.
    took = whole(attributes.get("duration_ms")) or 0
    return moment(when_ns - max(took, 0) * 1_000_000) or moment(when_ns)


def hex_id(text: str, length: int, what: str) -> str:
    """Return an id in lower case; an empty or all-zero one is none.

    Raises:
        Unreadable: it is no id.
    """
    text = text.lower()
    # W3C Trace Context: an id of zeros alone is no id.
    if not text.strip("0"):
        return ""
    if len(text) != length or any(letter not in "0123456789abcdef" for letter in text):
        raise Unreadable(f"{what} must be {length} hexadecimal digits")
    return text


def named(attributes: Iterator[tuple[str, Any]]) -> dict[str, Any]:
    """Return attributes by name, fit to be stored; the last of the same name counts."""
    return {storable_text(name): storable(value) for name, value in attributes if name}


def event_name(attributes: dict[str, Any], own: str, body: Any) -> str:
    """Name a log record: by its attribute, its own field, or its text."""
    # The attribute is the older place, the record's own field the newer; some use neither.
    name = attributes.get("event.name") or own or body
    return storable_text(name)[:200] if isinstance(name, str) else ""
