"""Who reaches a project: agent keys, personal tokens, members and invitations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from missioncontrol.wire.projects import RoleWord


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKeyRow:
    """A key of a project's agents; the secret itself was shown once."""

    id: UUID
    project: UUID
    name: str
    prefix: str
    """How it begins."""
    reach: Literal["own", "agent", "project"]
    """Which runs it speaks for: those it opened, those of `agent`, all of the project."""
    agent: str
    """Whose runs it reaches; empty unless `reach` is `agent`."""
    reports_only: bool
    """Its agent is told nothing: it cannot be held, corrected or ended with it."""
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None
    """To the minute."""
    last_used_from: str | None
    """The address."""
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeAgentKey(AgentKeyRow):
    secret: str
    """Readable in this answer and never again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupCodeRow:
    """A code that `guard connect --once` exchanges for an agent key."""

    id: UUID
    project: UUID
    expires_at: datetime
    used_at: datetime | None
    used_on: str
    """The machine it was used on; empty until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAgentRow:
    """An agent on Mission Control's own machine."""

    client: str
    used_at: datetime | None
    """null: nothing there tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeSetupCode(SetupCodeRow):
    code: str
    """Readable in this answer and never again."""
    guard: str
    """The command that runs this installation's `guard` from any folder of its machine."""
    agents: tuple[FoundAgentRow, ...]
    """Found on this installation's machine, the last used first."""
    install: str
    """The command that brings the same `guard` into an agent's Python environment there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangedKey:
    """What a set-up code was good for."""

    key: str
    """Readable in this answer and never again."""
    project: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A personal token: a script that sends it acts as this person."""

    id: UUID
    name: str
    prefix: str
    scope: Literal["read", "write"]
    project: UUID | None
    """The only one it opens; None: all of its person's."""
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    last_used_from: str | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeToken(TokenRow):
    secret: str
    """Readable in this answer and never again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedFrom:
    """A place where a secret was used; both empty: further places, too many to tell apart."""

    address: str
    program: str
    """As it calls itself."""
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedOn:
    """A run that a key was used on."""

    run: UUID
    name: str
    status: str
    is_its_own: bool
    """The key opened it."""
    turns: int
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretUses:
    """Who used a key or a token, where and for what: for when it has leaked."""

    places: tuple[UsedFrom, ...]
    """The last one first; to the minute."""
    runs: tuple[UsedOn, ...]
    """The last one first, at most 200; a token has none."""


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
