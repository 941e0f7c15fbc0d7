"""Ceilings of the runs above: a run's budget counts what its whole tree uses.

A run's own use stands in its row, what the runs below it used in one counter
(`spending.TREE`); both are read without a lock, as all shared sums are.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from guard.budget import Budget, Spent
from guard.detectors.budget import weigh
from guard.errors import PolicyInvalid
from guard.signals import Signal
from missioncontrol.costs import counting
from missioncontrol.costs.spending import SHARED_UNITS, TREE, Spending
from missioncontrol.runs.lineage import ancestors
from missioncontrol.runs.models import Run
from missioncontrol.runs.rows import ceilings_of

logger = logging.getLogger(__name__)


class Ancestors:
    """The runs above those of one transaction, each as it stands."""

    def __init__(self, runs: Iterable[Run]) -> None:
        """Read them once; one that is locked here is not read again."""
        self._known = {run.id: run for run in runs}
        linked = [run for run in self._known.values() if run.lineage]
        wanted = {one for run in linked for one in ancestors(run)}
        missing = wanted - self._known.keys()
        if missing:
            found = Run.objects.select_related("project", "meters").filter(pk__in=missing)
            self._known |= {run.id: run for run in found}

    def of(self, run: Run) -> list[Run]:
        """Give the runs above this one, outermost first; deleted ones are gone."""
        return [self._known[one] for one in ancestors(run) if one in self._known]

    def named(self, run_id: UUID) -> Run | None:
        """Give one of them, or of the transaction's own."""
        return self._known.get(run_id)


def weigh_ancestors(
    run: Run, ancestors: Ancestors, spending: Spending, *, seq: int, at: datetime
) -> tuple[Signal, ...]:
    """Say what the ceilings above this run say; those that are near come first."""
    found = []
    for one in reversed(ancestors.of(run)):
        if (ceilings := ceilings_over_tree(one)) is not None:
            spent, whose = spent_by_tree(one, spending, at=at), str(one.id)
            found.append(
                weigh(ceilings, spent, seq=seq, scope=TREE, whose=whose, known_as=one.name)
            )
    return tuple(signal for signal in found if signal is not None)


def ceilings_over_tree(run: Run) -> Budget | None:
    """Give a run's ceilings in the units that its tree adds up, None: it has none."""
    # Seconds and failures in a row have no sum over a tree.
    limits = {unit: value for unit, value in ceilings_of(run).items() if unit in SHARED_UNITS}
    try:
        return Budget.from_mapping(limits) if any(limits.values()) else None
    except (PolicyInvalid, ArithmeticError):
        # Judging goes on without it, as it does without a policy that cannot be read.
        logger.exception("the budget of run %s cannot be read", run.id)
        return None


def spent_by_tree(run: Run, spending: Spending, *, at: datetime) -> Spent:
    """Add up what a run and all below it used."""
    below = counting.NOTHING if run.root is None else spending.below(run)
    return counting.spent_by(run, at=at, below=below)
