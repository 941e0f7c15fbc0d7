"""A run's row as the state that a decision about it depends on."""

from __future__ import annotations

from django.conf import settings

from guard.policy import Card, Control, RunState
from guard.signals import Severity, Signal
from guard.wire import Mode
from missioncontrol.decisions import cards, rows
from missioncontrol.decisions.models import Decision
from missioncontrol.runs.lifecycle import ON_HOLD, Status
from missioncontrol.runs.models import Run

OVER = frozenset({Status.COMPLETED, Status.FAILED})


def of(run: Run, *, trip: Signal | None, knows_budget: bool) -> RunState:
    """Read it; the open card, from the database, only where there is a `trip` to compare with."""
    card = None
    if trip is not None and run.open_decision is not None:
        card = run.decisions.get(pk=run.open_decision)
    return RunState(
        mode=Mode(run.mode),
        control=_control_of(run, card),
        card=Card.NONE if run.open_decision is None else _asked_by(card),
        is_finishing=run.meters.finish_seq is not None,
        fix_failed=run.meters.recovering is not None,
        knows_budget=knows_budget,
        has_judge=settings.JUDGE is not None,
    )


def _control_of(run: Run, card: Decision | None) -> Control:
    if run.status == Status.RUNNING:
        return Control.FREE
    if run.status in ON_HOLD:
        is_held = card is not None and not cards.is_paused(run, card)
        return Control.HELD if is_held else Control.PAUSED
    is_told_whole = run.observed_only and run.status in OVER
    return Control.TOLD_WHOLE if is_told_whole else Control.OUT_OF_REACH


def _asked_by(card: Decision | None) -> Card:
    """A card that holds nothing and was an escalation's only tells."""
    if card is None or card.holds:
        return Card.ASKS
    is_escalation = rows.signals.validate_python(card.signal).severity is Severity.ESCALATE
    return Card.TELLS if is_escalation else Card.ASKS
