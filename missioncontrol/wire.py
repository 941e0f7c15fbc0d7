"""Every row and event that leaves the server, declared once.

pydantic TypeAdapters over these dataclasses serialise answers and frames and
publish the JSON Schema that `frontend/src/wire/schema.d.ts` is generated from.
Fields are only ever added. Money is a decimal string in dollars.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from guard.turn import Usage
from guard.wire import Mode

RunStatus = Literal[
    "running", "holding", "held", "stopping", "completed", "failed", "terminated", "lost"
]
DecisionStatus = Literal["judging", "open", "resolved", "expired"]
Resolution = Literal[
    "terminate",
    "continue",
    "allowlist",
    "inject",
    "allow_budget",
    "finish",
    "dismissed",
    "autofix",
    "proceed",
    "stop",
    "ended",
    "restart",
    "superseded",
]
InterventionAction = Literal[
    "pause", "continue", "terminate", "allowlist", "inject", "allow_budget", "finish", "restart"
]
InterventionStatus = Literal["asked", "delivered", "acknowledged", "unreachable"]
TapePoint = tuple[float, bool]
KinRelation = Literal["child", "resumed", "forked", "restart"]
BudgetScope = Literal["run", "tree", "agent", "project", "day"]
ChannelKind = Literal["discord", "slack", "telegram", "email", "ntfy", "webhook"]
DeliveryKind = Literal["push", "discord", "slack", "telegram", "email", "ntfy", "webhook"]
ChannelHears = Literal["decisions", "budgets", "reports"]
DeliveryWhat = Literal["decision", "withdrawal", "warning", "budget", "report", "test"]
DeliveryStatus = Literal["waiting", "sent", "failed", "withdrawn", "skipped"]
UsageSource = Literal["turns", "transcript", "spans", "logs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRow:
    id: UUID
    name: str
    role: str
    mode: Mode
    policy: dict[str, Any]
    policy_version: int
    """Counts the changes of `policy`; 0: never changed."""
    budget: dict[str, Any]
    """Ceilings of each run; the same as `budgets.run`."""
    budgets: dict[str, Any]
    """`run`: of each run. Of all runs together: `project`, `day`, and `agents` by
    name, `*` each agent that is not named."""
    day_extra: dict[str, Any]
    """What was allowed on top of `budgets.day` for today, by unit: `{"usd": "4"}`."""
    time_zone: str
    """IANA name; where a day begins."""
    hold_limit: int
    """Seconds a hold may wait before `unanswered` applies."""
    unanswered: Literal["proceed", "stop"]
    fail: Literal["open", "closed"]
    agents_choose: bool
    daily_report: bool
    """A cost report is made of each day that ended."""


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
    last_turn_at: datetime | None
    tape: tuple[TapePoint, ...]
    """`[similarity, changed]` a judged turn. In a row: the last 44. In a meters
    frame: from the first point that is new or redrawn to the last; the last one is
    turn number `judged_turns` of the run, so points replace what stood there."""
    judged_turns: int
    """How many tape points the run has had in all; places the new points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """A ceiling that nears its end (`warning`, from 80 %) or is `reached`."""

    scope: BudgetScope
    """Whose it is: this run's, or what a run above it with its whole tree, an agent, the
    project or its day may use."""
    whose: str | None
    """The agent's name, the day, or the id of the run above."""
    unit: str
    level: Literal["warning", "reached"]
    spent: str
    ceiling: str
    share: float
    """Of the ceiling, in [0, 1], when it was told."""


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
    similarity: float | None
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
    """How many turns of a run there are of each kind, most first."""

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
    """One turn, or several together: then the highest of each value, so that spikes stay."""

    from_seq: int
    to_seq: int
    at: datetime
    """Of its first turn."""
    similarity: float | None
    """The highest, in [0, 1]; None: none was judged."""
    similarity_least: float | None
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
    """How a stretch of a run went."""

    run: UUID
    from_seq: int
    to_seq: int
    turns: int
    turns_a_point: int
    cost_before_usd: Decimal
    """Of the turns before this stretch."""
    points: tuple[SeriesPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentRow:
    """Where a moment stands among a run's turns."""

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
    """Where one agent of a run hands on to another, oldest first."""

    run: UUID
    results: tuple[HandOffRow, ...]
    more: bool
    """Older ones are left out."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyRow:
    """Why a run stands where it stands: the last that was decided about it."""

    kind: str
    """Of the card: `exact_repeat`, `budget`, …; empty: no card was opened."""
    summary: str
    resolution: Resolution | None
    """None: the card is open, or there was none."""
    by: str | None
    """Who closed it, or ended the run without a card."""
    message: str | None
    """What was said to the agent."""
    recovered: bool | None
    """Of an autofix: whether the agent went on; None: not known, or there was none."""
    turns_after: int | None
    """Of an autofix: turns until that was known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRow:
    """Where the words of a search stand: a piece of text, and which parts of it match."""

    turn: int | None
    """`seq` of the turn; None: it is the run's own text."""
    field: str
    text: str
    marks: tuple[tuple[int, int], ...]
    """From where to where, in characters (code points) of `text`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow(RunRow):
    """A run as History lists it."""

    why: WhyRow
    loop_cost_usd: Decimal | None
    """What the turns of its loops cost; None: there was none, or they are unpriced."""
    match: MatchRow | None
    """Set where words were searched for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryTotals:
    """Sums over every run that a search finds."""

    runs: int
    turns: int
    cost_usd: Decimal
    judge_cost_usd: Decimal
    unpriced_runs: int
    flagged: int
    """Runs with a card."""
    loops: int
    """Of those, the runs whose card somebody answered as a loop, not as fine."""
    loop_cost_usd: Decimal
    autofixes: int
    recovered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedViewRow:
    """A line of search that one person keeps; nobody else sees it."""

    id: UUID
    project: UUID
    name: str
    q: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryRow:
    """A span or log record as the agent sent it, masked and bounded."""

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
class EvidenceTurn:
    """One turn of the evidence as the card shows it; texts are cut."""

    seq: int
    agent: str
    call: str
    result: str | None
    error: str | None
    ran: bool
    at: datetime
    run: UUID | None = None
    """Whose turn it is: a linked run's, where the loop goes over several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowlistOffer:
    """Calls that people have let go on again and again; nothing is allowed by itself."""

    patterns: tuple[str, ...]
    times: int
    """How often the least often allowed of them was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardEvidence:
    summary: str
    turns: tuple[int, ...]
    items: tuple[EvidenceTurn, ...]
    calls: tuple[str, ...]
    repeats: int
    limit: int
    similarity: float | None
    threshold: float | None
    changed: str | None
    spent: str | None
    ceiling: str | None
    unit: str | None
    cost_usd: Decimal | None
    """What the turns of the loop cost; None: unpriced."""
    offer_allowlist: AllowlistOffer | None = None
    """People let this call go on before: it may be allowed for good."""
    scope: BudgetScope | None = None
    """For a budget: whose ceiling it is."""
    whose: str | None = None
    """For a budget: the agent's name, the day, or the id of the run above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    judge: str
    loop: bool
    confidence: float
    reason: str
    fix: str | None
    stand_in: bool
    """The configured judge failed or was late: the local one ruled instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    id: UUID
    project: UUID
    run: UUID
    run_name: str
    version: int
    status: DecisionStatus
    kind: str
    detector: str
    holds: bool
    """The agent is asked to wait; False: flagged, it goes on."""
    agent_waiting: bool
    agent: str
    evidence: CardEvidence
    verdict: VerdictRow | None
    actions: tuple[InterventionAction, ...]
    unavailable: dict[str, str]
    """Action -> why this agent cannot do it."""
    opened_at: datetime
    expires_at: datetime | None
    unanswered: Literal["proceed", "stop"]
    waiting_since: datetime | None
    gave_up_at: datetime | None
    parked: bool
    """It gave up waiting on purpose, to be resumed: `claude --resume`."""
    resolution: Resolution | None
    resolved_by: str | None
    resolved_at: datetime | None
    intervention: InterventionStatus | None
    """Where the answer is, once there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionRow:
    id: UUID
    project: UUID
    run: UUID
    decision: UUID | None
    key: str
    action: InterventionAction
    status: InterventionStatus
    by: str
    message: str | None
    version: int
    """The run's version after it."""
    at: datetime
    delivered_at: datetime | None
    acknowledged_at: datetime | None
    new_run: UUID | None = None
    """Of a restart: the fresh run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutofixRow:
    id: UUID
    project: UUID
    run: UUID
    run_name: str
    decision: UUID
    text: str
    applied_at: datetime
    delivered_at: datetime | None
    recovered: bool | None
    """None: not known yet."""
    judged_at: datetime | None
    turns_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowlistRow:
    id: UUID
    project: UUID
    scope: Literal["run", "agent", "project"]
    run: UUID | None
    agent: str | None
    pattern: str
    match: Literal["exact", "glob"]
    hits: int
    last_hit_at: datetime | None
    expires_at: datetime | None
    created_by: str
    created_at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedCall:
    """An allowlist entry as an agent follows it."""

    scope: str
    agent: str | None
    pattern: str
    match: str


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
class AllowlistSuggestion:
    """A call that people let go on three times or more, and that no entry covers."""

    project: UUID
    pattern: str
    times: int
    first_at: datetime
    last_at: datetime
    by: tuple[str, ...]
    """Who let it go on."""
    agents: tuple[str, ...]


# --- policies ---------------------------------------------------------------


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


# --- reaching people -----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """One notice for one target: where it stands, and what came of its tries."""

    id: UUID
    project: UUID
    run: UUID | None
    run_name: str | None
    decision: UUID | None
    what: DeliveryWhat
    title: str
    kind: DeliveryKind
    """The channel's, or `push` to a device."""
    target: str
    """The channel's or device's name when it was written."""
    channel: UUID | None
    step_minutes: int
    """0: it was told at once; else only if nobody answered so long."""
    status: DeliveryStatus
    tries: int
    most_tries: int
    created_at: datetime
    due_at: datetime | None
    """Its next try; None: there is none."""
    sent_at: datetime | None
    error: str | None
    """Why the last try failed, or why none was made."""
    can_retry: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRow:
    """A way to reach the people of a project, without what is secret in its address."""

    id: UUID
    project: UUID
    kind: ChannelKind
    name: str
    shown: str | None
    """Where it leads; None: it was kept with another secret key."""
    enabled: bool
    step_minutes: int
    quiet_from: str | None
    """"22:00", in the project's time zone."""
    quiet_to: str | None
    hears: tuple[ChannelHears, ...]
    created_by: str
    created_at: datetime
    last: DeliveryRow | None
    """What it was told last."""


# --- events -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHead:
    """What every event carries. `version` and `status` are the run's, after it."""

    run: UUID | None
    project: UUID
    seq: int
    at: datetime
    by: str
    """Who: "agent", "guard", "judge", "auto", "policy", or a person's name."""
    version: int
    status: RunStatus | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOpened(EventHead):
    type: Literal["run.opened"] = "run.opened"
    row: RunRow
    chosen_by_agent: tuple[Literal["mode", "policy", "budget"], ...] = ()
    """What the agent asked for; the rest is the project's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMoved(EventHead):
    """A status, a mode or an answer moved. Where a person's answer is (asked,
    delivered, acknowledged, unreachable) travels here too.
    """

    type: Literal["run.moved"] = "run.moved"
    reason: str
    mode: Mode
    ended_at: datetime | None
    intervention: UUID | None = None
    intervention_status: InterventionStatus | None = None
    name: str | None = None
    """Set, with `goal`, when the run got its name."""
    goal: str | None = None
    budget: dict[str, Any] | None = None
    """Set when a budget changed: the run's ceilings now. What was told of them, and
    of shared ones, no longer holds."""
    policy_version: int | None = None
    """Set when the run follows a newer policy of its project."""
    capabilities: dict[str, Any] | None = None
    """Set, with `unavailable`, when the adapter learned what its agent can do."""
    unavailable: dict[str, str] | None = None
    actions: tuple[InterventionAction, ...] | None = None
    """Set with `capabilities`: what the run's open card, if there is one, offers now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLinked(EventHead):
    type: Literal["run.linked"] = "run.linked"
    parent: UUID
    relation: KinRelation = "child"
    root: UUID | None = None
    """The tree it now counts in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecorded(EventHead):
    """`turn` rides on live frames of the run's socket only; the journal keeps
    the id and the digest.
    """

    type: Literal["turn.recorded"] = "turn.recorded"
    turn_id: UUID
    turn_seq: int
    digest: str
    turn: TurnRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCompleted(EventHead):
    type: Literal["turn.completed"] = "turn.completed"
    turn_id: UUID
    turn_seq: int
    digest: str
    turn: TurnRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionRaised(EventHead):
    type: Literal["detection.raised"] = "detection.raised"
    detector: str
    kind: str
    turn_seq: int
    turns: tuple[int, ...]
    summary: str
    outcome: Literal[
        "warned", "allowed", "card", "already_open", "observed", "nudged", "escalated", "stopped"
    ]
    """`observed`: a detector in shadow would have tripped; `nudged`: the agent was told;
    `escalated`: it was asked for another strategy; `stopped`: the policy ended the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationAsked(EventHead):
    """The agent was asked for another strategy or a stronger model; it goes on."""

    type: Literal["escalation.asked"] = "escalation.asked"
    reason: str
    decision: UUID | None = None
    """The card that people see."""
    detector: str = ""
    kind: str = ""
    repeats: int = 0
    agent: str | None = None
    turn_seq: int | None = None
    first_error: str | None = None
    message: UUID | None = None
    """What the agent is told; None: it takes no text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAsked(EventHead):
    type: Literal["judge.asked"] = "judge.asked"
    decision: UUID | None
    """None: about a suspicion, which is no card yet."""
    judge: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRuled(EventHead):
    type: Literal["judge.ruled"] = "judge.ruled"
    decision: UUID | None
    """None: about a suspicion that opened no card."""
    verdict: VerdictRow
    decision_status: DecisionStatus | None
    actions: tuple[InterventionAction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionOpened(EventHead):
    type: Literal["decision.opened"] = "decision.opened"
    row: DecisionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionResolved(EventHead):
    type: Literal["decision.resolved"] = "decision.resolved"
    decision: UUID
    decision_status: DecisionStatus
    resolution: Resolution
    resolved_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldAbandoned(EventHead):
    type: Literal["hold.abandoned"] = "hold.abandoned"
    decision: UUID | None
    parked: bool = False
    """Its process ended on purpose; the session goes on when it is resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionMade(EventHead):
    type: Literal["intervention.made"] = "intervention.made"
    row: InterventionRow
    expires_at: datetime | None = None
    """Set when a pause made the open card one that holds: when it expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQueued(EventHead):
    type: Literal["message.queued"] = "message.queued"
    message: UUID
    text: str
    agent: str | None
    intervention: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDelivered(EventHead):
    type: Literal["message.delivered"] = "message.delivered"
    message: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class AutofixApplied(EventHead):
    type: Literal["autofix.applied"] = "autofix.applied"
    row: AutofixRow


@dataclass(frozen=True, slots=True, kw_only=True)
class AutofixJudged(EventHead):
    type: Literal["autofix.judged"] = "autofix.judged"
    autofix: UUID
    recovered: bool
    turns_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CostAttributed(EventHead):
    """One model call was counted, once whatever repeats it."""

    type: Literal["cost.attributed"] = "cost.attributed"
    source: str
    """Where it was told: `turns`, `transcript`, `spans`, `logs`, or `judge`."""
    cost_usd: Decimal | None
    """None: unpriced."""
    taken_back: int = 0
    """So many calls were counted from a worse source and are no longer: usage and cost
    are below 0, and add up with the calls they take back."""
    call_id: str | None = None
    agent: str = ""
    model: str | None = None
    provider: str | None = None
    usage: Usage | None = None
    priced_by: Literal["agent", "price list", "project"] | None = None
    """`agent`: the caller's own figure; `project`: the project's own price. A call that was
    unpriced and is told again, without usage, got its price later."""
    turn_seq: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetCrossed(EventHead):
    """A ceiling nears its end or was reached; told once, until it moves."""

    type: Literal["budget.crossed"] = "budget.crossed"
    unit: str
    spent: str
    ceiling: str
    level: Literal["warning", "reached"] = "reached"
    scope: BudgetScope = "run"
    whose: str | None = None
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTerminated(EventHead):
    type: Literal["session.terminated"] = "session.terminated"
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowlistChanged(EventHead):
    type: Literal["allowlist.changed"] = "allowlist.changed"
    change: Literal["added", "removed"]
    entry: UUID
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChanged(EventHead):
    type: Literal["policy.changed"] = "policy.changed"
    what: str
    before: Any
    after: Any
    policy_version: int | None = None
    """Set where `what` is the policy: the version that now holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessChanged(EventHead):
    type: Literal["access.changed"] = "access.changed"
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainAnchored(EventHead):
    """Heads of runs' chains, tied into the project's: run -> (seq, hash)."""

    type: Literal["chain.anchored"] = "chain.anchored"
    heads: dict[str, tuple[int, str]]
    signature: str
    """Over the heads, with a key that is not in the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeSent(EventHead):
    type: Literal["notice.sent"] = "notice.sent"
    channel: str
    decision: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeFailed(EventHead):
    type: Literal["notice.failed"] = "notice.failed"
    channel: str
    decision: UUID | None
    reason: str


Event = Annotated[
    RunOpened
    | RunMoved
    | RunLinked
    | TurnRecorded
    | TurnCompleted
    | DetectionRaised
    | EscalationAsked
    | JudgeAsked
    | JudgeRuled
    | DecisionOpened
    | DecisionResolved
    | HoldAbandoned
    | InterventionMade
    | MessageQueued
    | MessageDelivered
    | AutofixApplied
    | AutofixJudged
    | CostAttributed
    | BudgetCrossed
    | SessionTerminated
    | AllowlistChanged
    | PolicyChanged
    | AccessChanged
    | ChainAnchored
    | NoticeSent
    | NoticeFailed,
    Field(discriminator="type"),
]


# --- frames of the WebSocket -------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    type: Literal["snapshot"] = "snapshot"
    at: datetime
    runs: tuple[RunRow, ...]
    decisions: tuple[DecisionRow, ...]
    """Open ones, and those answered within the last day."""
    interventions: tuple[InterventionRow, ...]
    """A run socket's: the run's; a board's: none."""
    seq: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetersFrame:
    type: Literal["meters"] = "meters"
    runs: dict[str, Meters]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFrame:
    type: Literal["batch"] = "batch"
    events: tuple[Event, ...]


