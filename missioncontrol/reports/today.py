"""What today cost so far, of each project in its own time zone: the figure of the top bar."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q, Sum

from missioncontrol.accounts.models import Project
from missioncontrol.reports import account_parts, periods
from missioncontrol.runs.models import ModelCall
from missioncontrol.runs.rows import dollars
from missioncontrol.wire.costs import TodayRow
from missioncontrol.zones import zone_of


def spent_today(*, projects: Collection[UUID], at: datetime) -> list[TodayRow]:
    """Return what each project spent since its midnight, the judge included, and its budget."""
    rows: list[TodayRow] = []
    for project in Project.objects.filter(pk__in=projects).order_by("id"):
        # Project by project: each has a midnight of its own.
        zone = zone_of(project.time_zone)
        day = periods.period_of("day", periods.today(zone, at=at), zone)
        calls = ModelCall.objects.filter(project=project)
        sums = account_parts.between(calls, day.since, day.until).aggregate(
            usd=Sum("cost_usd"), calls=Count("id"), unpriced=Count("id", filter=Q(cost_usd=None))
        )
        spent = dollars(sums["usd"])
        row = TodayRow(
            project=project.id,
            day=day.first.isoformat(),
            time_zone=project.time_zone,
            at=at,
            until=day.until,
            spent_usd=spent,
            calls=sums["calls"],
            unpriced_calls=sums["unpriced"],
            budget=account_parts.budget_of(project, day.first, spent),
        )
        rows.append(row)
    return rows
