"""Ways to reach people, and what became of each notice."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

ChannelKind = Literal["discord", "slack", "telegram", "email", "ntfy", "webhook"]
# A device is no channel: nobody adds it by an address.
DeliveryKind = Literal["push", "discord", "slack", "telegram", "email", "ntfy", "webhook"]
# What people are told in: `notify.texts` has a catalogue of each.
Language = Literal["en", "de"]
ChannelHears = Literal["decisions", "budgets", "reports"]
DeliveryWhat = Literal["decision", "withdrawal", "warning", "budget", "report", "test", "sign_out"]
DeliveryStatus = Literal["waiting", "sent", "failed", "withdrawn", "skipped"]


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
    language: Language
    """What it is told in."""
    hears: tuple[ChannelHears, ...]
    created_by: str
    created_at: datetime
    last: DeliveryRow | None
    """What it was told last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """What a webhook's signature is made with."""

    secret: str