# --- answers of single endpoints ----------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """Who is signed in, and what they may see."""

    user: User
    projects: tuple[ProjectRow, ...]
    version: str
    agent_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRow:
    """How a browser takes pushes. Times of day are in its time zone, `22:00`."""

    enabled: bool
    show_details: bool
    """Off: a push carries its title only."""
    quiet_from: str | None
    quiet_to: str | None
    time_zone: str
    language: str
    last_sent_at: datetime | None
    is_current: bool
    """It subscribed with this installation's present key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRow:
    """A browser in which you are signed in."""

    id: UUID
    name: str
    kind: Literal["phone", "desktop"]
    program: str
    created_at: datetime
    seen_at: datetime
    is_this: bool
    """The one that asks."""
    push: PushRow | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRow:
    """A way in for a phone. Its link and code are readable here and never again."""

    id: UUID
    status: Literal["waiting", "paired", "expired"]
    expires_at: datetime
    url: str | None = None
    code: str | None = None
    code_url: str | None = None
    """Where the code is typed."""
    qr: str | None = None
    """The link as a picture, a data address."""
    device: DeviceRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a phone can do at the address it would be given."""

    url: str
    """Empty: only who is at this machine reaches it."""
    is_secure: bool
    """HTTPS: it can be installed, take pushes and start offline."""
    certificate: str | None
    """The SHA-256 of the certificate this machine made, where it made one."""
    push_key: str | None
    """What a browser subscribes with; null: this installation has no VAPID key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKeyRow:
    """A key of a project's agents; the secret itself was shown once."""

    id: UUID
    project: UUID
    name: str
    prefix: str
    """How it begins."""
    created_at: datetime
    created_by: str
    last_used_at: datetime | None
    """To the minute."""
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeAgentKey(AgentKeyRow):
    secret: str
    """Readable in this answer and never again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A personal token: a script that sends it acts as this person."""

    id: UUID
    name: str
    prefix: str
    scope: Literal["read", "write"]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeToken(TokenRow):
    secret: str
    """Readable in this answer and never again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """A part this instance needs, and how it is."""

    name: Literal["database", "broker", "worker"]
    ok: bool
    what: str
    """Kind and version."""
    place: str
    """A file or an address, never with a password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRow:
    version: str
    python: str
    parts: tuple[PartRow, ...]
    data_dir: str
    database_bytes: int | None
    disk_free_bytes: int
    disk_bytes: int
    public_url: str
    is_secure: bool
    """This request came over https, or the public address is https."""
    runs: int
    turns: int
    events: int
    waiting: int
    """Observations stored and not judged yet."""
    unindexed: int
    """Runs with words that cannot be found yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """What a webhook's signature is made with."""

    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualRow:
    """What an agent usually spends, from its recorded runs."""

    project: UUID
    agent: str
    usd_per_hour: Decimal | None
    """The median of its ended runs of the last 30 days; None: too few to say."""
    runs: int
    """How many runs that rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """What a project's model calls cost, by day, agent, model, project or run."""

    project: UUID
    key: str
    """The day ("2026-11-21", in the project's time zone), the agent, the model, or
    the project's or the run's id."""
    name: str
    """The key in words: a run's name, a project's."""
    calls: int
    """The agents' model calls; `judge_calls` are apart."""
    unpriced_calls: int
    """Of these, the ones that no price is known of: they are in no sum."""
    usage: Usage
    """The agents' tokens."""
    cost_usd: Decimal
    judge_calls: int
    judge_cost_usd: Decimal
    runs: int = 0
    """How many runs they are of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSum:
    """What was spent in all. Calls of no known price are counted, and in no amount."""

    total_usd: Decimal
    agents_usd: Decimal
    judge_usd: Decimal
    calls: int
    judge_calls: int
    unpriced_calls: int
    """The judge's too."""
    runs: int
    loops: int
    """Cards about a loop, less those that the judge or a person called none."""
    stops: int
    """Loops that a person or the policy stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBudget:
    """A day's ceiling, with what was allowed on top for that day."""

    ceiling_usd: Decimal
    """`extra_usd` included."""
    extra_usd: Decimal
    left_usd: Decimal
    """Below 0: over it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What stops saved: an estimate from loops that nobody stopped (docs/costs.md)."""

    low_usd: Decimal | None
    """None, as the others: too little is known."""
    likely_usd: Decimal | None
    high_usd: Decimal | None
    stops: int
    unpriced_stops: int
    """Of these, the ones whose calls have no price: they are in no amount."""
    samples: int
    """Loops of this project that went on by themselves, in 90 days."""
    enough: int
    """So many are needed."""
    median_turns: int | None
    """How long they went on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPoint:
    """What was spent from the span's beginning up to a minute of it."""

    minute: int
    spent_usd: Decimal | None
    """None: it has not come yet."""
    before_usd: Decimal
    """The same in the span before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostDay:
    day: str
    agents: dict[str, Decimal]
    """Agent -> dollars, the judge's for its cards included."""
    total_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class CostGroup:
    """What one agent, model, project or run cost in a span."""

    key: str
    name: str
    calls: int
    judge_calls: int
    unpriced_calls: int
    unpriced_models: tuple[str, ...]
    """The models that no price is known of."""
    usage: Usage
    cost_usd: Decimal
    """The agents' own; the judge's is apart."""
    judge_cost_usd: Decimal
    before_usd: Decimal
    """Both, in the span before, up to the same time."""
    runs: int
    loops: int
    trend: tuple[int, ...]
    """Loops a day, the last 14."""
    saved: Saving


