"""Projects, who is signed in to see them, and how people are reached."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from guard.wire import Mode

# An owner may do everything, an operator answers agents, a viewer reads.
RoleWord = Literal["owner", "operator", "viewer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRow:
    id: UUID
    name: str
    role: RoleWord
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
    archived_at: datetime | None
    """Since then it can only be read, and its keys refuse agents."""
    keep_words_days: int = 0
    """How many days turns keep their words after their run has ended; 0: for ever."""
    second_factor: bool = False
    """Who has no second factor stays out."""
    redact_rules: tuple[str, ...] = ()
    """What is masked of its turns besides secrets: `#` a digit, `?` a letter, `*` at the end
    the rest of the word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactRules:
    """Masking rules to test on recorded turns; they are not saved."""

    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleUse:
    rule: str
    times: int
    """Places it would have masked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedPlace:
    """A passage of a recorded turn that the rules would have masked, with its context."""

    run: UUID
    name: str
    """Of the run."""
    seq: int
    before: str
    masked: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionPreview:
    """What masking rules would have masked in the project's recorded turns."""

    since: datetime
    looked_at: int
    """Turns."""
    is_whole: bool
    """False: there is more than was looked at."""
    turns: int
    """Turns in which something would have been masked."""
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
    """The demo's agents; null: this person cannot start or remove them."""
    closed: tuple[str, ...] = ()
    """Projects of yours that ask for a second factor, which you do not have, by name."""


ChannelKind = Literal["discord", "slack", "telegram", "email", "ntfy", "webhook"]
# A device is not a channel: nobody adds it by an address.
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
    """A notification channel of a project, without the secret part of its address."""

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
    language: Language
    """What it is told in."""
    hears: tuple[ChannelHears, ...]
    created_by: str
    created_at: datetime
    last: DeliveryRow | None
    """What it was told last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """The secret that signs a webhook."""

    secret: str
