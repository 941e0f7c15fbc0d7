"""A ceiling that was reached. No signal unless somebody set one."""

from __future__ import annotations

from typing import ClassVar

from guard.budget import Budget, Spent, nearest
from guard.detectors.base import Detector, View
from guard.policy import Policy
from guard.quoting import name_or_quote
from guard.signals import Evidence, Kind, Signal

SCOPE_NAMES = {
    "tree": "The tree of {whose}",
    "agent": "Agent {whose}",
    "project": "The project",
    "day": "The project today",
}


class BudgetCeiling(Detector):
    """Trip when the run has used its budget; nudge from 80 % on.

    An agent of the run may have its own ceilings (`budget.agents`). There is no
    numeric budget until somebody sets one.
    """

    name: ClassVar[str] = "budget"

    def __init__(self, policy: Policy) -> None:
        self._budget = policy.budget

    def examine(self, view: View) -> Signal | None:
        """Compare the meter with the ceilings."""
        if self._budget is None:
            return None
        return budget_signal(self._budget, view.meter.spent, seq=view.seq, agent=view.agent)


def budget_signal(
    budget: Budget | None,
    spent: Spent,
    *,
    seq: int,  # the turn the signal is about
    agent: str = "",  # who acts: its own ceilings within `budget` count too
    scope: str = "run",  # whose ceilings these are: run | tree | agent | project | day
    # The agent's name, the day ("2026-11-21") or the id of the run whose tree it is; else None.
    whose: str | None = None,
    known_as: str | None = None,  # what people call it, if `whose` is an id
) -> Signal | None:
    """Compare usage with ceilings; None while less than 80 % is used."""
    found = nearest(budget, spent, agent=agent)
    if found is None:
        return None
    shown = known_as or whose
    who = SCOPE_NAMES.get(scope, "It").format(whose=shown and name_or_quote(shown))
    if found.agent is not None:
        who = f"Agent {name_or_quote(found.agent)} of this run"
    summary = f"{who} has used {found.spent} of {found.ceiling} {found.unit}."
    if not found.reached:
        summary = f"{who} has used {found.share:.0%} of its budget."
    elif found.unit == "usd":
        summary = f"{who} has spent ${found.spent} of ${found.ceiling}."
    elif found.unit == "failures":
        summary = f"{who} has failed {found.spent} times in a row; {found.ceiling} are allowed."
    return Signal(
        detector=BudgetCeiling.name,
        kind=Kind.BUDGET,
        score=found.share,
        turns=(seq,),
        evidence=Evidence(
            summary=summary,
            spent=found.spent,
            ceiling=found.ceiling,
            unit=found.unit,
            scope=scope,
            whose=whose or found.agent,
        ),
    )
