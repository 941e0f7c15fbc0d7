"""What was spent in a day, a week or a month, compared with before and the budget, and by whom.

An account is of one project in its own time zone; several are added up. The Costs page
shows it during the day, the daily report stores it once the day is over.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, TypeVar, cast
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDate, TruncMinute

from guard.turn import Usage
from missioncontrol.accounts.models import Project
from missioncontrol.clock import zone_of
from missioncontrol.costs.selectors import COLUMNS, SUMS, group_names
from missioncontrol.reports import loops
from missioncontrol.reports.loops import Loop
from missioncontrol.reports.periods import (
    MINUTE,
    Period,
    PeriodKind,
    days_until,
    midnight,
    period_before,
    period_of,
    same_time_before,
    today,
)
from missioncontrol.reports.savings import UnstoppedLoop, estimate_savings
from missioncontrol.runs.lifecycle import ENDED, Status
from missioncontrol.runs.models import JournalRow, ModelCall, Run
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

L = TypeVar("L", bound=Loop)
Group = Literal["agent", "model", "project", "run"]
# Two weeks, to compare one with the one before.
TREND_DAYS = 14
NOTHING = Decimal(0)
POINT_EVERY: dict[PeriodKind, timedelta] = {
    "day": timedelta(minutes=15),
    "week": timedelta(hours=2),
    "month": timedelta(hours=8),
}
# With a group per run, a month could have thousands of lines.
MAX_GROUPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountQuery:
    """The account that is asked for; `day` is any day in it, None means today."""

    kind: PeriodKind = "day"
    day: date | None = None
    group_by: Group = "agent"
    agent: str | None = None
    model: str | None = None


class ProjectPart:
    """One project's part of an account, as the database has it at one moment."""

    def __init__(self, project: Project, query: AccountQuery, *, at: datetime) -> None:
        zone = zone_of(project.time_zone)
        self.project, self.query = project, query
        self.period = period_of(query.kind, query.day or today(zone, at=at), zone)
        self.before = period_before(query.kind, self.period)
        self.is_over = at >= self.period.until
        self.minute = max(0, min((at - self.period.since) // MINUTE, self.period.minutes))
        """How many of the period's minutes have passed."""
        self.days = days_until(min(self.period.last, today(zone, at=at)), count=TREND_DAYS)
        """The days whose loops and costs are shown: up to today, or the period's end."""
        calls, key = self._calls_in(self.period), F(COLUMNS[query.group_by])
        self.groups = group_calls(calls, key)
        self.names = group_names(project, query.group_by, list(self.groups))
        # Up to the same time of the earlier period: a morning is compared with a morning.
        by_then = same_time_before(self.period, self.before, at=at)
        earlier = calls_between(self._calls, self.before.since, by_then).annotate(key=key)
        costs: Any = earlier.values("key").annotate(cost=Sum("cost_usd")).order_by()
        self.earlier = {str(one["key"]): round_dollars(one["cost"]) for one in costs}
        self.unpriced_models: dict[str, set[str]] = defaultdict(set)
        unpriced = calls.filter(cost_usd__isnull=True).exclude(model="").annotate(key=key)
        for name, model in unpriced.values_list("key", "model").distinct().order_by():
            self.unpriced_models[str(name)].add(model)
        # One query of loops for both: the period's own, and the two weeks of the trend.
        since = min(midnight(self.days[0], zone), self.period.since)
        self.trend_loops = self._loops(loops.find_loops, since, self.period.until)
        self.loops = [loop for loop in self.trend_loops if loop.at >= self.period.since]
        self.stops = self._loops(loops.stopped_loops, self.period.since, self.period.until)
        self.unstopped = loops.unstopped_loops(project.id, at=min(at, self.period.until))

    @property
    def _calls(self) -> QuerySet[ModelCall]:
        """The model calls that the account is about, of any time."""
        # None means any agent; an empty name means calls of agents without a name.
        named = {"agent": self.query.agent, "model": self.query.model}
        given = {name: value for name, value in named.items() if value is not None}
        return ModelCall.objects.filter(project=self.project, **given)

    def _calls_in(self, period: Period) -> QuerySet[ModelCall]:
        return calls_between(self._calls, period.since, period.until)

    def _loops(self, find: Callable[..., list[L]], since: datetime, until: datetime) -> list[L]:
        """Return the loops that the account is about, if it is about one agent or model."""
        agent, model = self.query.agent, self.query.model
        found = find(self.project.id, since=since, until=until)
        return [
            loop for loop in found if agent in {None, loop.agent} and model in {None, loop.model}
        ]

    def budget(self) -> CostBudget | None:
        """Return the day's budget; None for another account, beside which it would mislead."""
        # It is for a day and all agents.
        query = self.query
        if query.kind != "day" or query.agent is not None or query.model is not None:
            return None
        costs = (one[name] for one in self.groups.values() for name in ("cost", "judge_cost"))
        return budget_of(self.project, self.period.first, sum(map(round_dollars, costs), NOTHING))

    def sums_before(self) -> tuple[dict[str, dict[str, Any]], int, int]:
        """Return the sums of the period before, and how many loops began and were stopped in it."""
        since, until = self.before.since, self.before.until
        begun = self._loops(loops.find_loops, since, until)
        stopped = self._loops(loops.stopped_loops, since, until)
        return group_calls(self._calls_in(self.before), F("project_id")), len(begun), len(stopped)

    def minute_sums(self, period: Period) -> list[tuple[int, Decimal]]:
        """Return what calls cost in each minute of a period that has any."""
        found = self._calls_in(period).filter(cost_usd__isnull=False)
        minutes = found.annotate(minute=TruncMinute("at", tzinfo=UTC)).values("minute")
        sums: Any = minutes.annotate(cost=Sum("cost_usd")).order_by("minute")
        return [
            ((one["minute"] - period.since) // MINUTE, round_dollars(one["cost"])) for one in sums
        ]

    def day_sums(self) -> list[tuple[int, str, Decimal]]:
        """Return what each agent's calls cost on each of `days`, by its position."""
        whole = Period(first=self.days[0], last=self.days[-1], zone=self.period.zone)
        # In the project's time zone, and in the database: the rows are far too many to read.
        day = TruncDate("at", tzinfo=self.period.zone)
        found = self._calls_in(whole).annotate(day=day).values("day", "agent")
        sums: Any = found.annotate(cost=Sum("cost_usd")).order_by()
        place = self.days.index
        return [(place(one["day"]), one["agent"], round_dollars(one["cost"])) for one in sums]


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
    stops = [loop.stop for part in parts for loop in part.stops]
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
        saved=estimate_savings(stops, unstopped),
        points=tuple(_points(parts, earlier)),
        days=tuple(_days(parts)),
        group_by=query.group_by,
        groups=groups[:MAX_GROUPS],
        groups_left_out=max(0, len(groups) - MAX_GROUPS),
    )


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
    # The whole period, not only up to the same time: the page shows both.
    sums, begun, stopped = zip(*(part.sums_before() for part in parts), strict=True)
    rows = [row for of_project in sums for row in of_project.values()]
    return _sum(rows, loops=sum(begun), stops=sum(stopped))


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

    def mine(found: Iterable[L]) -> list[L]:
        return [loop for loop in found if str(getattr(loop, group_by)) == key]

    rows = [part.groups[key] for part in parts if key in part.groups]
    stops = [loop.stop for part in parts for loop in mine(part.stops)]
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
