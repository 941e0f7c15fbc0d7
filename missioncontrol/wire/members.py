"""Who belongs to a project, and who was invited to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from missioncontrol.wire.projects import RoleWord


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """A person in a project."""

    id: str
    """The person's, as `me/` tells one's own."""
    project: UUID
    name: str
    role: RoleWord
    joined_at: datetime | None
    """Null: before this was noted."""
    seen_at: datetime | None
    """When a browser of theirs was last here."""
    is_you: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRow:
    """A link that lets one person in, once; the link itself was shown once."""

    id: UUID
    project: UUID
    role: RoleWord
    note: str
    """Whom it is for; empty where nobody said."""
    status: Literal["open", "used", "revoked", "expired"]
    invited_by: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    used_by: str
    """Who came by it; empty until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeInvitation(InvitationRow):
    url: str
    """Readable in this answer and never again. The secret stands behind its `#`, which no
    browser sends: no server and no proxy writes it down."""
    is_local: bool
    """Only who is at this machine reaches that address."""
