"""The events that the journal keeps and the sockets send, and the snapshots sent before them.

A new event must be added to `Event`.
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
from missioncontrol.wire.decisions import (
    AutofixRow,
    DecisionRow,
    DecisionStatus,
    InterventionAction,
    InterventionRow,
    InterventionStatus,
    Resolution,
    VerdictRow,
)
from missioncontrol.wire.runs import BudgetScope, KinRelation, Meters, RunRow, RunStatus, TurnRow


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHead:
    """The fields of every event. `version` and `status` are the run's after the event."""

    # None: the event belongs to no run; it is on its project's own chain.
    run: UUID | None
    project: UUID
    seq: int
    at: datetime
    by: str
    """Who caused it: "agent", "guard", "judge", "auto", "policy", or a person's name."""
    version: int
    status: RunStatus | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOpened(EventHead):
    type: Literal["run.opened"] = "run.opened"
    # The whole row, so that an open board adds the run without another request.
    row: RunRow
    chosen_by_agent: tuple[Literal["mode", "policy", "budget"], ...] = ()
    """The settings that the agent chose; the others are the project's."""


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
    """Set when a budget changed: the run's ceilings now. Earlier warnings about them, and about
    shared ceilings, are void."""
    policy_version: int | None = None
    """Set when the run follows a newer policy of its project."""
    capabilities: dict[str, Any] | None = None
    """Set, with `unavailable`, when the adapter reported what its agent can do."""
    unavailable: dict[str, str] | None = None
    actions: tuple[InterventionAction, ...] | None = None
    """Set with `capabilities`: the answers that the run's open card, if any, now offers."""
    hold_stands: bool = False
    """The run has ended, and will be held if it is resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLinked(EventHead):
    type: Literal["run.linked"] = "run.linked"
    parent: UUID
    relation: KinRelation = "child"
    root: UUID | None = None
    """The root of the tree that the run now belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunImported(EventHead):
    """A person imported a recording as this run."""

    type: Literal["run.imported"] = "run.imported"
    file: str
    form: str
    """The format it was read as: `claude-code`, `codex`, `gemini`, `turns`, `otlp`, …"""
    sha256: str
    turns: int


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
    # A detector that trips does not always open a card. The outcome says what happened, so that
    # cards and detections are both counted correctly.
    outcome: Literal[
        "warned", "allowed", "card", "already_open", "observed", "nudged", "escalated", "stopped"
    ]
    """`observed`: a shadow detector would have tripped; `nudged`: the agent got a nudge;
    `escalated`: it was asked for another strategy; `stopped`: the policy ended the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationAsked(EventHead):
    """The agent was asked for another strategy or a stronger model; it continues."""

    type: Literal["escalation.asked"] = "escalation.asked"
    reason: str
    decision: UUID | None = None
    """The card about it."""
    detector: str = ""
    kind: str = ""
    repeats: int = 0
    agent: str | None = None
    turn_seq: int | None = None
    first_error: str | None = None
    message: UUID | None = None
    """The message sent to the agent; None: it accepts no text."""


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
    """None: the verdict is about a suspicion, which has no card."""
    verdict: VerdictRow
    decision_status: DecisionStatus | None
    actions: tuple[InterventionAction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionOpened(EventHead):
    type: Literal["decision.opened"] = "decision.opened"
    # The whole row, so that a screen shows the card without another request.
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
    """The agent's process ended on purpose; its session can be resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionMade(EventHead):
    type: Literal["intervention.made"] = "intervention.made"
    row: InterventionRow
    expires_at: datetime | None = None
    """When the open card expires; set if a pause made that card hold the run."""
    raised: dict[str, tuple[str | None, str]] | None = None
    """Set if ceilings of the run were raised: unit -> before and after."""


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
    """A model call was counted; a repeat of it is not counted again."""

    type: Literal["cost.attributed"] = "cost.attributed"
    source: str
    """Where the call was reported: `turns`, `transcript`, `spans`, `logs`, or `judge`."""
    cost_usd: Decimal | None
    """None: unpriced."""
    taken_back: int = 0
    """How many calls counted from a worse source this event removes: usage and cost are
    negative, so that they cancel those calls in a sum."""
    call_id: str | None = None
    agent: str = ""
    model: str | None = None
    provider: str | None = None
    usage: Usage | None = None
    priced_by: Literal["agent", "price list", "project"] | None = None
    """`agent`: the agent's own figure; `project`: the project's own price. An unpriced call that
    is reported again without usage got its price later."""
    turn_seq: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetCrossed(EventHead):
    """A budget is nearly used up or was reached; sent once, until the budget changes."""

    type: Literal["budget.crossed"] = "budget.crossed"
    unit: str
    spent: str
    ceiling: str
    # The defaults, here and elsewhere, are for old journal rows, which lack fields added later.
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
    # Any, because one event type serves every kind of rule.
    before: Any
    after: Any
    policy_version: int | None = None
    """Set if `what` is the policy: the version now in force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessChanged(EventHead):
    type: Literal["access.changed"] = "access.changed"
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainAnchored(EventHead):
    """A checkpoint: heads of runs' chains, written into the project's: run -> (seq, hash)."""

    type: Literal["chain.anchored"] = "chain.anchored"
    heads: dict[str, tuple[int, str]]
    signature: str
    """Ed25519 in hex, over all fields here, the project and the time; the private key is not in
    the database. Older rows without `key`: over the heads, with the server's secret."""
    key: str | None = None
    """The public key of the signature, in hex."""
    head: str | None = None
    """Hash of the previous row of the project's chain."""
    head_seq: int | None = None
    predecessor: str | None = None
    """Hash of the previous checkpoint; empty: this is the first."""
    number: int | None = None
    """The number of this checkpoint in its project, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditAmended(EventHead):
    """What the log allows, signed: erasing what a run's rows said or what names a person, putting
    an older copy back, signing with another key, a project that came from another installation.
    """

    type: Literal["audit.amended"] = "audit.amended"
    change: Literal["erased", "person_erased", "restored", "rotated", "imported"]
    reason: str
    of_run: UUID | None = None
    """The run whose texts were erased, up to `through_seq` and `turns_through`; costs are kept."""
    through_seq: int | None = None
    turns_through: int | None = None
    rows: tuple[int, ...] | None = None
    """Rows of the project's chain that named the person whose account was erased."""
    heads_file: str | None = None
    """Where the file of heads was moved; it records what the restored copy lacks."""
    known: str | None = None
    """The last checkpoint in that file, and its time."""
    successor: str | None = None
    """The public key that signs from now on, in place of `key`."""
    former: str | None = None
    """The public key of the installation the project came from; it may no longer sign."""
    key: str
    signature: str
    """Ed25519 in hex, over all fields here, the project, the time and `by`."""


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
    | RunImported
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
    | AuditAmended
    | NoticeSent
    | NoticeFailed,
    # The screens' reducer distinguishes events by it too.
    Field(discriminator="type"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    type: Literal["snapshot"] = "snapshot"
    at: datetime
    runs: tuple[RunRow, ...]
    decisions: tuple[DecisionRow, ...]
    """Open cards, and those answered within the last day."""
    interventions: tuple[InterventionRow, ...]
    """On a run's socket: all of the run; on a board: those of the last hour."""
    # By run: the snapshot already includes all events up to this `seq`.
    seq: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    project: UUID
    snapshot: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class MetersFrame:
    type: Literal["meters"] = "meters"
    # Without a `seq`, because meters are derived: the newest replaces the ones shown.
    runs: dict[str, Meters]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFrame:
    type: Literal["batch"] = "batch"
    # In one frame, so that a screen draws the events of several commits once.
    events: tuple[Event, ...]
