"""Decisions, interventions, autofixes and the allowlist as wire rows.

`projects` is what the reader may see. Only the totals cover the whole instance, for its
operator; they name no project.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum

from guard.signals import Kind
from missioncontrol.decisions.models import AllowlistEntry, Autofix, Decision, Intervention
from missioncontrol.runs.lifecycle import Source, Status
from missioncontrol.runs.models import RECORDED, Run, RunMeters
from missioncontrol.runs.rows import capabilities_of, run_row
from missioncontrol.wire.decisions import (
    PERMISSION,
    AllowlistRow,
    AutofixRow,
    CardEvidence,
    DecisionRow,
    InterventionAction,
    InterventionRow,
    VerdictRow,
)
from missioncontrol.wire.events import Snapshot
from missioncontrol.wire.rows import from_json, row_of

# A card that is being judged can be tapped too: a person need not wait for the judge.
OPEN_STATUSES = ("judging", "open")

_LOOP_ACTIONS: tuple[InterventionAction, ...] = ("inject", "continue", "allowlist", "terminate")
_PERMISSION_ACTIONS: tuple[InterventionAction, ...] = ("allow_once", "deny")
# No `inject` and no `allowlist`: a message lowers no sum, and no call is at fault.
_BUDGET_ACTIONS: tuple[InterventionAction, ...] = ("allow_budget", "finish", "terminate")


def offered_actions(kind: str, holds: bool, run: Run) -> tuple[InterventionAction, ...]:
    """Return the actions that a card of this run offers."""
    if kind == PERMISSION:
        return _PERMISSION_ACTIONS
    every = _BUDGET_ACTIONS if kind == Kind.BUDGET else _LOOP_ACTIONS
    refused = unavailable_actions(run)
    # A card that does not hold offers a pause: its agent goes on meanwhile.
    flagged: tuple[InterventionAction, ...] = () if holds else ("pause",)
    return tuple(action for action in (*every, *flagged) if action not in refused)


def unavailable_actions(run: Run) -> dict[str, str]:
    """Return the actions that this agent cannot do, with the reason; all others it can."""
    return capabilities_of(run).unavailable(run.agent)


def decision_row(decision: Decision, run: Run, *, answer: str | None = None) -> DecisionRow:
    """Return a card's row; `answer` is the status of the intervention that closed it."""
    is_open = decision.status in OPEN_STATUSES
    # A closed card's hold is gone, or belongs to another card.
    hold = run.hold if is_open else None
    return row_of(
        DecisionRow,
        decision,
        project=run.project_id,
        run_name=run.name,
        # A tap on an open card names the run's version; a closed card keeps the one at its close.
        version=run.version if is_open else decision.version,
        agent_waiting=is_open and run.status == Status.HELD,
        evidence=from_json(CardEvidence, decision.evidence),
        verdict=from_json(VerdictRow, decision.verdict) if decision.verdict else None,
        actions=offered_actions(decision.kind, decision.holds, run) if is_open else (),
        unavailable=unavailable_actions(run) if is_open and decision.kind != PERMISSION else {},
        unanswered=run.project.unanswered,
        waiting_since=hold.waiting_since if hold else None,
        gave_up_at=hold.gave_up_at if hold else None,
        parked=is_open and run.parked,
        intervention=answer,
    )


def intervention_row(intervention: Intervention, run: Run) -> InterventionRow:
    """Return an intervention's row."""
    return row_of(InterventionRow, intervention, project=run.project_id)


def autofix_row(fix: Autofix) -> AutofixRow:
    """Return an autofix's row."""
    return row_of(
        AutofixRow,
        fix,
        project=fix.run.project_id,
        run_name=fix.run.name,
        text=fix.message.text,
        delivered_at=fix.message.delivered_at,
        kind=fix.decision.kind,
        seq=fix.decision.signal["turns"][-1],
    )


def allowlist_row(entry: AllowlistEntry) -> AllowlistRow:
    """Return an allowlist entry's row."""
    return row_of(AllowlistRow, entry)


RECENT = timedelta(days=1)
# How long a board shows an answer: a screen follows it until the agent acted on it.
ANSWER_SHOWN = timedelta(hours=1)
MAX_BOARD_RUNS = 1000


