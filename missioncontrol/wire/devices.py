"""Browsers people are signed in with, and ways in for a phone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID


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
    hears_reports: bool
    """Told of each day's cost too."""
    last_sent_at: datetime | None
    last_failed_at: datetime | None
    """When the push was made that has not arrived, if none has since."""
    last_error: str | None
    is_current: bool
    """It subscribed with this installation's present key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRow:
    """A browser in which you are signed in."""

    id: UUID
    name: str
    """`a browser`, in English, where it told nothing of itself."""
    kind: Literal["phone", "desktop"]
    program: str
    """System and browser; empty where it told neither."""
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
    door: Literal["closed", "opening", "open", "failed"] | None = None
    """HTTPS that an owner opens to the local network while it runs; null: not from here."""
    door_port: int = 0
    """Where it opens; 0: a free port."""
    door_problem: str = ""
    """Why it did not open."""
