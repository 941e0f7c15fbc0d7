"""Read what runs cost, as wire rows. `projects` is what the reader may see."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Q, Sum
from django.db.models.functions import TruncDate

from guard.turn import Usage
from missioncontrol.accounts.models import Project
from missioncontrol.clock import zone_of
from missioncontrol.costs.ledger import JUDGE
from missioncontrol.runs.models import RECORDED, ModelCall, Run
from missioncontrol.runs.rows import USAGE_COLUMNS, round_dollars
from missioncontrol.runs.selectors import non_empty
from missioncontrol.wire.costs import CostRow, UsualRow

JUDGES = Q(source=JUDGE)
COLUMNS = {"agent": "agent", "model": "model", "project": "project_id", "run": "run_id"}
# For any grouping of model calls; the judge's separately, or they would seem the agents' own.
SUMS: Mapping[str, Any] = {
    "calls": Count("id", filter=~JUDGES),
    "cost": Sum("cost_usd", filter=~JUDGES),
    "judge_calls": Count("id", filter=JUDGES),
    "judge_cost": Sum("cost_usd", filter=JUDGES),
    **{f"sum_{name}": Sum(column, filter=~JUDGES) for name, column in USAGE_COLUMNS.items()},
}
LOOK_BACK = timedelta(days=30)
# A shorter run says little about an hour.
MIN_DURATION = timedelta(minutes=2)
# The median of fewer runs would be chance.
MIN_RUNS = 5
MAX_RUNS = 2000
CENT = Decimal("0.01")
HOUR = timedelta(hours=1)


def list_costs(
    *,
    projects: Collection[UUID],
    group_by: str,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[CostRow]:
    """Add up model calls by `day`, `agent`, `model`, `project` or `run`, the judge's separately.

    From `since` on, before `until`. Days in order, other groups by cost, highest first.
    """
    listed = Project.objects.filter(pk__in=projects).order_by("id")
    found = [row for one in listed for row in _project_costs(one, group_by, since, until)]
    if group_by == "day":
        return sorted(found, key=lambda row: row.key)
    return sorted(
        found, key=lambda row: (-sum(filter(None, (row.cost_usd, row.judge_cost_usd))), row.key)
    )


def _project_costs(
    project: Project, group_by: str, since: datetime | None, until: datetime | None
) -> Iterator[CostRow]:
    calls = ModelCall.objects.filter(project=project, **non_empty(at__gte=since, at__lt=until))
    # A day starts in the project's time zone: one instant may be two days in two projects.
    day = TruncDate("at", tzinfo=zone_of(project.time_zone))
    grouped_by: Any = day if group_by == "day" else F(COLUMNS[group_by])
    # Without an order of its own, which would become part of the grouping.
    sums: Any = calls.annotate(key=grouped_by).values("key").order_by()
    sums = sums.annotate(
        unpriced_calls=Count("id", filter=~JUDGES & Q(cost_usd__isnull=True)),
        runs=Count("run", distinct=True),
        **SUMS,
    )
    names = group_names(project, group_by, [one["key"] for one in sums])
    for one in sums:
        key = str(one["key"] or "")
        yield CostRow(
            project=project.id,
            key=key,
            name=names.get(key, key),
            calls=one["calls"],
            unpriced_calls=one["unpriced_calls"],
            usage=Usage(**{name: one[f"sum_{name}"] or 0 for name in USAGE_COLUMNS}),
            cost_usd=_sum_or_none(one["cost"], calls=one["calls"]),
            judge_calls=one["judge_calls"],
            judge_cost_usd=_sum_or_none(one["judge_cost"], calls=one["judge_calls"]),
            runs=one["runs"],
        )


def group_names(project: Project, group_by: str, keys: Collection[Any]) -> dict[str, str]:
    """Return the names of what calls are grouped by; agents and models are their own names."""
    if group_by == "run":
        runs = Run.objects.filter(pk__in=keys).values_list("id", "name")
        return {str(run): name for run, name in runs}
    return {str(project.id): project.name} if group_by == "project" else {}


def _sum_or_none(summed: Decimal | None, *, calls: int) -> Decimal | None:
    """Return a sum of money; None if there are calls but no price for any: that is not 0."""
    return None if summed is None and calls else round_dollars(summed)


def baseline_spending(*, projects: Collection[UUID], at: datetime) -> list[UsualRow]:
    """Return, for each project's agents, the median dollars per hour of runs ended in 30 days.

    The rate of a run is its agent's cost over the time from its start to its last turn,
    including waits. Runs without a reported cost are left out; with fewer than five runs
    there is no baseline yet.
    """
    rates: dict[tuple[UUID, str], list[Decimal]] = defaultdict(list)
    ended = Run.objects.filter(
        ~RECORDED,  # nothing was spent on them here
        project_id__in=projects,
        ended_at__gte=at - LOOK_BACK,
        meters__cost_usd__gt=0,
        meters__last_turn_at__isnull=False,
        # A sub-agent's time is part of its parent's.
        parent__isnull=True,
    )
    rows: Any = ended.values_list(
        "project_id", "agent", "meters__cost_usd", "started_at", "meters__last_turn_at"
    )
    for project, agent, cost, began, last_turn_at in rows.order_by("-id")[:MAX_RUNS]:
        known = rates[project, agent]
        if last_turn_at - began >= MIN_DURATION:
            known.append(cost * Decimal(HOUR / (last_turn_at - began)))
    return [
        UsualRow(
            project=project,
            agent=agent,
            runs=len(known),
            usd_per_hour=(
                # Not the mean, which one runaway run would double.
                statistics.median(known).quantize(CENT) if len(known) >= MIN_RUNS else None
            ),
        )
        for (project, agent), known in sorted(rates.items())
    ]
