"""How a person signs in: their password, second factors, and account elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

WayWord = Literal["password", "passkey", "code", "oidc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PasskeyRow:
    """A passkey; what it is worth knowing without it."""

    id: int
    name: str
    created_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRow:
    """Your ways in, and which may be set up here."""

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
    """What an authenticator app needs, readable in this answer and never again."""

    secret: str
    url: str
    """`otpauth://…`, which a telephone's camera hands to the app."""
    qr: str
    """The same as a picture, a data: URL of SVG."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PasskeyOptions:
    """What the browser's `navigator.credentials` is called with, in its JSON form."""

    options: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryCodes:
    """Each stands in for a second factor once; readable in this answer and never again."""

    codes: tuple[str, ...]
    """Empty: those made before still hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoiningRuleRow:
    """Who signs in at the identity provider and fulfils it joins its project."""

    id: UUID
    project: UUID
    by: Literal["domain", "group"]
    """Of a verified e-mail address, or as the provider names it."""
    value: str
    role: Literal["operator", "viewer"]
    created_at: datetime
    created_by: str
