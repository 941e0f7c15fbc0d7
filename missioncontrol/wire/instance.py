"""This installation and its parts."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """A part this instance needs, and how it is."""

    name: Literal["database", "broker", "worker"]
    ok: bool
    what: str
    """Kind and version."""
    place: str
    """A file or an address, never with a password."""


# Requests a minute that open runs, bring turns, telemetry or taps; bytes a minute; runs.
LimitKind = Literal["runs", "turns", "otlp", "taps", "bytes", "open_runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRow:
    """How much there may be of something; 0: any number, None: it is not limited so."""

    kind: LimitKind
    a_key: int
    an_address: int | None
    a_project: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """What a key, or a project as a whole, has taken of a limit, as the web process counts that
    answers.
    """

    key: UUID | None
    """None: all keys of the project together."""
    name: str
    """Of the key; empty: it is the project."""
    project: str
    kind: LimitKind
    a_minute: int
    """Requests of the last minute, or bytes."""
    refused: int
    """Requests that were refused since the process began."""
    open_runs: int
    """Its runs that have not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsRow:
    """What may be sent, and which keys of your projects come near it or met it."""

    requests: tuple[LimitRow, ...]
    body_bytes: int
    """Of one request of an agent."""
    person_body_bytes: int
    """Of one request without an agent's key."""
    openings: int
    """Runs that may be opened at once."""
    users: tuple[LimitUse, ...]
    """Refused most often first, then by what they took; at most fifty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganisationBudget:
    """What all projects together may spend a day, and what they did today."""

    day_usd: Decimal | None
    """None: there is no ceiling."""
    extra_usd: Decimal
    """Allowed on top of it, today only."""
    spent_usd: Decimal
    day: str
    """Today in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRow:
    version: str
    python: str
    parts: tuple[PartRow, ...]
    data_dir: str
    database_bytes: int | None
    disk_free_bytes: int
    disk_bytes: int
    public_url: str
    is_secure: bool
    """This request came over https, or the public address is https."""
    push_contact: str
    """Whom our pushes name to push services; "": nobody."""
    push_problem: Literal["none", "form", "local"] | None
    """Why some push services refuse that: there is none, it is no contact, or no one out there
    could use it."""
    runs: int
    turns: int
    events: int
    waiting: int
    """Observations stored and not judged yet."""
    keep_deliveries_days: int | None
    """How long it is kept what became of each delivery; None: for ever."""
    unindexed: int
    """Runs with words that cannot be found yet."""
    limits: LimitsRow
    budget: OrganisationBudget
