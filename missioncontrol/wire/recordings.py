"""Recordings: runs that were over when a person imported them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from guard.formats.recording import Why


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAlarm:
    """Where a card would have opened, had the run been live and nobody answered."""

    turn: int
    """`seq`."""
    detector: str
    kind: str
    summary: str
    until: int | None
    """`seq` of the turn at which the agent got on by itself; None: it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadEntry:
    """An entry of the file that could not be read."""

    entry: int
    """Its line, or its place in a JSON list; from 1."""
    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingRow:
    """What an imported run was read from, and what would have been asked."""

    run: UUID
    run_name: str
    project: UUID
    file: str
    form: str
    """`claude-code codex gemini trajectory messages turns otlp`."""
    turns: int
    unreadable: int
    """Entries of the file that could not be read and were left out."""
    alarms: tuple[RecordedAlarm, ...]
    by: str
    at: datetime
    is_new: bool = False
    """It was imported just now, by this request."""
    unread: tuple[UnreadEntry, ...] = ()
    """The first few of `unreadable`: told by the import alone."""
