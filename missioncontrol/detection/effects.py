"""Do what a turn leads to, in the transaction that judges it; verdicts come later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast
from uuid import UUID

from django.db.models import F

from guard.deciding import Action, Effect, FollowUp
from guard.signals import Signal
from missioncontrol.decisions import budgets, cards, endings
from missioncontrol.decisions.models import Autofix
from missioncontrol.detection import escalation, judging, nudges
from missioncontrol.detection.engine_cache import CachedEngine, Observation
from missioncontrol.notify import services as notices
from missioncontrol.runs import lineage, rows
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import Move
from missioncontrol.runs.models import Run

# What the journal calls an action; every other one opens a card.
OUTCOMES = {
    Action.ALLOW: "allowed",
    Action.WARN: "warned",
    Action.STOP: "stopped",
    Action.ESCALATE: "escalated",
}


def apply(
    tx: RunTransaction,
    run: Run,
    effects: Iterable[Effect | FollowUp],
    *,
    seen: Observation,
    cached: CachedEngine,
) -> list[UUID]:
    """Do what `guard.deciding.judge` says, in its order; return the questions that were put."""
    questions = []
    for effect in effects:
        if isinstance(effect, FollowUp):
            _follow_up(tx, run, effect, seen=seen, cached=cached)
            continue
        action, signal = effect
        if action is Action.TELL:
            budgets.announce(tx, run, signal)
        elif action.is_quiet:
            nudges.note(tx, run, signal, row=seen.row)
        elif action is Action.QUESTION:
            question = judging.put_question(tx, run, signal, row=seen.row, rule=cached.policy.judge)
            questions += [question.id] if question else []
        else:
            _answer(tx, run, action, signal, seen=seen, judged=cached.policy.judged)
    return questions


def _follow_up(
    tx: RunTransaction, run: Run, what: FollowUp, *, seen: Observation, cached: CachedEngine
) -> None:
    """Do what rests on no signal."""
    match what:
        case FollowUp.COUNT_CORRECTED:
            watched = Autofix.objects.filter(run=run, pk=cast(UUID, run.meters.recovering))
            # Set and never taken back: one new thing since the correction is enough.
            news = {"news": True} if seen.row.changed else {}
            watched.update(turns_after=F("turns_after") + 1, **news)
        case FollowUp.SETTLE_CORRECTION:
            cards.judge_autofix(tx, run)
        case FollowUp.STOP_FINISHED:
            endings.stop_finished(tx, run)
        case FollowUp.STOP_WITH_PARENT:
            # Before the run is stopped, which leaves its card as it stands.
            cards.close_card(tx, run, resolution="ended", by="guard")
            parent = run.parent.name if run.parent else ""
            reason = f'The run that started it, "{parent}", was stopped.'
            endings.stop(tx, run, by="guard", reason=reason)
        case FollowUp.COMPLETE:
            endings.end(tx, run, Move.COMPLETE, by="agent", reason="it ticked TASK_COMPLETE")
        case FollowUp.FOLLOW_POLICY:
            run.policy_version = version = run.project.policy_version
            reason = f"policy version {version}"
            tx.moved(run, by="policy", reason=reason, policy_version=version)
        case FollowUp.COUNT_AFRESH:
            # Not `holding.start_afresh`: only up to this turn, for those after it are judged next.
            cached.engine.reset()
            run.meters.corrected = []
            run.meters.streak_obs = cached.streak_obs = seen.obs
            run.meters.kin_forgotten = lineage.observed(run)


def _answer(
    tx: RunTransaction,
    run: Run,
    action: Action,
    signal: Signal,
    *,
    seen: Observation,
    judged: bool,
) -> None:
    """Write down a signal that is answered, and answer it: warn, stop, escalate or ask people."""
    seen.row.detector = signal.detector  # written with the turn's score, once for the batch
    outcome = OUTCOMES.get(action, "card")
    nudges.write_down(tx, run, signal, seq=seen.row.seq, outcome=outcome)
    # Written down all the same: the journal then tells why no card opened.
    if action is Action.ALLOW:
        return
    cards.judge_autofix(tx, run, tripped=True)
    if action is Action.WARN:
        notices.warn(run, kind=signal.kind, summary=signal.evidence.summary, at=tx.at)
    elif action is Action.STOP:
        escalation.end_by_policy(tx, run, signal)
    elif action is Action.ESCALATE:
        escalation.escalate(tx, run, signal, row=seen.row, judged=judged)
    else:
        # What needs a person takes the place of a card that only told them.
        cards.close_card(tx, run, resolution="superseded", by="guard")
        holds = action is not Action.FLAG and rows.capabilities_of(run).hold
        cards.open_card(tx, run, signal, holds=holds, judged=judged)