def list_decisions(*, projects: Collection[UUID], status: str = "") -> QuerySet[Decision]:
    """Return cards, oldest first; `open` selects those that can be tapped."""
    answered = Intervention.objects.filter(decision=OuterRef("pk")).order_by("-id")
    found = (
        Decision.objects.filter(run__project_id__in=projects)
        .select_related("run__project", "run__meters", "run__hold")
        .annotate(answer=Subquery(answered.values("status")[:1]))
        .order_by("id")
    )
    if status == "open":
        return found.filter(status__in=OPEN_STATUSES)
    return found.filter(status=status) if status else found


def show_decision(decision: Any) -> DecisionRow:
    """Return the row of a card found by `list_decisions`."""
    return decision_row(decision, decision.run, answer=decision.answer)


def list_autofixes(*, projects: Collection[UUID]) -> QuerySet[Autofix]:
    """Return autofixes, newest first."""
    found = Autofix.objects.filter(run__project_id__in=projects)
    return found.select_related("run", "message", "decision").order_by("-id")


def list_allowlist(*, projects: Collection[UUID]) -> QuerySet[AllowlistEntry]:
    """Return allowlist entries, newest first."""
    return AllowlistEntry.objects.filter(project_id__in=projects).order_by("-id")


def board_snapshot(project: UUID, *, at: datetime) -> Snapshot:
    """Return what a project's board shows: live runs, then those that ended in the last day."""
    fresh = Q(ended_at__isnull=True) | Q(ended_at__gte=at - RECENT)
    # A recording had ended before it was imported: there is nothing to watch.
    live = Run.objects.filter(~RECORDED, project_id=project)
    found = live.select_related("project", "meters", "hold").filter(fresh)
    # Runs first: what a row that is read before its run lacks, no later event would tell.
    runs = list(found.order_by(F("ended_at").desc(nulls_first=True), "-id")[:MAX_BOARD_RUNS])
    recent = Q(status__in=OPEN_STATUSES) | Q(resolved_at__gte=at - RECENT)
    # Somebody who just answered still sees the answer's status if the socket had to reread.
    answers = Intervention.objects.filter(run__in=runs, at__gte=at - ANSWER_SHOWN)
    cards = list_decisions(projects=[project]).filter(recent)
    return _snapshot(runs, cards, answers.select_related("run"), at=at)


def run_snapshot(run: Run, *, at: datetime) -> Snapshot:
    """Return what a run's page shows in addition to its timeline."""
    cards = list_decisions(projects=[run.project_id]).filter(run=run)
    return _snapshot([run], cards, run.interventions.order_by("id"), at=at)


def _snapshot(
    runs: Iterable[Run],
    cards: Iterable[Decision],
    answers: Iterable[Intervention],
    *,
    at: datetime,
) -> Snapshot:
    return Snapshot(
        at=at,
        runs=tuple(run_row(run, at=at) for run in runs),
        decisions=tuple(map(show_decision, cards)),
        interventions=tuple(intervention_row(one, one.run) for one in answers),
        seq={str(run.id): run.meters.event_seq for run in runs},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceTotals:
    """Sums over all runs but imported ones; `waiting`: observations stored but not judged yet."""

    runs: dict[str, int]
    open_decisions: int
    waiting: int
    turns: int
    interventions: int
    cost_usd: Decimal
    judge_cost_usd: Decimal
    unpriced_calls: int


def instance_totals() -> InstanceTotals:
    """Return the totals, from four statements."""
    live = Run.objects.exclude(RECORDED)
    behind = Q(detected_obs__lt=F("last_obs"))
    sums = RunMeters.objects.exclude(run__source=Source.RECORDING).aggregate(
        turns=Sum(F("last_seq") + 1, default=0),
        cost_usd=Sum("cost_usd", default=Decimal(0)),
        judge_cost_usd=Sum("judge_cost_usd", default=Decimal(0)),
        unpriced_calls=Sum("unpriced_calls", default=0),
        waiting=Sum(F("last_obs") - F("detected_obs"), default=0, filter=behind),
    )
    by_status = live.order_by().values_list("status").annotate(Count("id"))
    return InstanceTotals(
        runs=dict(by_status),
        open_decisions=Decision.objects.filter(status__in=OPEN_STATUSES).count(),
        interventions=Intervention.objects.count(),
        **sums,
    )
