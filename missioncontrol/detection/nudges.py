"""What is said without asking anyone: nudges to the agent, notes of a shadow."""

from __future__ import annotations

from guard.judge.nudge import nudge_text
from guard.signals import Severity, Signal
from missioncontrol.decisions import messages
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import capabilities_of, guard_turn
from missioncontrol.wire.events import DetectionRaised


def note(tx: RunTransaction, run: Run, signal: Signal, *, row: Turn) -> None:
    """Write down what a detector in `observe` would have done; tell the agent a nudge."""
    nudges = signal.severity is Severity.NUDGE
    write_down(tx, run, signal, seq=row.seq, outcome="nudged" if nudges else "observed")
    # An agent that takes no text is not told; the journal still says what was raised.
    if nudges and capabilities_of(run).takes_text:
        turns = Turn.objects.filter(run=run, seq__in=signal.turns).order_by("seq")
        text = nudge_text(signal, [guard_turn(turn) for turn in turns])
        messages.say(tx, run, text, by="guard", agent=row.agent or None)


def write_down(
    tx: RunTransaction, run: Run, signal: Signal, *, seq: int, outcome: str, by: str = "guard"
) -> None:
    """Record what a detector or the judge raised at a turn, and what follows of it."""
    tx.record(
        run,
        DetectionRaised,
        by=by,
        detector=signal.detector,
        kind=signal.kind,
        turn_seq=seq,
        turns=signal.turns,
        summary=signal.evidence.summary,
        outcome=outcome,
    )
