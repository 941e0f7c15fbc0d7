"""Projects, the signed-in person, and the channels through which people are notified."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from guard.wire import Mode

# An owner may do everything, an operator may answer agents, a viewer may only read.
RoleWord = Literal["owner", "operator", "viewer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRow:
    id: UUID
    name: str
    role: RoleWord
    mode: Mode
    policy: dict[str, Any]
    policy_version: int
    """The number of changes of `policy`; 0: never changed."""
    budget: dict[str, Any]
    """The ceilings of each run; the same as `budgets.run`."""
    budgets: dict[str, Any]
    """Ceilings. `run`: of each run. Of all runs together: `project`, `day`, and `agents` by name,
    with `*` for each agent that is not named."""
    day_extra: dict[str, Any]
    """What was added to `budgets.day` for today, by unit: `{"usd": "4"}`."""
    time_zone: str
    """IANA name; days begin at midnight in this zone."""
    hold_limit: int
    """Seconds a hold may wait before `unanswered` applies."""
    unanswered: Literal["proceed", "stop"]
    fail: Literal["open", "closed"]
    agents_choose: bool
    daily_report: bool
    """Whether a cost report is made for each day that has ended."""
    archived_at: datetime | None
    """Since when it can only be read and its keys refuse agents; None: not archived."""
    keep_words_days: int = 0
    """How many days the texts of turns are kept after their run has ended; 0: for ever."""
    second_factor: bool = False
    """Whether members need a second factor to enter."""
    redact_rules: tuple[str, ...] = ()
    """What is masked in its turns in addition to secrets: `#` stands for a digit, `?` for a
    letter, `*` at the end for the rest of the word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactRules:
    """Masking rules to test on recorded turns; they are not saved."""

    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleUse:
    rule: str
    times: int
    """The number of places that the rule would have masked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedPlace:
    """A passage of a recorded turn that the rules would have masked, with its context."""

    run: UUID
    name: str
    """The name of the run."""
    seq: int
    before: str
    masked: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionPreview:
    """What masking rules would have masked in the project's recorded turns."""

    since: datetime
    looked_at: int
    """The number of turns that were read."""
    is_whole: bool
    """Whether every turn since then was read."""
    turns: int
    """The number of turns in which something would have been masked."""
    runs: int
    rules: tuple[RuleUse, ...]
    places: tuple[RedactedPlace, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """The signed-in person, and what they may see."""

    user: User
    projects: tuple[ProjectRow, ...]
    version: str
    agent_url: str
    demo: Literal["off", "running"] | None = None
    """State of the demo's agents; None: this person cannot start or remove them."""
    closed: tuple[str, ...] = ()
    """Names of your projects that require a second factor, which you do not have."""


ChannelKind = Literal["discord", "slack", "telegram", "email", "ntfy", "webhook"]
# `push` is not a channel: a device subscribes itself, and nobody adds it by an address.
DeliveryKind = Literal["push", "discord", "slack", "telegram", "email", "ntfy", "webhook"]
# The languages of notices: `notify.texts` has a catalogue for each.
Language = Literal["en", "de"]
ChannelHears = Literal["decisions", "budgets", "reports"]
DeliveryWhat = Literal["decision", "withdrawal", "warning", "budget", "report", "test", "sign_out"]
DeliveryStatus = Literal["waiting", "sent", "failed", "withdrawn", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """A notification for one target: its status and its delivery attempts."""

    id: UUID
    project: UUID
    run: UUID | None
    run_name: str | None
    decision: UUID | None
    what: DeliveryWhat
    title: str
    kind: DeliveryKind
    """The kind of the channel, or `push` for a device."""
    target: str
    """The name of the channel or device when the row was written."""
    channel: UUID | None
    step_minutes: int
    """Sent only if nobody answers within this many minutes; 0: sent at once."""
    status: DeliveryStatus
    tries: int
    most_tries: int
    created_at: datetime
    due_at: datetime | None
    """The time of the next attempt; None: there will be none."""
    sent_at: datetime | None
    error: str | None
    """Why the last attempt failed, or why none was made."""
    can_retry: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRow:
    """A notification channel of a project, without the secret part of its address."""

    id: UUID
    project: UUID
    kind: ChannelKind
    name: str
    shown: str | None
    """Its address, shortened; None: it was encrypted with another secret key."""
    enabled: bool
    step_minutes: int
    quiet_from: str | None
    """"22:00", in the project's time zone."""
    quiet_to: str | None
    language: Language
    """The language of its notices."""
    hears: tuple[ChannelHears, ...]
    created_by: str
    created_at: datetime
    last: DeliveryRow | None
    """Its most recent delivery."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """The secret that signs a webhook."""

    secret: str
