"""How people, agents and devices get in: keys and members, ways to sign in, browsers and phones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from missioncontrol.wire.projects import RoleWord


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKeyRow:
    """A project's agent key; its secret was shown once, when it was made."""

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
    """What a set-up code was used for."""

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
    """A place from which a secret was used; both fields empty: further places, too many to list."""

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
    """Where a key or token was used and for what, in case it has leaked."""

    places: tuple[UsedFrom, ...]
    """The last one first; to the minute."""
    runs: tuple[UsedOn, ...]
    """The last one first, at most 200; a token has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """A member of a project."""

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
    """An invitation for one person, usable once; its link was shown when it was made."""

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
    """That address can only be reached from this machine."""


WayWord = Literal["password", "passkey", "code", "oidc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PasskeyRow:
    """A passkey, described without its secret."""

    id: int
    name: str
    created_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRow:
    """Your sign-in methods, and which of them can be set up here."""

    offered: tuple[Literal["password", "passkey", "oidc"], ...]
    """Ways that are on in this installation; none: links and codes alone."""
    ways: tuple[WayWord, ...]
    """Those of yours that can prove it is you."""
    has_password: bool
    has_app: bool
    passkeys: tuple[PasskeyRow, ...]
    recovery_codes: int
    """How many are left."""
    provider: str
    """What the identity provider is called; empty: there is none."""
    identity: str | None
    """Your account there, as you know it."""
    closed: tuple[str, ...]
    """Projects of yours that ask for a second factor, which you do not have, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunApp:
    """The set-up data for an authenticator app, shown in this answer only."""

    secret: str
    url: str
    """`otpauth://…`, which a telephone's camera hands to the app."""
    qr: str
    """The same as a picture, a data: URL of SVG."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PasskeyOptions:
    """The options for the browser's `navigator.credentials`, as JSON."""

    options: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryCodes:
    """Each code replaces the second factor once; they are shown in this answer only."""

    codes: tuple[str, ...]
    """Empty: those made before still hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoiningRuleRow:
    """A rule: people who sign in through the identity provider and match it join the project."""

    id: UUID
    project: UUID
    by: Literal["domain", "group"]
    """Of a verified e-mail address, or as the provider names it."""
    value: str
    role: Literal["operator", "viewer"]
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRow:
    """How a browser receives pushes. Times of day (`22:00`) are in its own time zone."""

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
    """A link and a code that sign in one phone. They are shown in this answer only."""

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
    """What a phone can do at its address."""

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
