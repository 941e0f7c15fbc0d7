"""One project's part of an account: its model calls and loops, as the database has them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal, cast
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDate, TruncMinute

from missioncontrol.accounts.models import Project
from missioncontrol.clock import zone_of
from missioncontrol.costs.selectors import COLUMNS, SUMS, group_names
from missioncontrol.reports import loops
from missioncontrol.reports.loops import Loop
from missioncontrol.reports.periods import (
    Period,
    PeriodKind,
    days_until,
    period_before,
    period_of,
    same_time_before,
    today,
)
from missioncontrol.reports.savings import UnstoppedLoop
from missioncontrol.runs.models import JournalRow, ModelCall
from missioncontrol.runs.rows import round_dollars
from missioncontrol.wire.costs import CostBudget

Group = Literal["agent", "model", "project", "run"]
# Two weeks, to compare one with the one before.
TREND_DAYS = 14
NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountQuery:
    """The account that is asked for; `day` is any day in it, None means today."""

    kind: PeriodKind = "day"
    day: date | None = None
    group_by: Group = "agent"
    agent: str | None = None
    model: str | None = None


@dataclass(slots=True)
class ProjectPart:
    """One project's part of an account."""

    project: Project
    period: Period
    before: Period
    groups: dict[str, dict[str, Any]]
    earlier: dict[str, Decimal]
    models: dict[str, set[str]]
    loops: list[Loop]
    stops: list[Loop]
    unstopped: list[UnstoppedLoop]
    budget: CostBudget | None
    names: dict[str, str]


def calls_of(project: Project, query: AccountQuery) -> QuerySet[ModelCall]:
    """Return the model calls that an account is about, of any time."""
    found = ModelCall.objects.filter(project=project)
    # None means any agent; an empty name means calls of agents without a name.
    found = found if query.agent is None else found.filter(agent=query.agent)
    return found if query.model is None else found.filter(model=query.model)


def budget_of(project: Project, day: date, spent: Decimal) -> CostBudget | None:
    """Return one day's budget in dollars, with what was allowed on top, and what is left.

    A past day has the budget that applied when it ended. None: there was none, or it is no longer
    known.
    """
    until = period_of("day", day, zone_of(project.time_zone)).until
    if project.created_at >= until:
        return None
    # The first change after a day replaced the budget of that day; without one, today's applied.
    budgets: dict[str, Any] = project.budgets
    changes = JournalRow.objects.filter(project=project, run=None, type="policy.changed")
    for row in changes.filter(at__gte=until).order_by("seq"):
        if not row.payload:  # it was erased, and may have been a budget's
            return None
        change: dict[str, Any] = json.loads(row.payload)
        if change.get("what") == "budgets":
            budgets = change["before"]
            break
    ceiling = (budgets.get("day") or {}).get("usd")
    if ceiling is None:
        return None
    extra = extra_of(project, day)
    # What was allowed on top counts as left, on that day only.
    whole = Decimal(str(ceiling)) + extra
    return CostBudget(ceiling_usd=whole, extra_usd=extra, left_usd=whole - spent)


def extra_of(project: Project, day: date) -> Decimal:
    """Return the dollars that were allowed on top of one day's budget, according to the journal."""
    # Today's is stored with the project; an earlier day's is only in the journal.
    if project.day_extra.get("day") == day.isoformat():
        return _usd_in(project.day_extra)
    changes = JournalRow.objects.filter(project=project, run=None, type="policy.changed")
    # Filtered by text first, to avoid parsing the changes of years for the sake of one day.
    about = changes.filter(payload__contains=f'"day":"{day.isoformat()}"').order_by("-seq")
    # The newest first: a later allowance includes the earlier ones.
    for row in about:
        change = json.loads(row.payload or "{}")
        if change.get("what") == "day_extra" and change["after"].get("day") == day.isoformat():
            return _usd_in(change["after"])
    return NOTHING


def _usd_in(extra: dict[str, Any]) -> Decimal:
    return Decimal(str((extra.get("more") or {}).get("usd", "0")))


