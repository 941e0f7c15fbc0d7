"""Errors, as RFC 9457 tells them."""

from __future__ import annotations

from dataclasses import dataclass

from missioncontrol.wire.decisions import DecisionRow
from missioncontrol.wire.runs import RunRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """RFC 9457, with a stable `code`."""

    type: str
    title: str
    status: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleProblem(Problem):
    """409 `stale_run`: what the run and the card are now."""

    # In the refusal itself: the screen shows what is true now without asking again.
    run: RunRow
    decision: DecisionRow | None
