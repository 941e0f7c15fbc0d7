"""This installation: its parts, and whether its record stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """A service this instance depends on, and its state."""

    name: Literal["database", "broker", "worker"]
    ok: bool
    what: str
    """Kind and version."""
    place: str
    """A file or an address, never with a password."""


# Requests a minute that open runs or send turns, telemetry or taps; bytes a minute; open runs.
LimitKind = Literal["runs", "turns", "otlp", "taps", "bytes", "open_runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRow:
    """A limit; 0: unlimited, None: not limited in this way."""

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
    """The request limits, and which keys of your projects are near or over them."""

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
    """The daily budget of all projects together, and today's spending."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """A journal row with its position in the chain."""

    id: UUID
    project: UUID
    run: UUID | None
    seq: int
    type: str
    at: datetime
    by: str
    version: int
    status: str | None
    payload: dict[str, Any] | None
    """None: erased, which a signed `audit.amended` allows; else a fault."""
    digest: str
    previous: str
    hash: str
    run_name: str | None = None
    """Of `run`, as it is called now."""
    salt: str | None = None
    """Of the digest: sha256(salt + payload)."""


FaultKind = Literal[
    "changed",
    "blanked",
    "missing",
    "unlinked",
    "cut",
    "unsigned",
    "rewritten",
    "dropped",
    "run_missing",
    "unanchored",
    "erasure",
    "run_row",
    "turn_changed",
    "turn_missing",
    "turn_added",
    "older_copy",
    "other_history",
    "heads_file",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFault:
    """A failed check and where it failed; `words` describes it in English."""

    kind: FaultKind
    words: str
    project: UUID
    run: UUID | None
    seq: int | None
    row: UUID | None
    what: str
    """Which turn, column, checkpoint or line, where the kind asks for it."""
    found: str
    """With `run_row`: what the run's row says ..."""
    expected: str
    """... and what its events tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Whether every chain is intact; `broken_at` is the first row that fails."""

    ok: bool
    rows: int
    head: str
    broken_at: str | None
    anchored_at: datetime | None = None
    """When a signed checkpoint last tied the runs' chains together."""
    faults: tuple[AuditFault, ...] = ()
    """The first hundred."""
    keys: tuple[str, ...] = ()
    """The public keys whose signatures are trusted, in hex; the first signs now."""
    compared_since: datetime | None = None
    """Since when heads are kept in a file beside the database; None: there is no file to
    compare with, and an older copy of the database would not be noticed."""
