"""The journal as a chain."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One journal row with its place in the chain."""

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
    """One thing that does not hold, and where; `words` says it in English."""

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
    """Whether everything holds; `broken_at` is the first row that does not."""

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
