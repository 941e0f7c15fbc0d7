"""Cards, what is tapped on them, the allowlist, and how a tap that came too late is refused."""

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
# The kind of a card with which an agent asks for a permission: it is no loop and holds nobody. It
# is not one of the detectors' kinds, and is left out wherever loops are counted.
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
    """Whose turn it is: a linked run's, where the loop goes over several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowlistOffer:
    """Calls that people have continued again and again; none is allowed automatically."""

    patterns: tuple[str, ...]
    times: int
    """How often the least often allowed of them was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCall:
    """The call for which the agent asks permission, without secrets."""

    tool: str
    text: str
    """The command, or what else the call is about: a file, an address."""
    details: dict[str, str]
    """What else it is given."""
    cut: bool
    """It is too long to stand here in full."""
    for_run: bool = False
    """It stands here as the agent will ask for it again, and may be allowed for its whole run."""


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
    asks: AskedCall | None = None
    """For a permission: what it is asked for."""


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
    kind: str = ""
    """What the card was of, such as `exact_repeat`; empty in events of before it was told."""
    seq: int | None = None
    """The turn that it answered, the loop's last; None in events of before it was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """A message for the agent, and how far its delivery is confirmed."""

    id: UUID
    text: str
    by: str
    """A person's name; "guard" or "auto" where nobody typed it."""
    agent: str | None
    """The only agent of the run that it is for."""
    state: MessageState
    queued_at: datetime
    delivered_at: datetime | None
    """It left in an answer to the agent."""
    read_at: datetime | None
    read_seq: int | None
    """The first turn the model made with it before its eyes."""
    acted_seq: int | None
    """The first turn that names a file, a command or words of it which none before named."""
    key: str | None
    """Of the answer that sent it; None: no person did."""
    undoable: bool
    """It is queued: undoing that answer takes it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsRow:
    """What the agent said: a turn that calls no tool."""

    seq: int
    at: datetime
    agent: str
    text: str
    """Its beginning."""


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
    """Messages before these."""


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
    """Who let it go on."""
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
    """Every call since then was looked at."""
    calls: int
    runs: int
    examples: tuple[TimesCalled, ...]
    """The most frequent calls that match; where none does, those that hold what was typed."""
    cards: int
    """Cards that it would have spared; those of budgets and permissions are never spared."""
    stopped: int
    """So many of them were answered by ending the run."""
    spared: tuple[SparedCard, ...]
    """The newest of them."""


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
