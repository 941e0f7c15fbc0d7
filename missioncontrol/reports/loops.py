"""Loops according to cards: how many there were, which were stopped, and which went on."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from missioncontrol.decisions.models import NOT_LOOPS, Decision
from missioncontrol.reports.savings import Stop, UnstoppedLoop
from missioncontrol.runs.lifecycle import ENDED, Status
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import ceilings_of

# Answers that say a card was no loop: the judge's, a person's, a later card's.
NO_LOOP = ("dismissed", "continue", "allowlist", "superseded")
STOPS = ("terminate", "stop", "restart")
# Answers after which an agent goes on without being told anything. A card after which a person let
# it go on counts too: if they were right it ended soon, which keeps estimates low.
CONTINUED = ("continue", "proceed", "ended")
KNOWN_SINCE = timedelta(days=90)
MAX_SAMPLES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """One card about a loop, and its key in each grouping."""

    project: UUID
    run: UUID
    agent: str
    model: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedLoop(Loop):
    """A loop at the moment that it was stopped."""

    stop: Stop


def find_loops(project: UUID, *, since: datetime, until: datetime) -> list[Loop]:
    """Return the loops found in a project, by when their cards opened, oldest first."""
    cards = _cards(project).filter(opened_at__gte=since, opened_at__lt=until)
    found = cards.exclude(resolution__in=NO_LOOP).order_by("opened_at", "id")
    rows = found.values_list("run_id", "agent", "run__agent", "run__meters__model", "opened_at")
    return [
        Loop(project=project, run=run, agent=agent or first, model=model, at=at)
        for run, agent, first, model, at in rows
    ]


def stopped_loops(project: UUID, *, since: datetime, until: datetime) -> list[StoppedLoop]:
    """Return the loops that a person or the policy stopped in this time, one per run."""
    # A correction that helped is not counted as a saving: nobody knows what it saved.
    answered = _cards(project).filter(
        resolution__in=STOPS, resolved_at__gte=since, resolved_at__lt=until
    )
    cards = answered.select_related("run__meters").order_by("resolved_at", "id")
    # A run that was stopped, restarted and stopped again saved what its last stop saved.
    last = {card.run_id: card for card in cards}
    found = []
    for card in last.values():
        run, (first, _) = card.run, _turns_of(card)
        max_usd: Decimal | None = None
        ceiling: Any = ceilings_of(run).get("usd")
        # The agent sent the budget: one that is not a number limits nothing.
        with suppress(InvalidOperation):
            if ceiling is not None:
                spent = run.meters.cost_usd + run.meters.judge_cost_usd
                max_usd = Decimal(str(ceiling)) - spent
        stop = Stop(
            kind=card.kind,
            turns=max(1, run.meters.last_seq + 1 - first),
            usd_per_turn=_usd_per_turn(card),
            max_usd=max_usd,
        )
        found.append(
            StoppedLoop(
                project=run.project_id,
                run=run.id,
                agent=card.agent or run.agent,
                model=run.meters.model,
                at=card.resolved_at or card.opened_at,
                stop=stop,
            )
        )
    return found


def unstopped_loops(project: UUID, *, at: datetime) -> list[UnstoppedLoop]:
    """Return how long this project's loops lasted that nobody stopped, the newest 200.

    One that is still going on says nothing yet.
    """
    cards = _cards(project).filter(opened_at__gte=at - KNOWN_SINCE, opened_at__lt=at)
    # A loop that held nobody and that nobody answered went on by itself too.
    over = Q(resolution__in=CONTINUED) | Q(resolution=None, holds=False)
    found = cards.filter(over).select_related("run__meters").order_by("-opened_at")
    lengths = []
    for card in found[:MAX_SAMPLES]:
        first, last = _turns_of(card)
        # A turn that changes something again shows that the agent found its way out.
        changed = Turn.objects.filter(run_id=card.run_id, seq__gt=last, changed=True)
        end = changed.order_by("seq").values_list("seq", flat=True).first()
        if end is None and card.run.status not in ENDED - {Status.TERMINATED}:
            continue  # it goes on, or somebody stopped it later
        turns = (card.run.meters.last_seq + 1 if end is None else end) - first
        lengths.append(UnstoppedLoop(kind=card.kind, turns=turns))
    return lengths


def _cards(project: UUID) -> QuerySet[Decision]:
    return Decision.objects.filter(run__project_id=project).exclude(kind__in=NOT_LOOPS)


def _turns_of(card: Decision) -> tuple[int, int]:
    """Return the loop's first and last turn when its card opened."""
    turns = card.evidence.get("turns") or [0]
    return min(turns), max(turns)


def _usd_per_turn(card: Decision) -> Decimal | None:
    """Return the cost of a turn of this loop; if unknown, the average of its whole run."""
    cost, turns = card.evidence.get("cost_usd"), card.evidence.get("turns") or []
    # Only of these turns: the run may have been far more expensive before its loop.
    if cost is not None and turns and Decimal(cost) > 0:
        return Decimal(cost) / len(turns)
    run: Run = card.run
    if run.meters.cost_usd > 0 and run.meters.done_turns > 0:
        return run.meters.cost_usd / run.meters.done_turns
    return None
