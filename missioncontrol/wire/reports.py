"""Daily cost reports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from missioncontrol.wire.costs import CostAccount, CostBudget, CostGroup, CostSum, Saving


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A day's cost report in a list. It is never changed: a later version corrects it."""

    id: UUID
    project: UUID
    project_name: str
    day: str
    """In the project's time zone."""
    time_zone: str
    version: int
    """1, or higher: it corrects the one before."""
    reason: str
    """Why it corrects; empty for the first."""
    made_at: datetime
    spent: CostSum
    was_usd: Decimal | None
    """What the version before told; None for the first."""
    before_usd: Decimal
    """What the same day a week before cost."""
    budget: CostBudget | None
    saved: Saving


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A day's cost report: by agent (in `account`), model and project."""

    row: ReportRow
    newest: UUID
    """Of the same day; another than this one's: it was corrected."""
    account: CostAccount
    models: tuple[CostGroup, ...]
    projects: tuple[CostGroup, ...]
    sent: int
    """Channels that have it."""
    waiting: int
    failed: int
