"""A run's row as the state that what follows from a turn depends on."""

from __future__ import annotations

from django.conf import settings

from guard.deciding import Card, Control, JudgedTurn, RunState
from guard.signals import Severity
from guard.wire import Mode
from missioncontrol.decisions import budgets, cards, rows
from missioncontrol.decisions.models import Autofix
from missioncontrol.runs.lifecycle import ENDED, FORBIDDEN, ON_HOLD, Status
from missioncontrol.runs.models import Run
from missioncontrol.runs.rows import capabilities_of

OVER = frozenset({Status.COMPLETED, Status.FAILED})


def of(run: Run, turn: JudgedTurn, *, seq: int, parent: Run | None) -> RunState:
    """Read it as the turn numbered `seq` meets it.

    The database is asked only where that matters: for the open card where there is a
    trip to compare with, for a correction while one is watched.
    """
    meters, assessment = run.meters, turn.assessment
    card = corrected_turns = None
    if assessment.trip is not None and run.open_decision is not None and not turn.is_past:
        card = run.decisions.get(pk=run.open_decision)
    if meters.recovering is not None and turn.is_done:
        watched = Autofix.objects.filter(pk=meters.recovering)
        corrected_turns = watched.values_list("turns_after", flat=True).get()
    control = Control.OUT_OF_REACH
    if run.status == Status.RUNNING:
        control = Control.FREE
    elif run.status in ON_HOLD:
        is_held = card is not None and not cards.is_paused(run, card)
        control = Control.HELD if is_held else Control.PAUSED
    elif run.observed_only and run.status in OVER:
        control = Control.TOLD_WHOLE
    asks = Card.NONE if run.open_decision is None else Card.ASKS
    if card is not None and not card.holds:
        # A card that holds nothing and was an escalation's only tells.
        signal = rows.signals.validate_python(card.signal)
        asks = Card.TELLS if signal.severity is Severity.ESCALATE else Card.ASKS
    # A ceiling is told once; what was told before asks nobody again.
    crossings = budgets.new_crossings(run, assessment.signals)
    is_at_work = run.status not in ENDED | FORBIDDEN
    is_forbidden_above = run.relation == "child" and parent and parent.status in FORBIDDEN
    return RunState(
        mode=Mode(run.mode),
        control=control,
        card=asks,
        is_finishing=meters.finish_seq is not None,
        fix_failed=meters.recovering is not None,
        knows_budget=not any(signal.trips for signal in crossings),
        has_judge=settings.JUDGE is not None,
        corrected_turns=corrected_turns,
        is_finished=is_at_work and meters.finish_seq is not None and seq > meters.finish_seq,
        is_orphaned=is_at_work and bool(is_forbidden_above) and capabilities_of(run).can_end,
        has_new_policy=run.policy is None and run.policy_version != run.project.policy_version,
        crossings=crossings,
    )
