"""One span or log record, as every dialect reads it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Signal = Literal["traces", "logs", "metrics"]
# Of a 64-bit number.
MOST_DIGITS = 20
# Of a column of 200: some add a word in front.
LONGEST_KEY = 190


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened inside a span."""

    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A span, or a log record, which begins and ends at its moment.

    `place` is its position in the request; `name` a span's name or a log record's
    event; `failure` what a failed span says of it; ids are lower-case hex.
    """

    signal: Signal
    place: int
    name: str
    attributes: Mapping[str, Any]
    resource: Mapping[str, Any] = field(default_factory=dict)
    trace: str = ""
    span: str = ""
    parent: str = ""
    time_ns: int = 0
    began_at: datetime | None = None
    ended_at: datetime | None = None
    failure: str | None = None
    events: tuple[Event, ...] = ()

    @property
    def service(self) -> str:
        """The instrumented program's name; empty where nobody named it."""
        name = self.text("service.name", resource=True)
        # What SDKs call a program that nobody named.
        return "" if name.startswith("unknown_service") else name

    @property
    def key(self) -> str:
        """What this record is known by, however often it is sent.

        A session's numbering starts anew when Claude Code resumes it, with a new
        prompt: so the prompt is part of the name.
        """
        sequence = self.attributes.get("event.sequence")
        if sequence is not None and self.text("session.id"):
            return fitted(f"{self.text('session.id')}:{sequence}:{self.text('prompt.id')}")
        # With its moment and name: a log record has no id of its own.
        return fitted(f"{self.trace}:{self.span}:{self.time_ns}:{self.name}")

    def text(self, *names: str, resource: bool = False) -> str:
        """Return the first of these attributes that is a text and not empty."""
        attributes = self.resource if resource else self.attributes
        for name in names:
            value = attributes.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    def count(self, *names: str) -> int:
        """Return the first of these attributes that is a whole number, else 0."""
        for name in names:
            value = whole(self.attributes.get(name))
            if value is not None:
                return value
        return 0

    def has(self, *names: str) -> bool:
        """Whether any of these attributes is there."""
        return any(name in self.attributes for name in names)


def whole(value: Any) -> int | None:
    """Read a whole number; agents send them as texts and as decimals too."""
    # Python's `True` is an integer, and no amount.
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        digits = value.strip()
        return (
            int(digits)
            if digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS
            else None
        )
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def fitted(name: str) -> str:
    """Return a name that fits a column; a longer one ends in its digest."""
    if len(name) <= LONGEST_KEY:
        return name
    # Two long names that begin alike stay two.
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:32]
    return f"{name[: LONGEST_KEY - 33]}~{digest}"
