"""Policies, and what people would have been asked about imported runs, or under a draft."""

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
    """The policy in force for this run, including its task type and ceilings."""
    mode: Mode
    project_policy: dict[str, Any]
    """The policy that other runs of the project follow."""
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
    """The value in the checked policy."""
    today: Any
    on: bool
    """Whether the detector that uses it is on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLine:
    """The stuck score from which a policy asks a person."""

    sensitivity: float
    """The value in the policy."""
    asks_from: float | None
    """The resulting score, higher if more repeats are allowed; None: it does not ask by score."""
    today: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCheck:
    """The errors of a policy, or what it would change."""

    ok: bool
    problems: tuple[PolicyProblem, ...]
    changes: tuple[PolicyChange, ...]
    policy: dict[str, Any] | None
    """The policy as it was read; None: it could not be read."""
    text: str | None
    """The same policy as TOML; unchanged if it was sent as text."""
    rules: tuple[PolicyRule, ...]
    """Every threshold; those of today's policy if the checked one is invalid."""
    line: PolicyLine
    """Of today's policy if the checked one is invalid."""
    from_preset: tuple[PolicyChange, ...]
    """Differences from the preset it starts from; of today's policy if the checked is invalid."""


# What people did: answered a card with a correction or an end, continued the run, did not answer,
# stopped the run although nobody had been asked, or were never asked.
RunOutcome = Literal["corrected", "continued", "unanswered", "stopped", "unasked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScore:
    """How stuck one run was."""

    run: UUID
    run_name: str
    started_at: datetime
    score: float | None
    """Its highest stuck score; None: not recorded."""
    turn: int | None
    """`seq` of the turn with that score."""
    outcome: RunOutcome
    rule: str | None
    """The detector that asked, if it was not the stuck score."""


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
    """Runs that began after `since`, newest first."""
    left_out: int
    presets: tuple[PolicyPreset, ...]
    """The presets to choose from, the one that asks least often first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersionRow:
    project: UUID
    number: int
    policy: dict[str, Any]
    text: str
    """The text as it was typed; for a policy sent as JSON, the equivalent TOML."""
    changes: tuple[PolicyChange, ...]
    """Differences from the previous version, both as in force."""
    note: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAlarm:
    """Where a card would have opened if the run had been live and nobody had answered."""

    turn: int
    """`seq` of the turn."""
    detector: str
    kind: str
    summary: str
    until: int | None
    """`seq` of the turn at which the agent recovered by itself; None: it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadEntry:
    """An entry of the file that could not be read."""

    entry: int
    """Its line number, or its position in a JSON list; from 1."""
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
    """Whether this request imported it."""
    unread: tuple[UnreadEntry, ...] = ()
    """The first few of `unreadable`; set only in the answer to an import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestFlag:
    """Where a policy would have raised its first alarm in a recorded run."""

    alarm_turn: int
    stop_turn: int | None
    """Where it would have ended the run; None: nowhere."""
    detector: str
    kind: str
    summary: str
    turns_after: int
    """The number of turns after the alarm."""
    cost_after_usd: Decimal | None
    """The cost of those turns; None: unpriced."""


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
    """What the answers to its cards say; None: nobody answered."""
    differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestSide:
    """What a policy would have done in total."""

    flagged: int
    stopped: int
    loops_found: int
    """Flagged runs whose card people or the judge answered as a loop."""
    healthy_flagged: int
    """Flagged runs whose cards were all answered by continuing."""
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
    """Runs left out because one backtest replays only so many."""
    turns: int
    error: str | None
    by: str
    at: datetime
    finished_at: datetime | None
    policy: dict[str, Any]
    today_policy: dict[str, Any]
    today_version: int
    loops: int
    """Replayed runs that people or the judge called a loop."""
    healthy: int
    """Replayed runs that they let go on."""
    proposed: BacktestSide
    today: BacktestSide
    runs: tuple[BacktestRunRow, ...]
    """Runs that either policy flags, newest first."""