@dataclass(frozen=True, slots=True, kw_only=True)
class CostAccount:
    """What was spent in a day, a week or a month of a project's calendar, or of several."""

    projects: tuple[UUID, ...]
    range: Literal["day", "week", "month"]
    first_day: str
    last_day: str
    time_zone: str
    """Empty: the projects' zones differ, and each has its own days."""
    at: datetime
    since: datetime
    """The midnight it begins with; of several zones, the first project's."""
    over: bool
    """Its last day has ended."""
    minutes: int
    """How long it is: 1380 or 1500 on a day whose clocks are moved."""
    minute: int
    """How far on it is."""
    spent: CostSum
    before: CostSum
    """The whole span before: the same day a week before, the week, the month."""
    before_by_then_usd: Decimal
    """The same, up to the time of day that it is now."""
    before_day: str
    """The first day of the span before."""
    budget: CostBudget | None
    """Of a day; None: there is no ceiling in dollars, or a project has none."""
    saved: Saving
    points: tuple[CostPoint, ...]
    days: tuple[CostDay, ...]
    """14 days, the last of the span last."""
    group_by: Literal["agent", "model", "project", "run"]
    groups: tuple[CostGroup, ...]
    """The dearest first, at most 200."""
    groups_left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow:
    """A project's own price of a model, in dollars for a million tokens."""

    project: UUID
    model: str
    input: str
    output: str
    cache_read: str | None
    """None: as input."""
    cache_write: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSet:
    """A price that was set, and what it counted again."""

    model: str
    calls: int
    """That had no price until now."""
    usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A day's cost report in a list. It is never changed: a later version corrects it."""

    id: UUID
    project: UUID
    project_name: str
    day: str
    """In the project's time zone."""
    time_zone: str
    version: int
    """1, or higher: it corrects the one before."""
    reason: str
    """Why it corrects; empty for the first."""
    made_at: datetime
    spent: CostSum
    was_usd: Decimal | None
    """What the version before told; None for the first."""
    before_usd: Decimal
    """What the same day a week before cost."""
    budget: CostBudget | None
    saved: Saving


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A day's cost report: by agent (in `account`), model and project."""

    row: ReportRow
    newest: UUID
    """Of the same day; another than this one's: it was corrected."""
    account: CostAccount
    models: tuple[CostGroup, ...]
    projects: tuple[CostGroup, ...]
    sent: int
    """Channels that have it."""
    waiting: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One journal row with its place in the chain."""

    id: UUID
    project: UUID
    run: UUID | None
    seq: int
    type: str
    at: datetime
    by: str
    version: int
    status: str | None
    payload: dict[str, Any] | None
    """None: erased; the row still verifies."""
    digest: str
    previous: str
    hash: str
    run_name: str | None = None
    """Of `run`, as it is called now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Whether every chain holds; `broken_at` is the first row that does not."""

    ok: bool
    rows: int
    head: str
    broken_at: str | None
    anchored_at: datetime | None = None
    """When a signed checkpoint last tied the runs' chains together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """RFC 9457, with a stable `code`."""

    type: str
    title: str
    status: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleProblem(Problem):
    """409 `stale_run`: what the run and the card are now."""

    run: RunRow
    decision: DecisionRow | None
