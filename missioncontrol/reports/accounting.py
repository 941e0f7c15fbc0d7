"""What was spent in a day, a week or a month, compared with before and the budget, and by whom.

An account is of one project in its own time zone; several are added up. The Costs page
shows it during the day, the daily report stores it once the day is over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Q, Sum

from guard.turn import Usage
from missioncontrol.accounts.models import Project
from missioncontrol.clock import zone_of
from missioncontrol.reports.account_parts import (
    NOTHING,
    TREND_DAYS,
    AccountQuery,
    ProjectPart,
    budget_of,
    calls_between,
)
from missioncontrol.reports.loops import Loop
from missioncontrol.reports.periods import MINUTE, PeriodKind, period_of, today
from missioncontrol.reports.savings import Stop, UnstoppedLoop, estimate_savings
from missioncontrol.runs.lifecycle import ENDED, Status
from missioncontrol.runs.models import ModelCall, Run
from missioncontrol.runs.rows import USAGE_COLUMNS, round_dollars
from missioncontrol.wire.costs import (
    CostAccount,
    CostBudget,
    CostDay,
    CostGroup,
    CostPoint,
    CostSum,
    TodayRow,
)
from missioncontrol.wire.rows import row_of

POINT_EVERY: dict[PeriodKind, timedelta] = {
    "day": timedelta(minutes=15),
    "week": timedelta(hours=2),
    "month": timedelta(hours=8),
}
# With a group per run, a month could have thousands of lines.
MAX_GROUPS = 200


def build_account(projects: Collection[UUID], query: AccountQuery, *, at: datetime) -> CostAccount:
    """Return the account of these projects, each in its own days, added up."""
    listed = list(Project.objects.filter(pk__in=projects).order_by("id"))
    parts = [ProjectPart(project, query, at=at) for project in listed]
    # Days are named by the oldest project's calendar; those of others may be a day off.
    first = parts[0]
    # For projects in several time zones, the clock of one must not be shown as that of all.
    zones = {part.project.time_zone for part in parts}
    unstopped = [one for part in parts for one in part.unstopped]
    groups = _groups(parts, unstopped)
    stops = [loop for part in parts for loop in part.stops]
    earlier = sum((sum(part.earlier.values(), NOTHING) for part in parts), NOTHING)
    ceilings = [budget for part in parts if (budget := part.budget()) is not None]
    amounts = ("ceiling_usd", "extra_usd", "left_usd")
    sums = {name: sum((getattr(one, name) for one in ceilings), NOTHING) for name in amounts}
    return CostAccount(
        projects=tuple(part.project.id for part in parts),
        range=query.kind,
        first_day=first.period.first.isoformat(),
        last_day=first.period.last.isoformat(),
        time_zone=zones.pop() if len(zones) == 1 else "",
        at=at,
        since=first.period.since,
        over=all(part.is_over for part in parts),
        minutes=max(part.period.minutes for part in parts),
        minute=max(part.minute for part in parts),
        spent=_sum(
            [one for part in parts for one in part.groups.values()],
            loops=sum(len(part.loops) for part in parts),
            stops=len(stops),
        ),
        before=_sum_before(parts),
        before_by_then_usd=earlier,
        before_day=first.before.first.isoformat(),
        # If one project has no budget, they have none together: a bar would suggest one.
        budget=CostBudget(**sums) if ceilings and len(ceilings) == len(parts) else None,
        saved=estimate_savings(_stops_of(stops), unstopped),
        points=tuple(_points(parts, earlier)),
        days=tuple(_days(parts)),
        group_by=query.group_by,
        groups=groups[:MAX_GROUPS],
        groups_left_out=max(0, len(groups) - MAX_GROUPS),
    )


def _stops_of(stopped: Iterable[Loop]) -> list[Stop]:
    return [loop.stop for loop in stopped if loop.stop]


def _sum(rows: Sequence[dict[str, Any]], *, loops: int, stops: int) -> CostSum:
    agents = sum((round_dollars(one["cost"]) for one in rows), NOTHING)
    judge = sum((round_dollars(one["judge_cost"]) for one in rows), NOTHING)
    return CostSum(
        total_usd=agents + judge,
        agents_usd=agents,
        judge_usd=judge,
        calls=sum(one["calls"] for one in rows),
        judge_calls=sum(one["judge_calls"] for one in rows),
        unpriced_calls=sum(one["unpriced"] for one in rows),
        runs=len(set().union(*(one["runs"] for one in rows))),
        loops=loops,
        stops=stops,
    )


def _sum_before(parts: Iterable[ProjectPart]) -> CostSum:
    rows: list[dict[str, Any]] = []
    found = stopped = 0
    for part in parts:
        # The whole period, not only up to the same time: the page shows both.
        sums, begun, ended = part.sums_before()
        rows += sums.values()
        found += len(begun)
        stopped += len(ended)
    return _sum(rows, loops=found, stops=stopped)


def _groups(
    parts: Sequence[ProjectPart], unstopped: Sequence[UnstoppedLoop]
) -> tuple[CostGroup, ...]:
    group_by = parts[0].query.group_by
    keys = {key for part in parts for key in part.groups}
    # An agent that spent before and nothing now gets a line; an earlier run has ended, and would
    # only fill the table.
    keys |= {key for part in parts for key in part.earlier if group_by != "run"}
    keys |= {str(getattr(loop, group_by)) for part in parts for loop in part.loops}
    found = [_group(key, parts, unstopped) for key in keys]
    # Most expensive first, so that what is cut off at the end is the least interesting.
    return tuple(sorted(found, key=lambda one: (-one.cost_usd - one.judge_cost_usd, one.name)))


def _group(key: str, parts: Sequence[ProjectPart], unstopped: Sequence[UnstoppedLoop]) -> CostGroup:
    group_by = parts[0].query.group_by

    def mine(found: Iterable[Loop]) -> list[Loop]:
        return [loop for loop in found if str(getattr(loop, group_by)) == key]

    rows = [part.groups[key] for part in parts if key in part.groups]
    stops = _stops_of(loop for part in parts for loop in mine(part.stops))
    # Loops per day, oldest first; each project's in its own days.
    trend = [0] * TREND_DAYS
    for part in parts:
        for day in (today(part.period.zone, at=loop.at) for loop in mine(part.trend_loops)):
            if day in part.days:
                trend[part.days.index(day)] += 1
    begun = sum(len(mine(part.loops)) for part in parts)
    total = _sum(rows, loops=begun, stops=len(stops))
    usage = {name: sum(one[f"sum_{name}"] or 0 for one in rows) for name in USAGE_COLUMNS}
    models = set().union(*(part.unpriced_models.get(key, set()) for part in parts))
    name = next((name for part in parts if (name := part.names.get(key))), key)
    if name == key and group_by == "run":  # it only looped in this period, and cost nothing
        name = Run.objects.filter(pk=key).values_list("name", flat=True).first() or key
    return row_of(
        CostGroup,
        total,
        key=key,
        name=name,
        unpriced_models=tuple(sorted(models)),
        usage=Usage(**usage),
        cost_usd=total.agents_usd,
        judge_cost_usd=total.judge_usd,
        before_usd=sum((part.earlier.get(key, NOTHING) for part in parts), NOTHING),
        trend=tuple(trend),
        saved=estimate_savings(stops, unstopped),
    )


def _points(parts: Sequence[ProjectPart], earlier: Decimal) -> Iterable[CostPoint]:
    """Yield cumulative costs: this period's, and at the same minute those of the one before."""
    step = POINT_EVERY[parts[0].query.kind] // MINUTE
    now: dict[int, Decimal] = defaultdict(Decimal)
    before: dict[int, Decimal] = defaultdict(Decimal)
    for part in parts:
        for into, period in ((now, part.period), (before, part.before)):
            for minute, cost in part.minute_sums(period):
                into[minute // step] += cost
    length = max(part.period.minutes for part in parts)
    reached = max(part.minute for part in parts)
    whole = sum(now.values(), NOTHING)
    # Rounded up: a week of 167 hours is not a whole number of two-hour steps.
    for place in range(-(-length // step) + 1):
        minute = min(place * step, length)
        # Now is within this step: the line ends there, not at the step's end.
        if 0 <= reached - (minute - step) < step and reached < minute:
            yield CostPoint(minute=reached, spent_usd=whole, before_usd=earlier)
        # None after now: a line that continued flat would say that nothing will be spent.
        spent = sum((now[one] for one in range(place)), NOTHING) if minute <= reached else None
        then = sum((before[one] for one in range(place)), NOTHING)
        yield CostPoint(minute=minute, spent_usd=spent, before_usd=then)


def _days(parts: Sequence[ProjectPart]) -> Iterable[CostDay]:
    """Yield what each agent cost on each of 14 days, the period's last one last."""
    spent: dict[int, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for part in parts:
        for place, agent, cost in part.day_sums():
            spent[place][agent] += cost
    # By position, not by date: projects in several time zones may be a day apart, and each one's
    # last day is the last.
    for place, day in enumerate(parts[0].days):
        by_agent = dict(spent[place])
        yield CostDay(
            day=day.isoformat(), agents=by_agent, total_usd=sum(by_agent.values(), NOTHING)
        )


def spent_today(*, projects: Collection[UUID], at: datetime) -> list[TodayRow]:
    """Return what each project spent since its midnight, including the judge, and its budget."""
    rows: list[TodayRow] = []
    for project in Project.objects.filter(pk__in=projects).order_by("id"):
        # Project by project, because each has its own midnight.
        zone = zone_of(project.time_zone)
        day = period_of("day", today(zone, at=at), zone)
        calls = ModelCall.objects.filter(project=project)
        sums = calls_between(calls, day.since, day.until).aggregate(
            usd=Sum("cost_usd"), calls=Count("id"), unpriced=Count("id", filter=Q(cost_usd=None))
        )
        spent = round_dollars(sums["usd"])
        # The costs of others are on every screen by now.
        moving = Q(status__in=set(Status) - ENDED) | Q(ended_at__gt=at - MINUTE)
        runs = Run.objects.filter(moving, project=project).values_list(
            "id", F("meters__cost_usd") + F("meters__judge_cost_usd")
        )
        row = TodayRow(
            project=project.id,
            day=day.first.isoformat(),
            time_zone=project.time_zone,
            at=at,
            until=day.until,
            spent_usd=spent,
            counted={str(run): round_dollars(usd) for run, usd in runs},
            calls=sums["calls"],
            unpriced_calls=sums["unpriced"],
            budget=budget_of(project, day.first, spent),
        )
        rows.append(row)
    return rows
