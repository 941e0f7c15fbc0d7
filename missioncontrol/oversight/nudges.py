"""What is said without asking anyone: nudges to the agent, notes of a shadow."""

from __future__ import annotations

from guard.nudge import nudge_text
from guard.signals import Assessment, Rung, Signal
from missioncontrol.oversight import messages
from missioncontrol.runs.journal import Book
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import capabilities_of, guard_turn
from missioncontrol.wire.events import DetectionRaised, MessageQueued


def quiet_signals(assessment: Assessment) -> list[Signal]:
    """Return what stands on a quiet rung for the first time in its streak."""
    return [
        signal
        for signal in assessment.signals
        if signal.first
        and (signal.rung is Rung.NUDGE or (signal.rung is Rung.OBSERVE and signal.score >= 1.0))
    ]


def note(book: Book, run: Run, signal: Signal, *, row: Turn) -> None:
    """Write down what a detector in `observe` would have done; tell the agent a nudge."""
    nudges = signal.rung is Rung.NUDGE
    book.record(
        run, DetectionRaised, by="guard", detector=signal.detector, kind=signal.kind,
        turn_seq=row.seq, turns=signal.turns, summary=signal.evidence.summary,
        outcome="nudged" if nudges else "observed",
    )  # fmt: skip
    if nudges and capabilities_of(run).takes_text:
        _tell(book, run, signal, agent=row.agent)


def _tell(book: Book, run: Run, signal: Signal, *, agent: str) -> None:
    turns = Turn.objects.filter(run=run, seq__in=signal.turns).order_by("seq")
    text = nudge_text(signal, [guard_turn(turn) for turn in turns])
    message = messages.queue_message(book, run, text, agent=agent or None)
    book.record(
        run, MessageQueued, by="guard", message=message.id, text=message.text,
        agent=message.agent, intervention=None,
    )  # fmt: skip
