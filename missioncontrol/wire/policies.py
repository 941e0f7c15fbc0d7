"""Policies, and what would have been asked about recorded runs: imported ones, or by a draft."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from guard.formats.recording import Why
from guard.wire import Mode
from missioncontrol.wire.decisions import AllowedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRules:
    """The rules of a run; its agent keeps them for when it cannot reach the server."""

    run: UUID
    policy_version: int | None
    policy: dict[str, Any]
    """In force for this run: its task type and its ceilings are in it."""
    mode: Mode
    project_policy: dict[str, Any]
    """What another run of the project would follow."""
    project_mode: Mode
    unanswered: Literal["proceed", "stop"]
    hold_limit: int
    allowlist: tuple[AllowedCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """A field that differs between two policies; None: not set there."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyProblem:
    """An invalid field of a policy, and what was expected."""

    field: str
    expected: str
    got: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    """A threshold as a form shows it."""

    section: str
    field: str
    value: Any
    """In the checked policy."""
    today: Any
    on: bool
    """The detector that reads it looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLine:
    """The stuck score from which a policy asks a person."""

    sensitivity: float
    """As it is written;"""
    asks_from: float | None
    """and what it comes to: more repeats allowed ask later. None: it does not ask by it."""
    today: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCheck:
    """The errors of a policy, or what it would change."""

    ok: bool
    problems: tuple[PolicyProblem, ...]
    changes: tuple[PolicyChange, ...]
    policy: dict[str, Any] | None
    """As it was read; None: it could not be."""
    text: str | None
    """The same as TOML, as typed where it came as text."""
    rules: tuple[PolicyRule, ...]
    """Every threshold, of today's policy where the checked one is wrong."""
    line: PolicyLine
    """Likewise."""
    from_preset: tuple[PolicyChange, ...]
    """Against the preset it starts from, likewise."""


# What people did: answered its card with a correction or an end, let it go on, did not answer,
# stopped it although nobody had been asked, or were never asked.
RunOutcome = Literal["corrected", "continued", "unanswered", "stopped", "unasked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScore:
    """How stuck one run was."""

    run: UUID
    run_name: str
    started_at: datetime
    score: float | None
    """Its highest stuck score; None: it was not kept."""
    turn: int | None
    """The `seq` of that turn."""
    outcome: RunOutcome
    rule: str | None
    """The detector that asked, where it was a rule and not the score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPreset:
    name: str
    asks_from: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyScores:
    """What a threshold on the stuck score would have asked about."""

    project: UUID
    days: int
    since: datetime
    runs: tuple[RunScore, ...]
    """That began since then, newest first."""
    left_out: int
    presets: tuple[PolicyPreset, ...]
    """Those to choose from, the one that asks least first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersionRow:
    project: UUID
    number: int
    policy: dict[str, Any]
    text: str
    """As it was typed; of one that came as JSON, TOML that says the same."""
    changes: tuple[PolicyChange, ...]
    """Against the version before, as they are in force."""
    note: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAlarm:
    """Where a card would have opened if the run had been live and nobody had answered."""

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
    """An imported run's source, and what people would have been asked."""

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
    """What a policy would have done in total."""

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
