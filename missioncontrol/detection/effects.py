"""Carry out what the pure step returns for a turn, in the transaction that judges the turn.

A judge's verdict comes later (`judging`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import cast
from uuid import UUID

from django.db.models import F

from guard.deciding import Action, Effect, FollowUp
from guard.judge.nudge import first_error, nudge_text
from guard.quoting import quoted
from guard.signals import Severity, Signal
from guard.wire import Escalation
from missioncontrol.decisions import budgets, cards, holding, messages, sessions
from missioncontrol.decisions.models import Autofix
from missioncontrol.detection import judging
from missioncontrol.detection.engine_cache import CachedEngine, Observation
from missioncontrol.notify import services as notices
from missioncontrol.runs import lineage
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, MUST_STOP, Move
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import capabilities_of, guard_turn
from missioncontrol.wire.events import EscalationAsked

ADVICE = (
    "Do not repeat it. Choose another strategy and say which before you go on, or hand this over "
    "to a stronger model."
)

# How the journal names an action; every other action opens a card.
OUTCOMES = {
    Action.ALLOW: "allowed",
    Action.WARN: "warned",
    Action.STOP: "stopped",
    Action.ESCALATE: "escalated",
}


def apply_effects(
    tx: RunTransaction,
    run: Run,
    effects: Iterable[Effect | FollowUp],
    *,
    observation: Observation,
    cached: CachedEngine,
) -> list[UUID]:
    """Carry out what `guard.deciding.judge` returns, in order; return the new questions."""
    questions = []
    for effect in effects:
        if isinstance(effect, FollowUp):
            _apply_follow_up(tx, run, effect, observation=observation, cached=cached)
            continue
        action, signal = effect
        if action is Action.NOTIFY:
            budgets.record_crossing(tx, run, signal)
        elif action.is_quiet:
            _record_quiet_signal(tx, run, signal, row=observation.row)
        elif action is Action.QUESTION:
            question = judging.create_question(
                tx, run, signal, row=observation.row, rule=cached.policy.judge
            )
            questions += [question.id] if question else []
        else:
            _act_on_signal(
                tx, run, action, signal, observation=observation, needs_verdict=cached.policy.judged
            )
    return questions


def _apply_follow_up(
    tx: RunTransaction, run: Run, what: FollowUp, *, observation: Observation, cached: CachedEngine
) -> None:
    """Carry out a follow-up that rests on no signal."""
    match what:
        case FollowUp.COUNT_CORRECTED:
            watched = Autofix.objects.filter(run=run, pk=cast(UUID, run.meters.recovering))
            # Set and never reset: one new thing since the correction is enough.
            news = {"news": True} if observation.row.changed else {}
            watched.update(turns_after=F("turns_after") + 1, **news)
        case FollowUp.SETTLE_CORRECTION:
            cards.judge_autofix(tx, run)
        case FollowUp.STOP_FINISHED:
            if run.status not in ENDED | MUST_STOP:
                reason = f"It had {holding.LAST_TURNS} turns to finish."
                sessions.stop_run(tx, run, by="policy", reason=reason)
        case FollowUp.STOP_WITH_PARENT:
            # Before the run is stopped, as stopping leaves its card unchanged.
            cards.close_card(tx, run, resolution="ended", by="guard")
            parent = run.parent.name if run.parent else ""
            reason = f'The run that started it, "{parent}", was stopped.'
            sessions.stop_run(tx, run, by="guard", reason=reason)
        case FollowUp.COMPLETE:
            sessions.end_run(tx, run, Move.COMPLETE, by="agent", reason="it ticked TASK_COMPLETE")
        case FollowUp.ADOPT_POLICY:
            run.policy_version = version = run.project.policy_version
            reason = f"policy version {version}"
            tx.record_state(run, by="policy", reason=reason, policy_version=version)
        case FollowUp.RESET_STREAKS:
            # Not `holding.reset_streaks`: forget only up to this turn; later ones are judged next.
            cached.engine.reset()
            run.meters.corrected = []
            run.meters.streak_obs = cached.streak_obs = observation.obs
            run.meters.lineage_forgotten = lineage.observations_of_relatives(run)


def _record_quiet_signal(tx: RunTransaction, run: Run, signal: Signal, *, row: Turn) -> None:
    """Record a signal that asks nobody, for a detector in `observe`; send a nudge to the agent."""
    nudges = signal.severity is Severity.NUDGE
    judging.record_detection(
        tx, run, signal, seq=row.seq, outcome="nudged" if nudges else "observed"
    )
    # An agent that takes no text is not told; the journal still says what was raised.
    if nudges and capabilities_of(run).takes_text:
        text = nudge_text(signal, [guard_turn(turn) for turn in cards.turns_of(run, signal)])
        messages.queue_message(tx, run, text, by="guard", agent=row.agent or None)


def _act_on_signal(
    tx: RunTransaction,
    run: Run,
    action: Action,
    signal: Signal,
    *,
    observation: Observation,
    needs_verdict: bool,
) -> None:
    """Record a signal and act on it: warn, stop, escalate or ask people."""
    observation.row.detector = signal.detector  # written with the turn's score, once for the batch
    outcome = OUTCOMES.get(action, "card")
    judging.record_detection(tx, run, signal, seq=observation.row.seq, outcome=outcome)
    # Recorded even so: the journal then says why no card opened.
    if action is Action.ALLOW:
        return
    cards.judge_autofix(tx, run, tripped=True)
    if action is Action.WARN:
        notices.notify_warning(run, kind=signal.kind, summary=signal.evidence.summary, at=tx.at)
    elif action is Action.STOP:
        # Its card stays as the record of why.
        if run.open_decision is None:
            cards.open_card(tx, run, signal, holds=False, needs_verdict=False)
        cards.close_card(tx, run, resolution="terminate", by="guard")
        sessions.stop_run_by_policy(tx, run, reason=signal.evidence.summary)
        notices.notify_ended(run, summary=signal.evidence.summary, at=tx.at)
    elif action is Action.ESCALATE:
        _escalate(tx, run, signal, row=observation.row, needs_verdict=needs_verdict)
    else:
        # A card that asks people replaces one that only told them.
        cards.close_card(tx, run, resolution="superseded", by="guard")
        holds = action is not Action.FLAG and capabilities_of(run).hold
        cards.open_card(tx, run, signal, holds=holds, needs_verdict=needs_verdict)


def _escalate(
    tx: RunTransaction, run: Run, signal: Signal, *, row: Turn, needs_verdict: bool
) -> None:
    """Show people a card, and ask the agent for another strategy; the agent goes on."""
    decision = cards.open_card(tx, run, signal, holds=False, needs_verdict=needs_verdict)
    asked = Escalation(
        reason=signal.evidence.summary,
        detector=signal.detector,
        kind=signal.kind.value,
        repeats=signal.evidence.repeats,
        first_error=first_error([guard_turn(turn) for turn in cards.turns_of(run, signal)]),
    )
    message = None
    if capabilities_of(run).takes_text:
        lines = [f"Mission Control noticed: {asked.reason}"]
        if asked.first_error:
            # Quoted: an error's text comes from outside and must not read as our advice.
            lines.append(f"The first error was, word for word: {quoted(asked.first_error)}")
        text = "\n".join([*lines, ADVICE])
        message = messages.queue_message(
            tx, run, text, by="guard", agent=row.agent or None, escalation=asked
        )
    tx.record(
        run,
        EscalationAsked,
        by="guard",
        decision=decision.id,
        agent=row.agent or None,
        turn_seq=row.seq,
        **asdict(asked),
        message=message.id if message else None,
    )
    messages.notify_controller(tx, run, "escalation.asked", asked.reason, decision=decision.id)
