"""Escalation: another strategy is asked for, or the policy ends the run."""

from __future__ import annotations

from guard.judge.nudge import first_error
from guard.quoting import quoted
from guard.signals import Signal
from guard.wire import Escalation
from missioncontrol.decisions import cards, endings, messages
from missioncontrol.notify import services as notices
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import capabilities_of, guard_turn
from missioncontrol.wire.events import EscalationAsked

ADVICE = (
    "Do not repeat it. Choose another strategy and say which before you go on, or hand this over "
    "to a stronger model."
)


def escalate(tx: RunTransaction, run: Run, signal: Signal, *, row: Turn, judged: bool) -> None:
    """Show people a card, and ask the agent for another strategy; it goes on."""
    decision = cards.open_card(tx, run, signal, holds=False, judged=judged)
    turns = Turn.objects.filter(run=run, seq__in=signal.turns).order_by("seq")
    asked = Escalation(
        reason=signal.evidence.summary,
        detector=signal.detector,
        kind=signal.kind.value,
        repeats=signal.evidence.repeats,
        first_error=first_error([guard_turn(turn) for turn in turns]),
    )
    message = None
    if capabilities_of(run).takes_text:
        lines = [f"Mission Control noticed: {asked.reason}"]
        if asked.first_error:
            # Quoted: an error's text is the outside world's, and must not read as our advice.
            lines.append(f"The first error was, word for word: {quoted(asked.first_error)}")
        text = "\n".join([*lines, ADVICE])
        message = messages.say(tx, run, text, by="guard", agent=row.agent or None, escalation=asked)
    tx.record(
        run,
        EscalationAsked,
        by="guard",
        reason=asked.reason,
        decision=decision.id,
        detector=asked.detector,
        kind=asked.kind,
        repeats=asked.repeats,
        agent=row.agent or None,
        turn_seq=row.seq,
        first_error=asked.first_error,
        message=message.id if message else None,
    )
    messages.tell_controller(tx, run, "escalation.asked", asked.reason, decision=decision.id)


def end_by_policy(tx: RunTransaction, run: Run, signal: Signal) -> None:
    """End the run and tell people; its card stays as the record of why."""
    if run.open_decision is None:
        cards.open_card(tx, run, signal, holds=False, judged=False)
    cards.close_card(tx, run, resolution="terminate", by="guard")
    endings.stop_by_policy(tx, run, reason=signal.evidence.summary)
    notices.ended(run, summary=signal.evidence.summary, at=tx.at)
