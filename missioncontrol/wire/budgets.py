"""Ceilings, and how near a run or a project is to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BudgetScope = Literal["run", "tree", "agent", "project", "day", "organisation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """A ceiling that nears its end (`warning`, from 80 %) or is `reached`."""

    scope: BudgetScope
    """Whose it is: this run's, or what a run above it with its whole tree, an agent, the
    project or its day may use, or all projects on a day in UTC."""
    whose: str | None
    """The agent's name, the day, or the id of the run above."""
    unit: str
    level: Literal["warning", "reached"]
    # Text, as `ceiling`: of dollars a decimal, of anything else a whole number.
    spent: str
    """Empty for the organisation's: what other projects used is not for everybody."""
    ceiling: str
    share: float
    """Of the ceiling, in [0, 1], when it was told."""
