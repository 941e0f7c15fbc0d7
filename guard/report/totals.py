"""Many sessions added up, one at a time: memory does not grow with their number."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

from guard.report.loops import Loop, Session

WORST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One loop, and the file it stands in."""

    loop: Loop
    path: Path
    run: str

    def as_row(self) -> dict[str, Any]:
        """Give plain JSON values."""
        loop = self.loop
        return {
            "run": self.run,
            "path": str(self.path),
            "first_turn": loop.first,
            "alarm_turn": loop.alarm,
            "wasted_turns": loop.turns,
            "wasted_usd": money(loop.usd),
            "detector": loop.detector,
            "summary": loop.summary,
            "call": loop.call,
            "at": loop.at.isoformat() if loop.at else None,
        }


@dataclass(slots=True)
class Totals:
    """What all sessions come to.

    Attributes:
        priced: Sessions of which at least one model call has a price.
        unpriced: Sessions without one: their dollars are in no figure here.
        unpriced_calls: Model calls with tokens and no known price, in any session.
        skipped: Files that hold no session in a known form, or cannot be read.
    """

    sessions: int = 0
    turns: int = 0
    looping: int = 0
    loops: int = 0
    wasted_turns: int = 0
    usd: Decimal = field(default_factory=Decimal)
    wasted_usd: Decimal = field(default_factory=Decimal)
    priced: int = 0
    unpriced: int = 0
    unpriced_loops: int = 0
    unpriced_calls: int = 0
    malformed: int = 0
    skipped: int = 0
    by_detector: dict[str, int] = field(default_factory=dict)
    _worst: list[tuple[Decimal, int, int, Found]] = field(default_factory=list)
    _order: count[int] = field(default_factory=lambda: count(0, -1))

    def add(self, session: Session, path: Path) -> None:
        """Add one session."""
        self.sessions += 1
        self.turns += session.turns
        self.malformed += session.malformed
        self.unpriced_calls += session.unpriced_calls
        self.priced += session.usd is not None
        self.unpriced += session.usd is None
        self.usd += session.usd or 0
        self.looping += bool(session.loops)
        for loop in session.loops:
            self._add_loop(loop, Found(loop=loop, path=path, run=session.run))

    @property
    def worst(self) -> list[Found]:
        """The loops that wasted most, dollars before turns, worst first."""
        return [found for *_, found in sorted(self._worst, reverse=True)]

    def as_mapping(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {
            "sessions": self.sessions,
            "turns": self.turns,
            "sessions_with_loops": self.looping,
            "loops": self.loops,
            "wasted_turns": self.wasted_turns,
            "cost_usd": money(self.usd if self.priced else None),
            "wasted_usd": money(self.wasted_usd if self.priced else None),
            "unpriced_sessions": self.unpriced,
            "unpriced_loops": self.unpriced_loops,
            "unpriced_calls": self.unpriced_calls,
            "malformed_lines": self.malformed,
            "skipped_files": self.skipped,
            "by_detector": dict(sorted(self.by_detector.items())),
            "worst": [found.as_row() for found in self.worst],
        }

    def _add_loop(self, loop: Loop, found: Found) -> None:
        self.loops += 1
        self.wasted_turns += loop.turns
        self.wasted_usd += loop.usd or 0
        self.unpriced_loops += loop.usd is None
        self.by_detector[loop.detector] = self.by_detector.get(loop.detector, 0) + 1
        # The order breaks ties, the earlier found first, so that loops are never compared.
        rank = (loop.usd or Decimal(0), loop.turns, next(self._order), found)
        if len(self._worst) < WORST:
            heapq.heappush(self._worst, rank)
        else:
            heapq.heappushpop(self._worst, rank)


def money(amount: Decimal | None) -> str | None:
    """Give dollars as a decimal string, None where they are not known."""
    return None if amount is None else f"{amount:f}"
