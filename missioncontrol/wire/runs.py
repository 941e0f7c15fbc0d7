"""Runs: one row each, and what moves in it with every turn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from guard.turn import Usage
from guard.wire import Mode

RunStatus = Literal[
    "running", "holding", "held", "stopping", "completed", "failed", "terminated", "lost"
]
# A pair, not an object: each row of a board has 44 of them.
TapePoint = tuple[float, bool]
KinRelation = Literal["child", "resumed", "forked", "restart"]
# What the client does while its run has not ended: it works, rests until its next prompt, waits for
# its own person's permission, or is known to be gone.
Presence = Literal["working", "idle", "waiting", "gone"]
UsageSource = Literal["turns", "transcript", "spans", "logs"]
BudgetScope = Literal["run", "tree", "agent", "project", "day", "organisation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """A ceiling that nears its end (`warning`, from 80 %) or is `reached`."""

    scope: BudgetScope
    """Whose it is: this run's, or what a run above it with its whole tree, an agent, the
    project or its day may use, or all projects on a day in UTC."""
    whose: str | None
    """The agent's name, the day, or the id of the run above."""
    unit: str
    level: Literal["warning", "reached"]
    # Text, as `ceiling`: of dollars a decimal, of anything else a whole number.
    spent: str
    """Empty for the organisation's: what other projects used is not for everybody."""
    ceiling: str
    share: float
    """Of the ceiling, in [0, 1], when it was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meters:
    """What moves with every turn; derived, never journalled."""

    turns: int
    usage: Usage
    cost_usd: Decimal
    judge_cost_usd: Decimal
    unpriced_calls: int
    usage_source: UsageSource | None
    calls: int
    """Tool calls that are done."""
    burn_usd_per_hour: Decimal
    """Dollars an hour over the last five minutes."""
    doing: str
    """The last turn in one line: "Bash pytest -q"."""
    agent: str
    model: str
    presence: Presence
    last_turn_at: datetime | None
    tape: tuple[TapePoint, ...]
    """`[score, changed]` a judged turn: how near a card it is in [0, 1], 1 opens
    one, and whether something changed. In a row: the last 44. In a meters
    frame: from the first point that is new or redrawn to the last; the last one is
    turn number `judged_turns` of the run, so points replace what stood there."""
    judged_turns: int
    """How many tape points the run has had in all; places the new points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    id: UUID
    project: UUID
    key: str | None
    name: str
    agent: str
    goal: str
    status: RunStatus
    mode: Mode
    version: int
    turns: int
    usage: Usage
    cost_usd: Decimal
    judge_cost_usd: Decimal
    unpriced_calls: int
    usage_source: UsageSource | None
    """Who told what it used; a better source replaces a worse one."""
    calls: int
    burn_usd_per_hour: Decimal
    open_decisions: int
    budget: dict[str, Any]
    """The ceilings in force: the policy's, the project's for each run, its own."""
    budget_state: BudgetState | None
    """What was last told of a ceiling, this run's or a shared one; None once the
    ceilings moved."""
    capabilities: dict[str, Any]
    """What its adapter told: `hold inject terminate cost away why` (docs/protocol.md)."""
    unavailable: dict[str, str]
    """Action -> why this agent cannot do it."""
    policy_version: int | None
    """Of the project's policy it runs under; None: it brought its own."""
    parent: UUID | None
    relation: KinRelation | None
    """To its parent: the parent's agent started it, a person went on from there, or it
    took the parent's place."""
    root: UUID | None
    """The outermost run of the tree it counts in; None: itself."""
    doing: str
    model: str
    tape: tuple[TapePoint, ...]
    judged_turns: int
    started_at: datetime
    last_turn_at: datetime | None
    ended_at: datetime | None
    seq: int
    """`seq` of the run's last journal event."""
    # With defaults from here on: rows in the journal are older than these fields.
    presence: Presence = "working"
    hold_stands: bool = False
    """It ended while it was held, and is held when it comes back; `continue` lifts that."""
    imported: bool = False
    """A recording that a person imported: nothing can be done to its agent, nothing is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """Runs that belong together, and what all of them used."""

    root: UUID
    runs: tuple[RunRow, ...]
    """In the order they were opened, at most 200: the newest."""
    count: int
    turns: int
    calls: int
    cost_usd: Decimal
    judge_cost_usd: Decimal
    unpriced_calls: int
