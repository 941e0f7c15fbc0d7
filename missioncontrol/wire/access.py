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
