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


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesCalled:
    """A recorded call, and how often it was made."""

    call: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SparedCard:
    """A card that an entry would have spared, and what was answered then."""

    run: UUID
    name: str
    call: str
    at: datetime
    resolution: str | None
    resolved_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowlistPreview:
    """What a pattern would have matched among the `looked_at` newest calls since then."""

    since: datetime
    looked_at: int
    is_whole: bool
    """Every call since then was looked at."""
    calls: int
    runs: int
    examples: tuple[TimesCalled, ...]
    """The most frequent calls that match; where none does, those that hold what was typed."""
    cards: int
    """Cards that it would have spared; those of budgets and permissions are never spared."""
    stopped: int
    """So many of them were answered by ending the run."""
    spared: tuple[SparedCard, ...]
    """The newest of them."""
