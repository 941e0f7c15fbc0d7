"""The journal as a chain."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
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
    """None: erased; the row still verifies."""
    digest: str
    previous: str
    hash: str
    run_name: str | None = None
    """Of `run`, as it is called now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Whether every chain holds; `broken_at` is the first row that does not."""

    ok: bool
    rows: int
    head: str
    broken_at: str | None
    anchored_at: datetime | None = None
    """When a signed checkpoint last tied the runs' chains together."""
