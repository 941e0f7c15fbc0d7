"""Read what we think and did, as wire rows. `projects` is what the reader may see."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import TruncDate

from guard.turn import Usage
from missioncontrol.accounts.models import Project
from missioncontrol.oversight import rows
from missioncontrol.oversight.models import AllowlistEntry, Autofix, Decision, Intervention
from missioncontrol.oversight.spending import zone_of
from missioncontrol.runs.models import ModelCall, Run
from missioncontrol.runs.rows import USAGE_COLUMNS, run_row
from missioncontrol.runs.selectors import dollars
from missioncontrol.wire.costs import CostRow
from missioncontrol.wire.decisions import DecisionRow, InterventionRow
from missioncontrol.wire.frames import Snapshot
from missioncontrol.wire.runs import RunRow

RECENT = timedelta(days=1)
BOARD_RUNS = 1000


def decisions(*, projects: Collection[UUID], status: str = "") -> QuerySet[Decision]:
    """Find cards, oldest first; `open` lists those that can be tapped."""
    answered = Intervention.objects.filter(decision=OuterRef("pk")).order_by("-id")
    found = (
        Decision.objects.filter(run__project_id__in=projects)
        .select_related("run", "run__project")
        .annotate(answer=Subquery(answered.values("status")[:1]))
        .order_by("id")
    )
    if status == "open":
        return found.filter(status__in=rows.OPEN)
    return found.filter(status=status) if status else found


def show_decision(decision: Any) -> DecisionRow:
    """Show a card found by `decisions`."""
    return rows.decision_row(decision, decision.run, answer=decision.answer)


def interventions(run: Run) -> list[InterventionRow]:
    """Return what people did to a run, oldest first."""
    made = Intervention.objects.filter(run=run).order_by("id")
    return [rows.intervention_row(one, run) for one in made]


def autofixes(*, projects: Collection[UUID]) -> QuerySet[Autofix]:
    """Find autofixes, newest first."""
    found = Autofix.objects.filter(run__project_id__in=projects)
    return found.select_related("run", "message", "decision").order_by("-id")


def allowlist(*, projects: Collection[UUID]) -> QuerySet[AllowlistEntry]:
    """Find allowlist entries, newest first."""
    return AllowlistEntry.objects.filter(project_id__in=projects).order_by("-id")


def costs(
    *, projects: Collection[UUID], group_by: str, since: datetime | None = None,
    until: datetime | None = None,
) -> list[CostRow]:  # fmt: skip
    """Add up model calls by `day`, `agent`, `model`, `project` or `run`, the judge's apart.

    From `since` on, before `until`. Days in order, the others by cost, highest first.
    """
    listed = Project.objects.filter(pk__in=projects).order_by("id")
    found = [row for one in listed for row in _costs_in(one, group_by, since, until)]
    if group_by == "day":
        return sorted(found, key=lambda row: row.key)
    return sorted(found, key=lambda row: (-row.cost_usd - row.judge_cost_usd, row.key))


def board(project: UUID, *, at: datetime) -> Snapshot:
    """Return what a project's board shows: live runs, and those of the last day."""
    fresh = Q(ended_at__isnull=True) | Q(ended_at__gte=at - RECENT)
    found = Run.objects.select_related("project").filter(fresh, project_id=project)
    runs = found.order_by("-id")[:BOARD_RUNS]
    return _snapshot([run_row(run, at=at) for run in runs], _cards([project], at=at), (), at=at)


def page(run: Run, *, at: datetime) -> Snapshot:
    """Return what a run's page shows beside its timeline."""
    cards = decisions(projects=[run.project_id]).filter(run=run)
    shown = [show_decision(card) for card in cards]
    return _snapshot([run_row(run, at=at)], shown, tuple(interventions(run)), at=at)


def _cards(projects: Collection[UUID], *, at: datetime) -> list[DecisionRow]:
    recent = Q(status__in=rows.OPEN) | Q(resolved_at__gte=at - RECENT)
    return [show_decision(card) for card in decisions(projects=projects).filter(recent)]


def _snapshot(
    runs: list[RunRow], cards: list[DecisionRow], made: tuple[InterventionRow, ...], *, at: datetime
) -> Snapshot:
    return Snapshot(
        at=at,
        runs=tuple(runs),
        decisions=tuple(cards),
        interventions=made,
        seq={str(row.id): row.seq for row in runs},
    )


JUDGES = Q(source="judge")


def _costs_in(
    project: Project, group_by: str, since: datetime | None, until: datetime | None
) -> list[CostRow]:
    calls = ModelCall.objects.filter(project=project)
    calls = calls.filter(at__gte=since) if since else calls
    calls = calls.filter(at__lt=until) if until else calls
    day = TruncDate("at", tzinfo=zone_of(project.time_zone))
    keys = {"agent": "agent", "model": "model", "project": "project_id", "run": "run_id"}
    key: Any = day if group_by == "day" else F(keys[group_by])
    sums = calls.annotate(key=key).values("key").annotate(**_sums()).order_by()
    names = _run_names(sums) if group_by == "run" else {project.id: project.name}
    return [_cost_row(project, cast(Any, one), names) for one in sums]


def _sums() -> dict[str, Any]:
    tokens = {f"sum_{name}": Sum(column, filter=~JUDGES) for name, column in USAGE_COLUMNS.items()}
    return {
        "calls": Count("id", filter=~JUDGES),
        "unpriced_calls": Count("id", filter=~JUDGES & Q(cost_usd__isnull=True)),
        "cost": Sum("cost_usd", filter=~JUDGES),
        "judge_calls": Count("id", filter=JUDGES),
        "judge_cost": Sum("cost_usd", filter=JUDGES),
        "runs": Count("run", distinct=True),
        **tokens,
    }


def _run_names(sums: Any) -> dict[Any, str]:
    runs = Run.objects.filter(pk__in=[one["key"] for one in sums])
    return dict(runs.values_list("id", "name"))


def _cost_row(project: Project, one: dict[str, Any], names: dict[Any, str]) -> CostRow:
    return CostRow(
        project=project.id,
        key=str(one["key"]),
        name=names.get(one["key"], str(one["key"])),
        calls=one["calls"],
        unpriced_calls=one["unpriced_calls"],
        usage=Usage(**{name: one[f"sum_{name}"] or 0 for name in USAGE_COLUMNS}),
        cost_usd=dollars(one["cost"]),
        judge_calls=one["judge_calls"],
        judge_cost_usd=dollars(one["judge_cost"]),
        runs=one["runs"],
    )
