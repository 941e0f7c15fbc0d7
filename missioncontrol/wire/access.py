"""Agent keys and personal tokens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID


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
    created_at: datetime
    created_by: str
    last_used_at: datetime | None
    """To the minute."""
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
class MadeSetupCode(SetupCodeRow):
    code: str
    """Readable in this answer and never again."""
    guard: str
    """The command that runs this installation's `guard` from any folder of its machine."""
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
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeToken(TokenRow):
    secret: str
    """Readable in this answer and never again."""
