"""One project's part of an account: its model calls and loops, as the database has them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
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

    def _loops(
        self, find: Callable[..., list[Loop]], since: datetime, until: datetime
    ) -> list[Loop]:
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

    def sums_before(self) -> tuple[dict[str, dict[str, Any]], list[Loop], list[Loop]]:
        """Return the sums of the whole period before, its loops, and those that were stopped."""
        since, until = self.before.since, self.before.until
        return (
            group_calls(self._calls_in(self.before), F("project_id")),
            self._loops(loops.find_loops, since, until),
            self._loops(loops.stopped_loops, since, until),
        )

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
