"""This installation: its parts, limits and budget, and the state of its audit log."""

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
    """Kind and version of the service."""
    place: str
    """A file or an address, without a password."""


# Requests per minute that open runs or send turns, telemetry or taps; bytes per minute; open runs.
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
    """None: the project as a whole."""
    name: str
    """The name of the key; empty for the project as a whole."""
    project: str
    kind: LimitKind
    a_minute: int
    """Requests or bytes in the last minute."""
    refused: int
    """Requests refused since the process started."""
    open_runs: int
    """The number of its runs that have not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsRow:
    """The request limits, and which keys of your projects are near or over them."""

    requests: tuple[LimitRow, ...]
    body_bytes: int
    """The largest body of an agent's request."""
    person_body_bytes: int
    """The largest body of a request without an agent key."""
    openings: int
    """How many runs may be opened at the same time."""
    users: tuple[LimitUse, ...]
    """By refusals, then by use, highest first; at most fifty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganisationBudget:
    """The daily budget of all projects together, and today's spending."""

    day_usd: Decimal | None
    """None: no ceiling."""
    extra_usd: Decimal
    """Added to it for today only."""
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
    """This request came over HTTPS, or the public address is HTTPS."""
    push_contact: str
    """The contact that pushes name to the push services; empty: none."""
    push_problem: Literal["none", "form", "local"] | None
    """Why some push services refuse it: there is none, it has the wrong form, or it is an address
    that only works locally."""
    runs: int
    turns: int
    events: int
    waiting: int
    """Observations that are stored but not judged yet."""
    keep_deliveries_days: int | None
    """How long the record of each delivery is kept; None: for ever."""
    unindexed: int
    """Runs whose words are not all indexed for search yet."""
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
    """None: erased; this is a fault unless a signed `audit.amended` allows it."""
    digest: str
    previous: str
    hash: str
    run_name: str | None = None
    """The current name of `run`."""
    salt: str | None = None
    """The salt of the digest: sha256(salt + payload)."""


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
    """Which turn, column, checkpoint or line, for kinds that need it."""
    found: str
    """For `run_row`: the value in the run's row."""
    expected: str
    """For `run_row`: the value that follows from the run's events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Whether every chain is intact; `broken_at` is the first row that fails."""

    ok: bool
    rows: int
    head: str
    broken_at: str | None
    anchored_at: datetime | None = None
    """The time of the last signed checkpoint."""
    faults: tuple[AuditFault, ...] = ()
    """The first hundred faults."""
    keys: tuple[str, ...] = ()
    """The trusted public keys, in hex; the first one signs now."""
    compared_since: datetime | None = None
    """Since when the file of heads has been kept; None: there is no such file, so an older copy of
    the database would not be noticed."""
