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
# What the client does while its run has not ended: it works, rests until its next prompt, waits for
# its own person's permission, or is known to be gone.
Presence = Literal["working", "idle", "waiting", "gone"]
UsageSource = Literal["turns", "transcript", "spans", "logs"]
BudgetScope = Literal["run", "tree", "agent", "project", "day", "organisation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """A budget that is nearly used up (`warning`, from 80 %) or is `reached`."""

    scope: BudgetScope
    """Whose it is: this run's, or what a run above it with its whole tree, an agent, the
    project or its day may use, or all projects on a day in UTC."""
    whose: str | None
    """The agent's name, the day, or the id of the run above."""
    unit: str
    level: Literal["warning", "reached"]
    # Text, like `ceiling`: dollars as a decimal, anything else as a whole number.
    spent: str
    """Empty for the organisation's: what other projects used is not for everybody."""
    ceiling: str
    share: float
    """Of the ceiling, in [0, 1], when it was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meters:
    """What changes with every turn; derived, never journalled."""

    turns: int
    usage: Usage
    cost_usd: Decimal
    judge_cost_usd: Decimal
    unpriced_calls: int
    usage_source: UsageSource | None
    """Who told what it used; a better source replaces a worse one."""
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
    started_at: datetime
    ended_at: datetime | None
    seq: int
    """`seq` of the run's last journal event."""
    # With defaults from here on, because old rows of the journal lack these fields.
    presence: Presence = "working"
    hold_stands: bool = False
    """It ended while it was held, and is held when it comes back; `continue` lifts that."""
    imported: bool = False
    """A recording that a person imported: nothing can be done to its agent, nothing is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """A tree of linked runs, and their total usage."""

    root: UUID
    runs: tuple[RunRow, ...]
    """In the order they were opened, at most 200: the newest."""
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
    """A person or an autofix answered instead: the call did not run."""
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
    """How near a card it is, in [0, 1]; 1 opens one."""
    changed: bool | None
    detector: str | None
    """Set when this turn tripped."""
    ts: datetime
    done_at: datetime | None
    cut: tuple[str, ...] = ()
    """Fields of which only the beginning stands here, as in lists and live events;
    `runs/{id}/turns/{seq}/` has them in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTurns:
    """Which turns of a run match a filter, by their `seq`."""

    run: UUID
    count: int
    ranges: tuple[tuple[int, int], ...]
    """First and last `seq` of each stretch without a gap, in order."""
    searched_from: int
    """The first turn looked at; above 0: a search ran out of its time, go on with
    `before_seq` set to it."""
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
    """By the detector that tripped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """One turn, or several combined: the highest of each value, so that spikes stay visible."""

    from_seq: int
    to_seq: int
    at: datetime
    """Of its first turn."""
    score: float | None
    """The highest, in [0, 1]; None: none was judged."""
    score_least: float | None
    changed: bool
    """Something really changed in at least one of them."""
    signals: int
    failures: int
    cost_usd: Decimal
    """Of all its turns together."""
    fresh: int
    """Input tokens that came from no cache: the most of one turn."""
    cached: int
    """Input tokens read from a cache: the most of one turn."""
    output: int
    """Output tokens: the most of one turn."""
    tokens: int
    """Of all its turns together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeries:
    """A summary of a section of a run."""

    run: UUID
    from_seq: int
    to_seq: int
    turns: int
    turns_a_point: int
    cost_before_usd: Decimal
    """Of the turns before this stretch."""
    points: tuple[SeriesPoint, ...]
    asks_from: float | None = None
    """From which stuck score the run's policy asks: where a point's score is 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentRow:
    """The turn of a run at a moment."""

    at: datetime
    seq: int
    """Of the first turn that was not before it; the next one's, where none was yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOffRow:
    """Another agent took over."""

    seq: int
    """The taker's first turn."""
    giver: str
    taker: str
    asked: TurnRow
    """The giver's last turn before it."""
    new_facts: int
    """Turns since the hand-off before in which something really changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOffs:
    """The hand-offs between a run's agents, oldest first."""

    run: UUID
    results: tuple[HandOffRow, ...]
    more: bool
    """Older ones are left out."""


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
    """The turn it tells of."""
    began_at: datetime | None
    """By the agent's clock."""
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePart:
    """One reason why the score changed."""

    kind: PartKind
    """What the turn repeats or brings; `rule`: a rule counts it; `reset`: a person stepped
    in; `other`: old turns are no longer looked at."""
    amount: float
    """What it adds to the score; below 0: takes from it."""
    turns: tuple[int, ...]
    """The earlier turns it rests on."""
    rule: str | None
    repeats: int | None
    limit: int | None
    """Of a rule: its kind, and how many repeats it counted of those at which it asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreMove:
    """How the stuck score moved at a turn, in parts that add up."""

    run: UUID
    seq: int
    score: float
    """The stuck score after the turn, in [0, 1]."""
    before: float
    asks_from: float | None
    """From which score the run's policy asks; None: it does not ask by the score."""
    parts: tuple[ScorePart, ...]
    changed_seq: int | None
    """The last turn before it in which something really changed."""
    is_as_recorded: bool
    """The engine says what it said at the time; False: the policy, or what it had seen, differs."""
