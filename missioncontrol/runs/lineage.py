"""Links between runs: the parent that started a run, and the tree that linked runs form.

A run without links has no `root`. The first child makes its parent the root
of a tree; every run below stores the root and its `lineage`: the runs above it,
outermost first. A run gets a parent only once, so no cycle can form.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Literal
from uuid import UUID

from missioncontrol.errors import InvalidRequest
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import RECORDED, Run

# `child`: the parent's agent started it. The others: a person continued from the parent.
Relation = Literal["child", "resumed", "forked"]

# A deeper run keeps only its sixteen outermost ancestors.
MAX_LINEAGE = 16


# The number of relatives, those opened last, whose past a reset forgets.
MAX_RELATIVES = 64


def find_parent(project: UUID, key: str | None) -> Run | None:
    """Find the run that a key, or an id as text, names; None: not known (yet)."""
    if not key:
        return None
    # A recording has ended and starts no runs.
    runs = Run.objects.filter(~RECORDED, project=project)
    # The key first: a key may look like an id.
    found = runs.filter(key=key).first()
    if found is None:
        with suppress(ValueError):  # most keys are not ids
            found = runs.filter(pk=UUID(key)).first()
    return found


def lineage_of_children(parent: Run) -> list[str]:
    """Return the lineage of this run's children."""
    return [*parent.lineage, str(parent.id)][:MAX_LINEAGE]


def make_root(run: Run) -> None:
    """Mark a run that has children as the root of a tree, unless it is in one."""
    if run.root is None:
        run.root = run.id
        # Saved here: a run's description is not among the columns that its transaction writes.
        Run.objects.filter(pk=run.pk).update(root=run.id)


def move_tree(members: Iterable[Run], child: Run, parent: Run, *, relation: str) -> None:
    """Put a run that has no parent, and all runs below it, under another run.

    The caller holds the locks of all these runs and of the project.

    Raises:
        InvalidRequest: it would be its own ancestor, or has a parent already.
    """
    if child.parent_id is not None:
        raise InvalidRequest("This run has a parent already.", field="parent")
    if child.id in {parent.id, parent.root}:
        raise InvalidRequest("A run cannot be its own ancestor.", field="parent")
    make_root(parent)
    above = lineage_of_children(parent)
    for run in members:
        run.root, run.lineage = parent.root, [*above, *run.lineage][:MAX_LINEAGE]
    child.root, child.lineage = parent.root, above
    child.parent, child.relation = parent, relation
    # Saved here: a run's description is not among the columns that its transaction writes.
    Run.objects.bulk_update([child, *members], ["parent", "relation", "root", "lineage"])


def ancestor_ids(run: Run) -> list[UUID]:
    """Return the ids of the runs above this one, outermost first."""
    return [UUID(one) for one in run.lineage]


def live_relative_ids(root: UUID | None) -> list[UUID]:
    """Return the ids of a tree's runs that have not ended."""
    if root is None:
        return []
    found = Run.objects.filter(root=root).exclude(status__in=ENDED)
    return list(found.values_list("id", flat=True))


def observations_of_relatives(run: Run) -> dict[str, int]:
    """Return the number of stored observations of each relative: a reset forgets these."""
    if run.root is None:
        return {}
    relatives = Run.objects.filter(root=run.root).exclude(pk=run.pk).order_by("-id")
    counts = relatives.values_list("id", "meters__last_obs")[:MAX_RELATIVES]
    return {str(one): obs for one, obs in counts if obs}


def live_descendant_ids(run: Run) -> list[UUID]:
    """Return the ids of the live runs that this one's agent started, and of those they started.

    Runs that a person resumed or forked from it are the person's, and left out.
    """
    if run.root is None:
        return []
    relatives = Run.objects.filter(root=run.root, relation="child")
    found, frontier = [], {run.id}
    links = list(relatives.values_list("id", "parent_id", "status"))
    # Read once and walked here: otherwise a deep tree would take a query for each level.
    while frontier:
        below = [link for link in links if link[1] in frontier]
        found += [one for one, _, status in below if status not in ENDED]
        frontier = {one for one, _, _ in below}
    return found
