"""Runs as History finds and lists them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from missioncontrol.wire.decisions import Resolution
from missioncontrol.wire.runs import RunRow


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyRow:
    """Why a run stands where it stands: the last that was decided about it."""

    kind: str
    """Of the card: `exact_repeat`, `budget`, …; empty: no card was opened."""
    summary: str
    resolution: Resolution | None
    """None: the card is open, or there was none."""
    by: str | None
    """Who closed it, or ended the run without a card."""
    message: str | None
    """What was said to the agent."""
    recovered: bool | None
    """Of an autofix: whether the agent went on; None: not known, or there was none."""
    turns_after: int | None
    """Of an autofix: turns until that was known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRow:
    """Where the words of a search stand: a piece of text, and which parts of it match."""

    turn: int | None
    """`seq` of the turn; None: it is the run's own text."""
    field: str
    text: str
    marks: tuple[tuple[int, int], ...]
    """From where to where, in characters (code points) of `text`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow(RunRow):
    """A run as History lists it."""

    why: WhyRow
    loop_cost_usd: Decimal | None
    """What the turns of its loops cost; None: there was none, or they are unpriced."""
    match: MatchRow | None
    """Set where words were searched for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryTotals:
    """Sums over every run that a search finds."""

    runs: int
    turns: int
    cost_usd: Decimal
    judge_cost_usd: Decimal
    unpriced_runs: int
    flagged: int
    """Runs with a card."""
    loops: int
    """Of those, the runs whose card somebody answered as a loop, not as fine."""
    loop_cost_usd: Decimal
    autofixes: int
    recovered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedViewRow:
    """A line of search that one person keeps; nobody else sees it."""

    id: UUID
    project: UUID
    name: str
    q: str
    created_at: datetime
