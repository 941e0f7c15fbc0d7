"""Runs and their turns."""

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
# What the client of a run that has not ended does: it works, rests until its next prompt, waits
# for permission from the person at its terminal, or is known to be gone.
Presence = Literal["working", "idle", "waiting", "gone"]
UsageSource = Literal["turns", "transcript", "spans", "logs"]
BudgetScope = Literal["run", "tree", "agent", "project", "day", "organisation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """A budget that is nearly used up (`warning`, from 80 %) or is `reached`."""

    scope: BudgetScope
    """What the ceiling applies to: this run; a run above it with its whole tree; an agent; the
    project; the project's day; or all projects together on a day in UTC."""
    whose: str | None
    """The agent's name, the day, or the id of the run above."""
    unit: str
    level: Literal["warning", "reached"]
    # Text, like `ceiling`: dollars as a decimal, anything else as a whole number.
    spent: str
    """Empty for the organisation, because not everybody may see what other projects spent."""
    ceiling: str
    share: float
    """Spent share of the ceiling when this was reported, in [0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meters:
    """What changes with every turn; derived, never journalled."""

    turns: int
    usage: Usage
    cost_usd: Decimal
    judge_cost_usd: Decimal
    unpriced_calls: int
    usage_source: UsageSource | None
    """The source of the usage; a better source replaces a worse one."""
    calls: int
    """The number of completed tool calls."""
    burn_usd_per_hour: Decimal
    """Dollars an hour over the last five minutes."""
    doing: str
    """The last turn in one line: "Bash pytest -q"."""
    agent: str
    model: str
    presence: Presence
    last_turn_at: datetime | None
    tape: tuple[TapePoint, ...]
    """`[score, changed]` for each judged turn: how near it is to a card, in [0, 1], where 1 opens
    one, and whether something changed. In a row: the last 44. In a meters frame: from the first
    new or redrawn point to the last. The last point is judged turn number `judged_turns` of the
    run; points replace those with the same number."""
    judged_turns: int
    """How many tape points the run has had in all; gives the new points their position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(Meters):
    id: UUID
    project: UUID
    key: str | None
    name: str
    goal: str
    status: RunStatus
    mode: Mode
    version: int
    open_decisions: int
    budget: dict[str, Any]
    """The ceilings in force: the policy's, the project's for each run, and the run's own."""
    budget_state: BudgetState | None
    """The last warning about a ceiling, the run's own or a shared one; None again once ceilings
    change."""
    capabilities: dict[str, Any]
    """As its adapter reported: `hold inject terminate cost away why` (docs/protocol.md)."""
    unavailable: dict[str, str]
    """Action -> why this agent cannot do it."""
    policy_version: int | None
    """The version of the project's policy that it follows; None: it has its own policy."""
    parent: UUID | None
    relation: KinRelation | None
    """How it relates to its parent: the parent's agent started it, a person continued from there,
    or it replaced the parent."""
    root: UUID | None
    """The outermost run of the tree it belongs to; None: itself."""
    started_at: datetime
    ended_at: datetime | None
    seq: int
    """`seq` of the run's last journal event."""
    # Defaults from here on, because old journal rows lack these fields.
    presence: Presence = "working"
    hold_stands: bool = False
    """It ended while held and will be held if it is resumed; `continue` lifts that."""
    imported: bool = False
    """A recording that a person imported: it cannot be acted on and is in no total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """A tree of linked runs, and their total usage."""

    root: UUID
    runs: tuple[RunRow, ...]
    """In the order they were opened; at most the newest 200."""
    count: int
    turns: int
    calls: int
    cost_usd: Decimal
    judge_cost_usd: Decimal
    unpriced_calls: int


PartKind = Literal[
    "same",
    "again",
    "near",
    "still_failing",
    "reworded",
    "other_question",
    "news",
    "some_news",
    "new_failure",
    "better",
    "rule",
    "reset",
    "other",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    id: UUID
    project: UUID
    run: UUID
    seq: int
    key: str | None
    agent: str
    role: str
    phase: Literal["proposed", "done"]
    skipped: bool
    """The call did not run, because a person or an autofix answered instead."""
    tool: str | None
    args: dict[str, Any] | None
    content: str | None
    result: str | None
    error: str | None
    files: tuple[str, ...]
    action_class: str
    model: str | None
    usage: Usage | None
    cost_usd: Decimal | None
    score: float | None
    """How near it is to a card, in [0, 1]; 1 opens one."""
    changed: bool | None
    detector: str | None
    """The detector that tripped at this turn."""
    ts: datetime
    done_at: datetime | None
    cut: tuple[str, ...] = ()
    """Fields shortened to their beginning, as in lists and live events; `runs/{id}/turns/{seq}/`
    returns them in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTurns:
    """Which turns of a run match a filter, by their `seq`."""

    run: UUID
    count: int
    ranges: tuple[tuple[int, int], ...]
    """First and last `seq` of each stretch without a gap, in order."""
    searched_from: int
    """The earliest turn that was searched; above 0 if time ran out: to continue, search again with
    it as `before_seq`."""
    searched_to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacets:
    """The number of turns of each kind in a run, the most frequent first."""

    run: UUID
    turns: int
    agents: tuple[tuple[str, int], ...]
    tools: tuple[tuple[str, int], ...]
    """`text` stands for turns that call no tool."""
    roles: tuple[tuple[str, int], ...]
    signals: tuple[tuple[str, int], ...]
    """Turns by the detector that tripped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """One turn, or several combined: the highest of each value, so that spikes stay visible."""

    from_seq: int
    to_seq: int
    at: datetime
    """The time of its first turn."""
    score: float | None
    """The highest score, in [0, 1]; None: no turn was judged."""
    score_least: float | None
    changed: bool
    """Something really changed in at least one of them."""
    signals: int
    failures: int
    cost_usd: Decimal
    """The sum over all its turns."""
    fresh: int
    """Input tokens that came from no cache: the highest of any turn."""
    cached: int
    """Input tokens read from a cache: the highest of any turn."""
    output: int
    """Output tokens: the highest of any turn."""
    tokens: int
    """The sum over all its turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeries:
    """A summary of a section of a run."""

    run: UUID
    from_seq: int
    to_seq: int
    turns: int
    turns_a_point: int
    cost_before_usd: Decimal
    """The cost of the turns before this section."""
    points: tuple[SeriesPoint, ...]
    asks_from: float | None = None
    """The stuck score from which the run's policy asks; a point's score is 1 there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentRow:
    """The turn of a run at a moment."""

    at: datetime
    seq: int
    """`seq` of the first turn at or after `at`; if there is none yet, of the next turn to come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOffRow:
    """Another agent took over."""

    seq: int
    """The first turn of the agent that took over."""
    giver: str
    taker: str
    asked: TurnRow
    """The giver's last turn before the hand-off."""
    new_facts: int
    """Turns since the previous hand-off in which something really changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOffs:
    """The hand-offs between a run's agents, oldest first."""

    run: UUID
    results: tuple[HandOffRow, ...]
    more: bool
    """Whether older hand-offs are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryRow:
    """A span or log record as the agent sent it, masked and limited in size."""

    id: int
    run: UUID
    project: UUID
    name: str
    agent: str
    attributes: dict[str, Any]
    turn_key: str | None
    """The key of the turn it is about."""
    began_at: datetime | None
    """By the agent's clock."""
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePart:
    """One reason why the score changed."""

    kind: PartKind
    """What the turn repeats or adds; `rule`: a rule counts it; `reset`: a person intervened;
    `other`: old turns are no longer taken into account."""
    amount: float
    """What it adds to the score; negative: it lowers the score."""
    turns: tuple[int, ...]
    """The earlier turns it is based on."""
    rule: str | None
    repeats: int | None
    limit: int | None
    """For a rule, with `rule` and `repeats`: its kind, the repeats counted, and the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreMove:
    """How the stuck score moved at a turn, in parts that add up."""

    run: UUID
    seq: int
    score: float
    """The stuck score after the turn, in [0, 1]."""
    before: float
    asks_from: float | None
    """The score from which the run's policy asks; None: it does not ask by the score."""
    parts: tuple[ScorePart, ...]
    changed_seq: int | None
    """The last turn before it in which something really changed."""
    is_as_recorded: bool
    """Whether the engine still gives the recorded score; False: the policy or its input differs."""