def gather_part(project: Project, query: AccountQuery, *, at: datetime) -> ProjectPart:
    """Read everything of one project that an account consists of."""
    zone = zone_of(project.time_zone)
    period = period_of(query.kind, query.day or today(zone, at=at), zone)
    before = period_before(query.kind, period)
    by_then = same_time_before(period, before, at=at)
    calls = calls_of(project, query)
    key = F(COLUMNS[query.group_by])
    groups = group_calls(calls_between(calls, period.since, period.until), key)
    # Up to the same time of the earlier period: a morning is compared with a morning.
    earlier = calls_between(calls, before.since, by_then).annotate(key=key).values("key")
    earlier = earlier.annotate(cost=Sum("cost_usd")).order_by()
    days = trend_days(period, at=at)
    # One query of loops for both: the period's own, and the two weeks of the trend.
    trend = Period(first=days[0], last=period.last, zone=period.zone)
    since = min(trend.since, period.since)
    models: dict[str, set[str]] = defaultdict(set)
    unpriced = calls_between(calls, period.since, period.until).filter(cost_usd__isnull=True)
    unpriced = unpriced.exclude(model="").annotate(key=key)
    for name, model in unpriced.values_list("key", "model").distinct().order_by():
        models[str(name)].add(model)
    part = ProjectPart(
        project=project,
        period=period,
        before=before,
        groups=groups,
        earlier={str(one["key"]): round_dollars(one["cost"]) for one in cast(Any, earlier)},
        models=models,
        loops=matching_loops(loops.find_loops(project.id, since=since, until=period.until), query),
        stops=matching_loops(
            loops.stopped_loops(project.id, since=period.since, until=period.until), query
        ),
        unstopped=loops.unstopped_loops(project.id, at=min(at, period.until)),
        budget=None,
        names=group_names(project, query.group_by, list(groups)),
    )
    # A budget is for a day and all agents: beside one agent's costs it would mislead.
    if query.kind == "day" and query.agent is None and query.model is None:
        costs = (
            round_dollars(one["cost"]) + round_dollars(one["judge_cost"]) for one in groups.values()
        )
        part.budget = budget_of(project, period.first, sum(costs, NOTHING))
    return part


def trend_days(period: Period, *, at: datetime) -> list[date]:
    """Return the 14 days whose loops and costs are shown: up to today, or the period's end."""
    return days_until(min(period.last, today(period.zone, at=at)), count=TREND_DAYS)


def matching_loops(found: Iterable[Loop], query: AccountQuery) -> list[Loop]:
    """Keep the loops that an account is about, if it is about one agent or model."""
    return [
        loop
        for loop in found
        if query.agent in {None, loop.agent} and query.model in {None, loop.model}
    ]


def calls_between(
    calls: QuerySet[ModelCall], since: datetime, until: datetime
) -> QuerySet[ModelCall]:
    """Keep the calls that were counted from `since` on, before `until`."""
    return calls.filter(at__gte=since, at__lt=until)


def group_calls(calls: QuerySet[ModelCall], key: F) -> dict[str, dict[str, Any]]:
    """Add calls up by a column, the judge's separately; `runs` are the ids of the runs."""
    unpriced = Count("id", filter=Q(cost_usd__isnull=True))
    sums = calls.annotate(key=key).values("key").annotate(unpriced=unpriced, **SUMS)
    # The ids, not their number: a run that used two models counts once when the groups are added
    # up.
    runs: dict[str, set[UUID]] = defaultdict(set)
    for name, run in calls.annotate(key=key).values_list("key", "run_id").distinct().order_by():
        runs[str(name)].add(run)
    return {
        str(one["key"]): {**cast(Any, one), "runs": runs[str(one["key"])]}
        for one in sums.order_by()
    }


def minute_sums(calls: QuerySet[ModelCall], period: Period) -> list[tuple[datetime, Decimal]]:
    """Return what calls cost in each minute of a period that has any."""
    found = calls_between(calls, period.since, period.until).filter(cost_usd__isnull=False)
    minutes = found.annotate(minute=TruncMinute("at", tzinfo=UTC)).values("minute")
    sums = minutes.annotate(cost=Sum("cost_usd")).order_by("minute")
    return [(one["minute"], round_dollars(one["cost"])) for one in cast(Any, sums)]


def day_sums(
    calls: QuerySet[ModelCall], days: Sequence[date], period: Period
) -> list[tuple[date, str, Decimal]]:
    """Return what each agent's calls cost on each of these days."""
    whole = Period(first=days[0], last=days[-1], zone=period.zone)
    # In the project's time zone, and in the database: the rows are far too many to read.
    day = TruncDate("at", tzinfo=period.zone)
    found = calls_between(calls, whole.since, whole.until).annotate(day=day)
    sums = found.values("day", "agent").annotate(cost=Sum("cost_usd")).order_by()
    return [(one["day"], one["agent"], round_dollars(one["cost"])) for one in cast(Any, sums)]
