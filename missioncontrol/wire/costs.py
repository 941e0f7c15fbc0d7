"""Spending by subject, prices, the savings of stopped runs, and daily cost reports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal
from uuid import UUID

from guard.turn import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualRow:
    """An agent's usual spending, from its recorded runs."""

    project: UUID
    agent: str
    usd_per_hour: Decimal | None
    """The median of its runs that ended in the last 30 days; None: too few runs."""
    runs: int
    """The number of runs behind the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """What a project's model calls cost, by day, agent, model, project or run."""

    project: UUID
    key: str
    """The day ("2026-11-21", in the project's time zone), the agent, the model, or
    the project's or the run's id."""
    name: str
    """The key in words, such as the name of the run or project."""
    calls: int
    """The agents' model calls; `judge_calls` are counted separately."""
    unpriced_calls: int
    """Those of `calls` without a known price: they are in no sum."""
    usage: Usage
    """The agents' tokens."""
    cost_usd: Decimal | None
    """None: there are calls, but none has a known price."""
    judge_calls: int
    judge_cost_usd: Decimal | None
    runs: int = 0
    """The number of runs that made these calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSum:
    """Total spending. Calls without a known price are counted, but not in the amount."""

    total_usd: Decimal
    agents_usd: Decimal
    judge_usd: Decimal
    calls: int
    judge_calls: int
    unpriced_calls: int
    """Of agents and judge together."""
    runs: int
    loops: int
    """Cards about a loop, without those that the judge or a person found to be none."""
    stops: int
    """Loops that a person or the policy stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBudget:
    """A daily budget, including what was added for that day."""

    ceiling_usd: Decimal
    """`extra_usd` included."""
    extra_usd: Decimal
    left_usd: Decimal
    """Below 0: the budget is exceeded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """Estimated savings by stopped runs, from loops that nobody stopped (docs/costs.md)."""

    low_usd: Decimal | None
    """None, like `likely_usd` and `high_usd`: too little is known."""
    likely_usd: Decimal | None
    high_usd: Decimal | None
    stops: int
    unpriced_stops: int
    """Those of `stops` whose calls have no known price: they are in no amount."""
    samples: int
    """Loops of this project in the last 90 days that nobody stopped."""
    enough: int
    """How many samples are needed."""
    median_turns: int | None
    """How many turns the samples went on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPoint:
    """The spending from the start of the period up to a minute of it."""

    minute: int
    spent_usd: Decimal | None
    """None: the minute is in the future."""
    before_usd: Decimal
    """The same in the previous period."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostDay:
    day: str
    agents: dict[str, Decimal]
    """Agent -> dollars, including the judge's for its cards."""
    total_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class CostGroup:
    """The costs of one agent, model, project or run in a period."""

    key: str
    name: str
    calls: int
    judge_calls: int
    unpriced_calls: int
    unpriced_models: tuple[str, ...]
    """The models without a known price."""
    usage: Usage
    cost_usd: Decimal
    """The agents' cost; the judge's is `judge_cost_usd`."""
    judge_cost_usd: Decimal
    before_usd: Decimal
    """Both costs in the previous period, up to the same time."""
    runs: int
    loops: int
    trend: tuple[int, ...]
    """Loops per day over the last 14 days."""
    saved: Saving


@dataclass(frozen=True, slots=True, kw_only=True)
class CostAccount:
    """The spending of one or several projects in a day, week or month."""

    projects: tuple[UUID, ...]
    range: Literal["day", "week", "month"]
    first_day: str
    last_day: str
    time_zone: str
    """Empty: the projects' time zones differ, and each has its own days."""
    at: datetime
    since: datetime
    """The midnight at which it begins; if zones differ, the first project's."""
    over: bool
    """Whether its last day has ended."""
    minutes: int
    """Its length; a day on which the clocks change has 1380 or 1500."""
    minute: int
    """How many of `minutes` have passed."""
    spent: CostSum
    before: CostSum
    """The whole previous period: the same day a week earlier, the previous week or month."""
    before_by_then_usd: Decimal
    """The spending of the previous period up to the same point (`minute`)."""
    before_day: str
    """The first day of the previous period."""
    budget: CostBudget | None
    """Of a day without filters; None: any other account, or a project has no ceiling in dollars."""
    saved: Saving
    points: tuple[CostPoint, ...]
    days: tuple[CostDay, ...]
    """14 days, ending with the last day of the period."""
    group_by: Literal["agent", "model", "project", "run"]
    groups: tuple[CostGroup, ...]
    """The most expensive first, at most 200."""
    groups_left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TodayRow:
    """A project's spending since its midnight, including the judge."""

    project: UUID
    day: str
    """In the project's time zone."""
    time_zone: str
    at: datetime
    until: datetime
    """Its next midnight, when this figure starts again at 0."""
    spent_usd: Decimal
    counted: dict[str, Decimal]
    """Run -> its cost in all at that moment, including the judge: what its meters show beyond it
    is not in `spent_usd`. Runs that go on, or ended in the minute before."""
    calls: int
    unpriced_calls: int
    """Those of `calls` without a known price: they are in no amount."""
    budget: CostBudget | None
    """None: the day has no ceiling in dollars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow:
    """A project's own price for a model, in dollars per million tokens."""

    project: UUID
    model: str
    input: str
    output: str
    cache_read: str | None
    """None: the same price as `input`."""
    cache_write: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSet:
    """The price that was set, and the model calls that were recalculated with it."""

    model: str
    calls: int
    """Calls that had no price until now."""
    usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A day's cost report in a list. It is never changed: a later version corrects it."""

    id: UUID
    project: UUID
    project_name: str
    day: str
    """In the project's time zone."""
    time_zone: str
    version: int
    """From 1; a higher one corrects the version before it."""
    reason: str
    """Why the report was corrected; empty for the first version."""
    made_at: datetime
    spent: CostSum
    was_usd: Decimal | None
    """The total of the previous version; None for the first."""
    before_usd: Decimal
    """The cost of the same day a week earlier."""
    budget: CostBudget | None
    saved: Saving


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A day's cost report: by agent (in `account`), model and project."""

    row: ReportRow
    newest: UUID
    """The newest report of the same day; if it is another one, this one was corrected."""
    account: CostAccount
    models: tuple[CostGroup, ...]
    projects: tuple[CostGroup, ...]
    sent: int
    """The number of channels it was delivered to."""
    waiting: int
    failed: int
