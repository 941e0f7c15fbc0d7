"""Calls that may repeat."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowlistRow:
    id: UUID
    project: UUID
    scope: Literal["run", "agent", "project"]
    run: UUID | None
    agent: str | None
    pattern: str
    match: Literal["exact", "glob"]
    hits: int
    last_hit_at: datetime | None
    expires_at: datetime | None
    created_by: str
    created_at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedCall:
    """An allowlist entry as an agent follows it."""

    scope: str
    agent: str | None
    pattern: str
    match: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowlistSuggestion:
    """A call that people let go on three times or more, and that no entry covers."""

    project: UUID
    pattern: str
    times: int
    first_at: datetime
    last_at: datetime
    by: tuple[str, ...]
    """Who let it go on."""
    agents: tuple[str, ...]
