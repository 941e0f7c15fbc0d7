"""Linked runs: put under a parent, and subject to the ceilings of the runs above.

A run's budget counts what its whole tree uses. A run's own use is in its row; what the runs
below it used is in one counter (`spending.TREE`). Both are read without a lock, as all shared
sums are.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Q

from guard.budget import Budget, Spent
from guard.detectors.budget import budget_signal
from guard.errors import PolicyInvalid
from guard.signals import Signal
from missioncontrol.costs import counting
from missioncontrol.costs.spending import SHARED_UNITS, TREE, SharedCounters, Use
from missioncontrol.errors import InvalidRequest, NotFound, ensure_found
from missioncontrol.runs import journal, lineage
from missioncontrol.runs.lineage import ancestor_ids
from missioncontrol.runs.models import RECORDED, Run
from missioncontrol.runs.rows import ceilings_of
from missioncontrol.wire.events import RunLinked

logger = logging.getLogger(__name__)

# How long after a run's start its parent is looked for.
LINK_WITHIN = timedelta(days=1)
WAITING_COLUMNS = ("id", "project_id", "parent_key", "relation")


def link_run(
    run_id: UUID,
    parent_id: UUID,
    *,
    relation: str = "child",
    projects: Collection[UUID],
    by: str,
    at: datetime,
) -> Run:
    """Put a run and all below it under a parent; the same link again changes nothing.

    Takes the project's lock, so that its trees do not change meanwhile, then those of the
    runs in id order.

    Raises:
        NotFound: one of them is no run of these projects or was imported, or they belong to two
            projects.
        InvalidRequest: the run has another parent, or would be its own ancestor.
    """
    found = Run.objects.filter(~RECORDED, pk=run_id, project_id__in=projects)
    child = ensure_found(found.first(), "The run")
    with journal.lock_project(child.project_id) as project:
        below = Run.objects.filter(root=run_id).values_list("id", flat=True)
        with journal.lock_runs({run_id, parent_id, *below}, at=at) as tx:
            child, parent = tx.run(run_id), tx.runs.get(parent_id)
            if parent is None or parent.project_id != project.id or parent.imported:
                raise NotFound(f"The run {parent_id}")
            # A client may report the link twice, or after the sweeper made it.
            if child.parent_id == parent.id:
                return child
            members = [run for run in tx.runs.values() if run.root == child.id and run is not child]
            # A parent that is below its child is not moved: `move_tree` refuses the link.
            others = [run for run in members if run is not parent]
            lineage.move_tree(others, child, parent, relation=relation)
            # The runs above also count what the child and its tree used before they were linked.
            counters = SharedCounters([child], at=at)
            spent = counting.spent_by(child, at=at, below=counters.spent_below(child))
            use = Use(usd=spent.usd, tokens=spent.tokens, calls=spent.calls, turns=spent.turns)
            counters.add_to_ancestors(child, use)
            counters.write()
            for run in (child, *members):
                above, root = run.parent_id, run.root
                tx.record(run, RunLinked, by=by, parent=above, relation=run.relation, root=root)
            return child


def link_waiting_runs(*, at: datetime) -> None:
    """Link the runs whose named parent has become known since."""
    # Unlocked: most of them still wait, and `link_run` checks again under the locks.
    waiting = Run.objects.filter(~Q(parent_key=""), parent=None, started_at__gte=at - LINK_WITHIN)
    for run_id, project, key, named in waiting.values_list(*WAITING_COLUMNS):
        parent, relation = lineage.find_parent(project, key), named or "child"
        if parent is None:
            continue
        try:
            link_run(run_id, parent.id, relation=relation, projects=[project], by="agent", at=at)
        except InvalidRequest as refused:
            # It would be refused every time: stop looking for its parent.
            logger.info("run %s cannot be linked to %s: %s", run_id, parent.id, refused)
            Run.objects.filter(pk=run_id).update(parent_key="")
        except (NotFound, ObjectDoesNotExist) as gone:
            who = (run_id, parent.id)
            logger.info("run %s or its parent %s was deleted meanwhile: %s", *who, gone)


class Ancestors:
    """The runs above those of one transaction, as currently stored."""

    def __init__(self, runs: Iterable[Run]) -> None:
        """Read them once; runs that are locked here are not read again."""
        self._known = {run.id: run for run in runs}
        linked = [run for run in self._known.values() if run.lineage]
        wanted = {one for run in linked for one in ancestor_ids(run)}
        missing = wanted - self._known.keys()
        if missing:
            found = Run.objects.select_related("project", "meters").filter(pk__in=missing)
            self._known |= {run.id: run for run in found}

    def above(self, run: Run) -> list[Run]:
        """Return the runs above this one, outermost first, without deleted ones."""
        return [self._known[one] for one in ancestor_ids(run) if one in self._known]

    def get(self, run_id: UUID) -> Run | None:
        """Return one of them or of the transaction's runs, None: it is neither."""
        return self._known.get(run_id)


def ancestor_signals(
    run: Run, ancestors: Ancestors, counters: SharedCounters, *, seq: int, at: datetime
) -> tuple[Signal, ...]:
    """Return the signals of the ceilings above this run, the nearest run's first."""
    found = []
    for one in reversed(ancestors.above(run)):
        if (ceilings := tree_ceilings(one)) is not None:
            spent, whose = spent_by_tree(one, counters, at=at), str(one.id)
            found.append(
                budget_signal(ceilings, spent, seq=seq, scope=TREE, whose=whose, known_as=one.name)
            )
    return tuple(signal for signal in found if signal is not None)


def tree_ceilings(run: Run) -> Budget | None:
    """Return a run's ceilings in the units that its tree adds up, None: it has none."""
    # Seconds and failures in a row are not added up over a tree.
    limits = {unit: value for unit, value in ceilings_of(run).items() if unit in SHARED_UNITS}
    try:
        return Budget.from_mapping(limits) if any(limits.values()) else None
    except (PolicyInvalid, ArithmeticError):
        # Judging goes on without it, as without a policy that cannot be read.
        logger.exception("the budget of run %s cannot be read", run.id)
        return None


def spent_by_tree(run: Run, counters: SharedCounters, *, at: datetime) -> Spent:
    """Return what a run and all runs below it used."""
    below = counting.NO_SPENDING if run.root is None else counters.spent_below(run)
    return counting.spent_by(run, at=at, below=below)
