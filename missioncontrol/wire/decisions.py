"""Cards, the taps that answer them, the allowlist, and the error for a tap that came too late."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal
from uuid import UUID

from missioncontrol.wire.runs import BudgetScope, RunRow

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
    "allow_once",
    "deny",
    "answered",
    "timed_out",
]
InterventionAction = Literal[
    "pause",
    "continue",
    "terminate",
    "allowlist",
    "inject",
    "allow_budget",
    "finish",
    "restart",
    "undo",
    "allow_once",
    "deny",
]
# The kind of a card on which an agent asks for permission. Such a card reports no loop and holds
# nobody: no detector raises it, and counts of loops leave it out.
PERMISSION: Final = "permission"
InterventionStatus = Literal["asked", "delivered", "acknowledged", "unreachable"]
MessageState = Literal["queued", "withdrawn", "delivered", "read", "acted_on"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceTurn:
    """A turn of the evidence as the card shows it; long texts are cut."""

    seq: int
    agent: str
    call: str
    result: str | None
    error: str | None
    ran: bool
    at: datetime
    run: UUID | None = None
    """The run of the turn; a linked one if the loop spans several runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowlistOffer:
    """Calls that people have continued again and again; none is allowed automatically."""

    patterns: tuple[str, ...]
    times: int
    """How often each of them was continued, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCall:
    """The call for which the agent asks permission, without secrets."""

    tool: str
    text: str
    """The command, or the file or address that the call is about."""
    details: dict[str, str]
    """The other arguments, by name."""
    cut: bool
    """Whether the texts here were shortened."""
    for_run: bool = False
    """Whether the call can be allowed for the rest of the run: the agent will repeat it exactly."""


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
    """The cost of the turns of the loop; None: unpriced."""
    offer_allowlist: AllowlistOffer | None = None
    """Set if people have continued these calls before: they can go on the allowlist."""
    scope: BudgetScope | None = None
    """For a budget: what its ceiling applies to."""
    whose: str | None = None
    """For a budget: the agent's name, the day, or the id of the run above."""
    asks: AskedCall | None = None
    """For a permission: the call it is requested for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    judge: str
    loop: bool
    confidence: float
    reason: str
    fix: str | None
    stand_in: bool
    """The configured judge failed or was late, so the local judge ruled."""


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
    """Whether the agent is asked to wait; False: it is only flagged and goes on."""
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
    """The agent stopped waiting on purpose and can be resumed: `claude --resume`."""
    resolution: Resolution | None
    resolved_by: str | None
    resolved_at: datetime | None
    intervention: InterventionStatus | None
    """How far the answer has been delivered; None: no answer yet."""


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
    """The run's version after the intervention."""
    at: datetime
    delivered_at: datetime | None
    acknowledged_at: datetime | None
    new_run: UUID | None = None
    """For a restart: the new run."""


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
    kind: str = ""
    """The kind of the card, such as `exact_repeat`; empty in older events."""
    seq: int | None = None
    """The last turn of the loop that it corrected; None in older events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """A message for the agent, and how far its delivery is confirmed."""

    id: UUID
    text: str
    by: str
    """A person's name; "guard" or "auto" if no person wrote it."""
    agent: str | None
    """The agent of the run that it is for; None: any."""
    state: MessageState
    queued_at: datetime
    delivered_at: datetime | None
    """When a response carried it to the agent."""
    read_at: datetime | None
    read_seq: int | None
    """The first turn that the model made after reading it."""
    acted_seq: int | None
    """The first turn that names a file, command or words of the message no earlier turn named."""
    key: str | None
    """The key of the answer that sent it; None: no person sent it."""
    undoable: bool
    """Whether it is still queued, so that undoing the answer withdraws it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsRow:
    """What the agent said: a turn that calls no tool."""

    seq: int
    at: datetime
    agent: str
    text: str
    """The beginning of the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRow:
    """A permission request of the agent that has been answered."""

    decision: UUID
    seq: int | None
    tool: str
    text: str
    resolution: Resolution | None
    by: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A run's messages, the agent's words and settled permissions, each oldest first."""

    run: UUID
    messages: tuple[MessageRow, ...]
    words: tuple[WordsRow, ...]
    permissions: tuple[PermissionRow, ...]
    earlier: int
    """The number of older messages that are left out."""


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
    """An allowlist entry as the agent's side applies it."""

    scope: str
    agent: str | None
    pattern: str
    match: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowlistSuggestion:
    """A call that people continued three times or more and that no allowlist entry covers."""

    project: UUID
    pattern: str
    times: int
    first_at: datetime
    last_at: datetime
    by: tuple[str, ...]
    """The people who continued it."""
    agents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesCalled:
    """A recorded call and the number of times it was made."""

    call: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SparedCard:
    """A past card that the entry would have prevented, and how it was answered."""

    run: UUID
    name: str
    call: str
    at: datetime
    resolution: str | None
    resolved_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowlistPreview:
    """What a pattern would have matched among the `looked_at` newest calls since then."""

    since: datetime
    looked_at: int
    is_whole: bool
    """Whether every call since then was looked at."""
    calls: int
    runs: int
    examples: tuple[TimesCalled, ...]
    """The most frequent matching calls; if none matches, calls that contain the typed text."""
    cards: int
    """Cards that it would have prevented; never cards about budgets or permissions."""
    stopped: int
    """Those of `cards` that were answered by ending the run."""
    spared: tuple[SparedCard, ...]
    """The newest of `cards`."""


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
    """409 `stale_run`: the current state of the run and the card."""

    # In the error itself, so that the screen shows the current state without another request.
    run: RunRow
    decision: DecisionRow | None
