"""What an agent usually spends an hour, from the runs that are recorded of it."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from missioncontrol.runs.models import RECORDED, Run
from missioncontrol.wire.costs import UsualRow

LOOKS_BACK = timedelta(days=30)
# A run shorter than this says little of an hour.
SHORTEST = timedelta(minutes=2)
# The median of fewer is one run's chance.
LEAST_RUNS = 5
MOST_RUNS = 2000
CENT = Decimal("0.01")
HOUR = timedelta(hours=1)


def baseline_spending(*, projects: Collection[UUID], at: datetime) -> list[UsualRow]:
    """Return, for each project's agents, the median dollars an hour of a month's ended runs.

    A run's are its agent's cost over the time from its start to its last turn, waits
    included. Runs that reported no cost are left out; with fewer than five there is no
    baseline yet.
    """
    rates: dict[tuple[UUID, str], list[Decimal]] = defaultdict(list)
    ended = Run.objects.filter(
        ~RECORDED,  # nothing of them was spent here
        project_id__in=projects,
        ended_at__gte=at - LOOKS_BACK,
        meters__cost_usd__gt=0,
        meters__last_turn_at__isnull=False,
        # A sub-agent's hour is part of its parent's.
        parent__isnull=True,
    )
    rows: Any = ended.values_list(
        "project_id", "agent", "meters__cost_usd", "started_at", "meters__last_turn_at"
    )
    for project, agent, cost, began, last_turn_at in rows.order_by("-id")[:MOST_RUNS]:
        known = rates[project, agent]
        if last_turn_at - began >= SHORTEST:
            known.append(cost * Decimal(HOUR / (last_turn_at - began)))
    return [
        UsualRow(
            project=project,
            agent=agent,
            runs=len(known),
            usd_per_hour=(
                # The median: one run that went wild would double a mean.
                statistics.median(known).quantize(CENT) if len(known) >= LEAST_RUNS else None
            ),
        )
        for (project, agent), known in sorted(rates.items())
    ]
