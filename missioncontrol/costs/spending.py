"""What runs use together, by project, tree or day: counters that many transactions add to.

Lock order: the installation's row and all projects' in id order (if the ceiling of all
projects is changed) or the project's row (if its rules are changed), then runs in id order,
then these counters in key order, always last. Counting reads the counters without a lock,
once, and only if somebody set such a ceiling. Another transaction's part that is not
committed yet is seen at the next turn, and belongs to calls in flight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import Q, Sum

from guard.budget import Spent
from missioncontrol.accounts.models import Project
from missioncontrol.clock import zone_of
from missioncontrol.costs.models import Spend
from missioncontrol.runs.models import Run
from missioncontrol.runs.statements import insert_rows, new_row

# The scope of what all projects used on a day in UTC. Each project adds to a row of its own, and
# the rows are added up if a ceiling is set: with one row, all projects would wait for each other.
ORGANISATION = "organisation"
# Scopes that runs share, in the order in which crossed ceilings are announced.
SHARED_SCOPES = ("agent", "project", "day", ORGANISATION)
# The scope of what the runs below a run used; its name is that run's id.
TREE = "tree"
# The units counted across runs; run time and failures in a row belong to one run.
SHARED_UNITS = ("usd", "tokens", "calls", "turns")
_ADDITIONS = ", ".join(
    f"{unit} = {Spend._meta.db_table}.{unit} + excluded.{unit}" for unit in SHARED_UNITS
)
_ON_CONFLICT = f"(project_id, scope, name) DO UPDATE SET {_ADDITIONS}"

# Project, scope, name.
CounterKey = tuple[UUID, str, str]


@dataclass(slots=True)
class Use:
    """What was used, in the units that runs share."""

    usd: Decimal = Decimal(0)
    tokens: int = 0
    calls: int = 0
    turns: int = 0

    def add(self, more: Use) -> None:
        """Add another use to this one."""
        self.usd += more.usd
        self.tokens += more.tokens
        self.calls += more.calls
        self.turns += more.turns

    @property
    def is_zero(self) -> bool:
        """Tell whether nothing was counted."""
        return not (self.usd or self.tokens or self.calls or self.turns)


class SharedCounters:
    """The shared counters as one transaction sees them, its own additions included."""

    def __init__(
        self,
        runs: Iterable[Run],
        *,
        at: datetime,
        agents: Collection[str] = (),
        projects: Iterable[Project] = (),
    ) -> None:
        """Read what these runs and projects share; of all agents, only these."""
        self._at = at
        self._known: dict[CounterKey, Use] = {}
        self._added: dict[CounterKey, Use] = defaultdict(Use)
        runs = list(runs)
        concerned = {run.project_id: run.project for run in runs}
        concerned |= {project.id: project for project in projects}
        always = Q(scope="project") | Q(scope="agent", name__in=agents)
        wanted = Q()
        for project in (one for one in concerned.values() if one.budgets):
            today = Q(scope="day", name=day_of(project, at))
            # Not for a project without ceilings of its own: nothing is compared.
            wanted |= Q(project=project) & (always | today)
        if linked := [run for run in runs if run.root is not None]:
            # What was used below these runs, and below the runs above them.
            names = {str(run.id) for run in linked} | {one for run in linked for one in run.lineage}
            of_them = {run.project_id for run in linked}
            wanted |= Q(project__in=of_them, scope=TREE, name__in=names)
        for row in Spend.objects.filter(wanted) if wanted else ():
            use = Use(row.usd, row.tokens, row.calls, row.turns)
            self._known[row.project_id, row.scope, row.name] = use
        self._all_projects_usd = Decimal(0)
        # Summed over all projects only if there is a ceiling to compare with.
        if any(project.organisation_budget for project in concerned.values()):
            self._all_projects_usd = spent_by_all_projects(utc_day(at))

    def add(self, run: Run, agent: str, use: Use, *, at: datetime | None = None) -> None:
        """Count what an agent of a run used, on the day of `at`."""
        if use.is_zero:
            return
        project, at = run.project, at or self._at
        # Counted even without a ceiling: one that is set later finds the whole sum.
        for scope in SHARED_SCOPES:
            name = counter_name(scope, project, agent, at=at)
            self._added[project.id, scope, name].add(use)
        if run.lineage:
            self.add_to_ancestors(run, use)

    def add_to_ancestors(self, run: Run, use: Use) -> None:
        """Count the use for each run above this one."""
        for above in run.lineage:
            self._added[run.project_id, TREE, above].add(use)

    def spent_below(self, run: Run) -> Spent:
        """Return what the runs below this one have used so far."""
        return self._total((run.project_id, TREE, str(run.id)))

    def spent(self, project: Project, scope: str, name: str) -> Spent:
        """Return what has been used in a scope so far."""
        if scope != ORGANISATION:
            return self._total((project.id, scope, name))
        if name != utc_day(self._at):
            return Spent()  # a past day's ceiling holds nobody any more
        added = [
            use.usd
            for (_, added_in, day), use in self._added.items()
            if (added_in, day) == (ORGANISATION, name)
        ]
        return Spent(usd=self._all_projects_usd + sum(added, Decimal(0)))

    def _total(self, key: CounterKey) -> Spent:
        total = Use()
        for part in (self._known.get(key), self._added.get(key)):
            if part is not None:
                total.add(part)
        return Spent(usd=total.usd, tokens=total.tokens, calls=total.calls, turns=total.turns)

    def write(self) -> None:
        """Add to the counters; the last thing a transaction does."""
        used = sorted((key, use) for key, use in self._added.items() if not use.is_zero)
        # In key order: two transactions that add to the same counters wait, and never deadlock.
        # A new counter starts with what is added; a known one keeps its id.
        counters = [
            new_row(
                Spend,
                project_id=project,
                scope=scope,
                name=name[:100],
                **{unit: getattr(use, unit) for unit in SHARED_UNITS},
            )
            for (project, scope, name), use in used
        ]
        insert_rows(Spend, counters, on_conflict=_ON_CONFLICT)


def day_of(project: Project, at: datetime) -> str:
    """Return the day of a time in the project's time zone."""
    return at.astimezone(zone_of(project.time_zone)).date().isoformat()


def utc_day(at: datetime) -> str:
    """Return the day of a time for all projects together: in UTC, whatever their time zones."""
    return at.astimezone(UTC).date().isoformat()


def spent_by_all_projects(day: str) -> Decimal:
    """Return the dollars that all projects used on a day in UTC."""
    rows = Spend.objects.filter(scope=ORGANISATION, name=day)
    return rows.aggregate(usd=Sum("usd"))["usd"] or Decimal(0)


def counter_name(scope: str, project: Project, agent: str, *, at: datetime) -> str:
    """Return the name of the counter that an agent's use adds to in a scope."""
    if scope == "day":
        return day_of(project, at)
    if scope == ORGANISATION:
        return utc_day(at)
    return agent if scope == "agent" else ""
