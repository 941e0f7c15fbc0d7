"""The upper rungs of the ladder: another strategy, and the end by the policy."""

from __future__ import annotations

from guard.nudge import first_error
from guard.signals import Rung, Signal
from guard.wire import Escalation, Mode
from missioncontrol.notify import services as notices
from missioncontrol.oversight import cards, endings, messages, rows
from missioncontrol.oversight.models import Decision, Message
from missioncontrol.runs.journal import Book
from missioncontrol.runs.lifecycle import ON_HOLD, Status
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import capabilities_of, guard_turn
from missioncontrol.wire.events import EscalationAsked, MessageQueued

ADVICE = (
    "Do not repeat it. Choose another strategy and say which before you go on, or hand this over "
    "to a stronger model."
)


def may_answer(run: Run, trip: Signal) -> bool:
    """Tell whether a trip has an answer here, or asks for more than the open card.

    With a card open, an end by the policy still comes, and what needs a person takes
    the place of a card that only told them. What a person holds is theirs first.
    """
    if run.open_decision is None:
        return run.status == Status.RUNNING
    if run.mode not in {Mode.PAUSE, Mode.AUTO}:
        return False
    card = run.decisions.get(status__in=rows.OPEN)
    if trip.rung is Rung.STOP:
        held = run.status in ON_HOLD and not cards.is_paused(run, card)
        return run.status == Status.RUNNING or held
    return trip.rung is Rung.ASK and run.status == Status.RUNNING and _only_told(card)


def escalate(book: Book, run: Run, signal: Signal, *, row: Turn, judged: bool) -> None:
    """Show people a card, and ask the agent for another strategy; it goes on."""
    decision = cards.open_card(book, run, signal, holds=False, judged=judged)
    asked = _escalation_of(run, signal)
    message = _tell(book, run, asked, agent=row.agent)
    book.record(
        run, EscalationAsked, by="guard", reason=asked.reason, decision=decision.id,
        detector=asked.detector, kind=asked.kind, repeats=asked.repeats,
        agent=row.agent or None, turn_seq=row.seq, first_error=asked.first_error,
        message=message.id if message else None,
    )  # fmt: skip
    messages.tell_controller(book, run, "escalation.asked", asked.reason, decision=decision.id)


def end_by_policy(book: Book, run: Run, signal: Signal) -> None:
    """End the run and tell people; its card stays as the record of why."""
    if run.open_decision is None:
        cards.open_card(book, run, signal, holds=False, judged=False)
    cards.close_card(book, run, resolution="terminate", by="guard")
    endings.stop_by_policy(book, run, reason=signal.evidence.summary)
    notices.ended(run, summary=signal.evidence.summary, at=book.at)


def _only_told(card: Decision) -> bool:
    """Tell whether a card is an escalation's, whose agent was let on."""
    signal = rows.signals.validate_python(card.signal)
    return not card.holds and signal.rung is Rung.ESCALATE


def _escalation_of(run: Run, signal: Signal) -> Escalation:
    turns = Turn.objects.filter(run=run, seq__in=signal.turns).order_by("seq")
    return Escalation(
        reason=signal.evidence.summary,
        detector=signal.detector,
        kind=signal.kind.value,
        repeats=signal.evidence.repeats,
        first_error=first_error([guard_turn(turn) for turn in turns]),
    )


def _tell(book: Book, run: Run, asked: Escalation, *, agent: str) -> Message | None:
    if not capabilities_of(run).takes_text:
        return None
    lines = [f"Mission Control noticed: {asked.reason}"]
    if asked.first_error:
        lines.append(f"The first error was: {asked.first_error}")
    message = messages.queue_message(
        book, run, "\n".join([*lines, ADVICE]), agent=agent or None, escalation=asked
    )
    book.record(
        run, MessageQueued, by="guard", message=message.id, text=message.text,
        agent=message.agent, intervention=None,
    )  # fmt: skip
    return message
