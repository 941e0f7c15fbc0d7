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
    """The first characters of the secret."""
    reach: Literal["own", "agent", "project"]
    """Which runs it gives access to: those it opened, those of `agent`, or all of the project."""
    agent: str
    """The agent whose runs it reaches; empty unless `reach` is `agent`."""
    reports_only: bool
    """The agent only reports: it gets no directives, so it cannot be held, corrected or ended."""
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None
    """Accurate to the minute."""
    last_used_from: str | None
    """The network address."""
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeAgentKey(AgentKeyRow):
    secret: str
    """Shown in this answer only."""


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
    """None: nothing on the machine shows when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeSetupCode(SetupCodeRow):
    code: str
    """Shown in this answer only."""
    guard: str
    """The command that runs this installation's `guard` from any folder of its machine."""
    agents: tuple[FoundAgentRow, ...]
    """Found on this installation's machine, the most recently used first."""
    install: str
    """The command that installs the same `guard` in an agent's Python environment there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangedKey:
    """What a set-up code was used for."""

    key: str
    """Shown in this answer only."""
    project: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A personal token: a script that sends it acts as this person."""

    id: UUID
    name: str
    prefix: str
    scope: Literal["read", "write"]
    project: UUID | None
    """The only project it gives access to; None: all projects of its owner."""
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    last_used_from: str | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeToken(TokenRow):
    secret: str
    """Shown in this answer only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedFrom:
    """A place from which a secret was used; both fields empty: further places, too many to list."""

    address: str
    program: str
    """The name it gives itself."""
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedOn:
    """A run that a key was used on."""

    run: UUID
    name: str
    status: str
    is_its_own: bool
    """The run was opened with this key."""
    turns: int
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretUses:
    """Where a key or token was used and for what, in case it has leaked."""

    places: tuple[UsedFrom, ...]
    """The most recent first; times are accurate to the minute."""
    runs: tuple[UsedOn, ...]
    """The most recent first, at most 200; empty for a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """A member of a project."""

    id: str
    """The person's id, the same as in `me/`."""
    project: UUID
    name: str
    role: RoleWord
    joined_at: datetime | None
    """None: the person joined before this was recorded."""
    seen_at: datetime | None
    """When one of their browsers last sent a request."""
    is_you: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRow:
    """An invitation for one person, usable once; its link was shown when it was made."""

    id: UUID
    project: UUID
    role: RoleWord
    note: str
    """Whom it is for; may be empty."""
    status: Literal["open", "used", "revoked", "expired"]
    invited_by: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    used_by: str
    """Who joined with it; empty until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeInvitation(InvitationRow):
    url: str
    """Shown in this answer only. The secret follows the `#`; browsers do not send that part, so
    no server or proxy logs it."""
    is_local: bool
    """The address can only be reached from this machine."""


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
    """Methods enabled in this installation; empty: only links and codes."""
    ways: tuple[WayWord, ...]
    """Your methods, each of which can confirm your identity."""
    has_password: bool
    has_app: bool
    passkeys: tuple[PasskeyRow, ...]
    recovery_codes: int
    """How many are left."""
    provider: str
    """The name of the identity provider; empty: there is none."""
    identity: str | None
    """Your account at the identity provider, by the name you know; None: there is none."""
    closed: tuple[str, ...]
    """Names of your projects that require a second factor, which you do not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunApp:
    """The set-up data for an authenticator app, shown in this answer only."""

    secret: str
    url: str
    """`otpauth://…`; a phone's camera opens it in the app."""
    qr: str
    """`url` as a QR code: an SVG image in a data: URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PasskeyOptions:
    """The options for the browser's `navigator.credentials`, as JSON."""

    options: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryCodes:
    """Each code replaces the second factor once; they are shown in this answer only."""

    codes: tuple[str, ...]
    """Empty: the codes made earlier remain valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoiningRuleRow:
    """A rule: people who sign in through the identity provider and match it join the project."""

    id: UUID
    project: UUID
    by: Literal["domain", "group"]
    """The domain of a verified e-mail address, or a group at the provider."""
    value: str
    role: Literal["operator", "viewer"]
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRow:
    """How a browser receives pushes. Times of day (`22:00`) are in its own time zone."""

    enabled: bool
    show_details: bool
    """False: a push contains only its title."""
    quiet_from: str | None
    quiet_to: str | None
    time_zone: str
    language: str
    hears_reports: bool
    """Whether it also receives the daily cost reports."""
    last_sent_at: datetime | None
    last_failed_at: datetime | None
    """When the push that failed was created; None if a later one arrived."""
    last_error: str | None
    is_current: bool
    """It subscribed with this installation's current VAPID key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRow:
    """A browser in which you are signed in."""

    id: UUID
    name: str
    """`a browser`, in English, if it did not identify itself."""
    kind: Literal["phone", "desktop"]
    program: str
    """System and browser; empty if it did not identify itself."""
    created_at: datetime
    seen_at: datetime
    is_this: bool
    """It sent this request."""
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
    """The page where the code is typed."""
    qr: str | None = None
    """`url` as a QR code, in a data: URL."""
    device: DeviceRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a phone can do at its address."""

    url: str
    """Empty: it can only be reached from this machine."""
    is_secure: bool
    """It is served over HTTPS: the app can be installed, receive pushes and start offline."""
    certificate: str | None
    """The SHA-256 of the certificate that this machine made; None: it made none."""
    push_key: str | None
    """The VAPID key that a browser subscribes with; None: this installation has none."""
    door: Literal["closed", "opening", "open", "failed"] | None = None
    """State of the HTTPS port that owners open to the local network; None: you cannot open it."""
    door_port: int = 0
    """The port; 0: any free one."""
    door_problem: str = ""
    """Why it did not open."""
