"""Policies: what is in force, what is wrong with a draft, what it would change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from guard.wire import Mode
from missioncontrol.wire.allowlist import AllowedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRules:
    """What a run follows; its agent keeps it for when it cannot ask."""

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
    """One field that differs between two policies; None: not set there."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyProblem:
    """One wrong field of a policy, and what was expected."""

    field: str
    expected: str
    got: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    """One threshold as a form shows it."""

    section: str
    field: str
    value: Any
    """In the checked policy."""
    today: Any
    on: bool
    """The detector that reads it looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLine:
    """From which stuck score a policy asks."""

    sensitivity: float
    """As it is written;"""
    asks_from: float | None
    """and what it comes to: more repeats allowed ask later. None: it does not ask by it."""
    today: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCheck:
    """What is wrong with a policy; where nothing is, what it would change."""

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
# stopped it though nobody had been asked, or were never asked.
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
    """What a line over the stuck score would have asked about."""

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
