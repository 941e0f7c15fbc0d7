"""What was spent, on what, at which prices, what stops saved, and each day's report of it."""

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
    """The median of its ended runs of the last 30 days; None: too few to say."""
    runs: int
    """How many runs that rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """What a project's model calls cost, by day, agent, model, project or run."""

    project: UUID
    key: str
    """The day ("2026-11-21", in the project's time zone), the agent, the model, or
    the project's or the run's id."""
    name: str
    """The key in words: a run's name, a project's."""
    calls: int
    """The agents' model calls; `judge_calls` are apart."""
    unpriced_calls: int
    """Of these, the ones that no price is known of: they are in no sum."""
    usage: Usage
    """The agents' tokens."""
    cost_usd: Decimal | None
    """None: unpriced; there are calls, and of none of them a price is known."""
    judge_calls: int
    judge_cost_usd: Decimal | None
    runs: int = 0
    """How many runs they are of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSum:
    """Total spending. Calls without a known price are counted, but not in the amount."""

    total_usd: Decimal
    agents_usd: Decimal
    judge_usd: Decimal
    calls: int
    judge_calls: int
    unpriced_calls: int
    """The judge's too."""
    runs: int
    loops: int
    """Cards about a loop, less those that the judge or a person called none."""
    stops: int
    """Loops that a person or the policy stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBudget:
    """A daily budget, including what was added for that day."""

    ceiling_usd: Decimal
    """`extra_usd` included."""
    extra_usd: Decimal
    left_usd: Decimal
    """Below 0: over it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """Estimated savings by stopped runs, from loops that nobody stopped (docs/costs.md)."""

    low_usd: Decimal | None
    """None, as the others: too little is known."""
    likely_usd: Decimal | None
    high_usd: Decimal | None
    stops: int
    unpriced_stops: int
    """Of these, the ones whose calls have no price: they are in no amount."""
    samples: int
    """Loops of this project that went on by themselves, in 90 days."""
    enough: int
    """So many are needed."""
    median_turns: int | None
    """How long they went on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPoint:
    """The spending from the start of the period up to a minute of it."""

    minute: int
    spent_usd: Decimal | None
    """None: it has not come yet."""
    before_usd: Decimal
    """The same in the span before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostDay:
    day: str
    agents: dict[str, Decimal]
    """Agent -> dollars, the judge's for its cards included."""
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
    """The models that no price is known of."""
    usage: Usage
    cost_usd: Decimal
    """The agents' own; the judge's is apart."""
    judge_cost_usd: Decimal
    before_usd: Decimal
    """Both, in the span before, up to the same time."""
    runs: int
    loops: int
    trend: tuple[int, ...]
    """Loops a day, the last 14."""
    saved: Saving


@dataclass(frozen=True, slots=True, kw_only=True)
class CostAccount:
    """The spending of one or several projects in a day, week or month."""

    projects: tuple[UUID, ...]
    range: Literal["day", "week", "month"]
    first_day: str
    last_day: str
    time_zone: str
    """Empty: the projects' zones differ, and each has its own days."""
    at: datetime
    since: datetime
    """The midnight it begins with; of several zones, the first project's."""
    over: bool
    """Its last day has ended."""
    minutes: int
    """How long it is: 1380 or 1500 on a day whose clocks are moved."""
    minute: int
    """How far on it is."""
    spent: CostSum
    before: CostSum
    """The whole span before: the same day a week before, the week, the month."""
    before_by_then_usd: Decimal
    """The same, up to the time of day that it is now."""
    before_day: str
    """The first day of the span before."""
    budget: CostBudget | None
    """Of a day; None: there is no ceiling in dollars, or a project has none."""
    saved: Saving
    points: tuple[CostPoint, ...]
    days: tuple[CostDay, ...]
    """14 days, the last of the span last."""
    group_by: Literal["agent", "model", "project", "run"]
    groups: tuple[CostGroup, ...]
    """The dearest first, at most 200."""
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
    """Its next midnight, when this figure begins anew."""
    spent_usd: Decimal
    counted: dict[str, Decimal]
    """Run -> its cost in all at that moment, including the judge: what its meters show beyond it
    is not in `spent_usd`. Runs that go on, or ended in the minute before."""
    calls: int
    unpriced_calls: int
    """Of these calls; they are in no amount."""
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
    """None: as input."""
    cache_write: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSet:
    """The price that was set, and the model calls that were recalculated with it."""

    model: str
    calls: int
    """That had no price until now."""
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
    """1, or higher: it corrects the one before."""
    reason: str
    """Why it corrects; empty for the first."""
    made_at: datetime
    spent: CostSum
    was_usd: Decimal | None
    """What the version before told; None for the first."""
    before_usd: Decimal
    """What the same day a week before cost."""
    budget: CostBudget | None
    saved: Saving


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A day's cost report: by agent (in `account`), model and project."""

    row: ReportRow
    newest: UUID
    """Of the same day; another than this one's: it was corrected."""
    account: CostAccount
    models: tuple[CostGroup, ...]
    projects: tuple[CostGroup, ...]
    sent: int
    """Channels that have it."""
    waiting: int
    failed: int
