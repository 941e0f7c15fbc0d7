"""Links that show one thing of a project to whoever has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRow:
    """One link; its secret is told once, to who made it."""

    id: UUID
    project: UUID
    kind: Literal["run", "decision", "costs"]
    run: UUID | None
    decision: UUID | None
    week: date | None
    name: str
    """Of the run; empty: a week's costs."""
    made_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeShare(ShareRow):
    url: str
    """Readable in this answer and never again. `image.png` behind it is the picture alone."""
    is_local: bool
    """Only who is at this machine reaches that address."""
