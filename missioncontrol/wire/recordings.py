"""What would have been asked about recorded runs: imported ones, and of a proposed policy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal
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
    """`claude-code codex gemini trajectory messages turns transcript otlp`."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestFlag:
    """Where a policy would have raised its first alarm in a recorded run."""

    alarm_turn: int
    stop_turn: int | None
    """Where it would have ended the run; None: it would not have."""
    detector: str
    kind: str
    summary: str
    turns_after: int
    """Turns the run took after the alarm."""
    cost_after_usd: Decimal | None
    """What they cost; None: unpriced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestRunRow:
    run: UUID
    run_name: str
    agent: str
    started_at: datetime
    turns: int
    proposed: BacktestFlag | None
    today: BacktestFlag | None
    label: Literal["loop", "healthy"] | None
    """How its cards were answered; None: nobody said."""
    differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestSide:
    """What one policy would have done in all."""

    flagged: int
    stopped: int
    loops_found: int
    """Flagged runs whose card people or the judge answered as a loop."""
    healthy_flagged: int
    """Flagged runs whose every card was let go on."""
    turns_after: int
    cost_after_usd: Decimal | None
    detectors: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestRow:
    id: UUID
    project: UUID
    status: Literal["queued", "running", "done", "failed"]
    since: datetime | None
    total: int
    done: int
    left_out: int
    """Runs beyond what one backtest replays."""
    turns: int
    error: str | None
    by: str
    at: datetime
    finished_at: datetime | None
    policy: dict[str, Any]
    today_policy: dict[str, Any]
    today_version: int
    loops: int
    """Replayed runs that people or the judge called a loop,"""
    healthy: int
    """and that they let go on."""
    proposed: BacktestSide
    today: BacktestSide
    runs: tuple[BacktestRunRow, ...]
    """Those that either policy flags, newest first."""
