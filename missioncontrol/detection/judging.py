"""The second layer: ask the judge outside every lock, then act on its verdict.

A trip opens a card that waits for its ruling; a suspicion is a question that opens a
card only if a model says *loop* and is sure. A judge is asked once: the worker that
asks claims the case under the run's lock. If the judge fails, the local judge rules;
if it is late or its worker died, the sweeper lets the local judge stand in.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from guard.deciding import Action, RunState, decide
from guard.judge import Case, JudgeCall, LLMJudge, Ruling, Verdict
from guard.judge.heuristics import rule
from guard.policy import JudgeRule
from guard.signals import Assessment, Signal
from guard.wire import Mode
from missioncontrol.costs import counting
from missioncontrol.decisions import cards, holding, messages, rows
from missioncontrol.decisions.models import Autofix, Decision
from missioncontrol.detection.models import Question
from missioncontrol.notify import services as notices
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import Status
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import capabilities_of, guard_turn
from missioncontrol.wire.decisions import VerdictRow
from missioncontrol.wire.events import AutofixApplied, DetectionRaised, JudgeAsked, JudgeRuled
from missioncontrol.wire.rows import from_json, row_of, to_json

HISTORY_TURNS = 24
# Added to the time that the configured judge may take.
JUDGE_GRACE = timedelta(seconds=5)


def judge_card(decision_id: UUID, *, at: datetime) -> None:
    """Ask the judge about a card that waits for it; a second call does nothing."""
    waiting = Decision.objects.select_related("run").filter(pk=decision_id, status="judging")
    decision = waiting.first()
    if decision is None:
        return
    model: LLMJudge | None = settings.JUDGE
    case = case_of(decision)
    # The local judge answers at once and costs nothing: no claim is needed.
    if model is None:
        apply_verdict(decision_id, rule(case), at=at)
        return
    if not _claim(decision, model.name, at=at):
        return
    ruling, answered_at = _ask_model(model, case, at=at)
    apply_verdict(
        decision_id,
        ruling.verdict or rule(case),
        at=answered_at,
        stand_in=ruling.verdict is None,
        calls=ruling.calls,
    )


def rule_overdue_cards(*, at: datetime) -> None:
    """Let the local judge rule on every card whose judge is late."""
    model: LLMJudge | None = settings.JUDGE
    # Without a model the local judge answers at once: a late verdict was lost.
    patience = JUDGE_GRACE + timedelta(seconds=model.timeout_s if model else 0)
    late = Decision.objects.select_related("run").filter(opened_at__lt=at - patience)
    for decision in late.filter(status="judging"):
        verdict = rule(case_of(decision))
        apply_verdict(decision.pk, verdict, at=at, stand_in=model is not None)


def judge_suspicion(question_id: UUID, *, at: datetime) -> None:
    """Ask the judge about a suspicion; a second call does nothing."""
    question = Question.objects.select_related("run").filter(pk=question_id).first()
    model: LLMJudge | None = settings.JUDGE
    if question is None or model is None or not _claim(question, model.name, at=at):
        return
    case = case_of(question)
    ruling, answered_at = _ask_model(model, case, at=at)
    with journal.lock_run(question.run_id, at=answered_at) as (tx, run):
        question.judge = ruling.verdict.judge if ruling.verdict else ruling.asked
        question.failure = ruling.failure or ""
        if ruling.verdict is not None:
            shown = row_of(VerdictRow, ruling.verdict, stand_in=False)
            question.verdict = to_json(shown)
            question.decision = _rule_on_suspicion(tx, run, question, shown)
        question.save(update_fields=["judge", "failure", "verdict", "decision"])
        _charge_calls(tx, run, question, ruling.calls)


def case_of(asked: Decision | Question) -> Case:
    """Return what the judge may know of a card, or of a suspicion."""
    run, signal = asked.run, from_json(Signal, asked.signal)
    before = Turn.objects.filter(run=run, seq__lte=max(signal.turns, default=run.meters.last_seq))
    # The newest of them, in the order in which they happened.
    history = reversed(before.order_by("-seq")[:HISTORY_TURNS])
    requests = before.filter(role="user").order_by("-seq").values_list("content", flat=True)
    return Case(
        signal=signal,
        turns=tuple(map(guard_turn, cards.all_turns_of(run, signal))),
        history=tuple(map(guard_turn, history)),
        workspace=tuple(run.workspace),
        goal=run.goal or None,
        order=requests.first(),
    )


def apply_verdict(
    decision_id: UUID,
    verdict: Verdict,
    *,
    at: datetime,
    stand_in: bool = False,
    calls: Iterable[JudgeCall] = (),
) -> None:
    """Act on a verdict: let the agent go, inject the fix, or leave it to a person.

    The calls are charged even if somebody else has ruled meanwhile.
    """
    run_id = Decision.objects.values_list("run_id", flat=True).get(pk=decision_id)
    with journal.lock_run(run_id, at=at) as (tx, run):
        decision = Decision.objects.get(pk=decision_id)
        # Meanwhile a person may have answered, or the sweeper may have let another judge rule.
        if decision.status == "judging":
            shown = row_of(VerdictRow, verdict, stand_in=stand_in)
            _rule_on_card(tx, run, decision, shown)
        _charge_calls(tx, run, decision, calls)


def _claim(asked: Decision | Question, judge: str, *, at: datetime) -> bool:
    """Claim a case and record who is asked; False: it was claimed already."""
    is_card = isinstance(asked, Decision)
    rows_of_it = Decision.objects if is_card else Question.objects
    with journal.lock_runs([asked.run_id], at=at) as tx:
        if not rows_of_it.filter(pk=asked.pk, asked_at__isnull=True).update(asked_at=at):
            return False
        asked.asked_at = at
        decision = asked.pk if is_card else None
        tx.record(tx.run(asked.run_id), JudgeAsked, by="guard", decision=decision, judge=judge)
    return True


def _ask_model(model: LLMJudge, case: Case, *, at: datetime) -> tuple[Ruling, datetime]:
    """Return the model's ruling, and when it came; no lock is held."""
    began = time.monotonic()
    ruling = model.ask(case)
    # The clock is read once, at the edge; how long the answer took is added to it.
    return ruling, at + timedelta(seconds=time.monotonic() - began)


def _rule_on_card(tx: RunTransaction, run: Run, decision: Decision, verdict: VerdictRow) -> None:
    """Store a verdict on its card and act on it: let the agent go, correct it, or leave it."""
    if decision.asked_at is None:
        decision.asked_at = tx.at
        tx.record(run, JudgeAsked, by="guard", decision=decision.id, judge=verdict.judge)
    decision.verdict = to_json(verdict)
    decision.status = "open"
    decision.save(update_fields=["asked_at", "verdict", "status"])
    actions = rows.offered_actions(decision.kind, decision.holds, run)
    _record_ruling(tx, run, verdict, decision=decision, actions=actions)
    notices.add_verdict(rows.decision_row(decision, run), run, at=tx.at)
    if not verdict.loop:
        cards.settle_card(tx, run, decision, resolution="dismissed", by="judge", reason="no loop")
        return
    fix = verdict.fix if run.mode == "auto" and decision.holds else None
    if fix and not cards.is_paused_by_person(run, decision):
        # After a fix that did not help, the next one is left to a person.
        last = Autofix.objects.filter(run=run).order_by("-id").first()
        failed_at = last.judged_at if last and last.recovered is False else None
        if failed_at is None or run.interventions.filter(at__gt=failed_at).exists():
            _apply_fix(tx, run, decision, fix)


def _apply_fix(tx: RunTransaction, run: Run, decision: Decision, text: str) -> None:
    """Answer a card with the judge's correction, and watch whether it helps."""
    agent, about = decision.agent, decision.signal["turns"]
    # No event of its own: the autofix's tells it.
    message = messages.queue_message(tx, run, text, by=None, agent=agent or None)
    fix = Autofix.objects.create(run=run, decision=decision, message=message, applied_at=tx.at)
    cards.close_card(tx, run, resolution="autofix", by="auto")
    holding.release_with_correction(tx, run, by="auto", reason="autofix", about=about, agent=agent)
    run.meters.recovering = fix.id
    tx.record(run, AutofixApplied, by="auto", row=rows.autofix_row(fix))


def _charge_calls(
    tx: RunTransaction, run: Run, asked: Decision | Question, calls: Iterable[JudgeCall]
) -> None:
    agent = asked.agent if isinstance(asked, Decision) else run.agent
    for number, call in enumerate(calls):
        counting.charge_judge(
            tx,
            run,
            # Named after the case: the ledger counts a call id once, so no repeat is charged.
            call_id=f"judge-{asked.pk.hex}-{number}",
            usage=call.usage,
            cost=call.cost_usd,
            model=call.model,
            agent=agent,
        )


def _rule_on_suspicion(
    tx: RunTransaction, run: Run, question: Question, verdict: VerdictRow
) -> Decision | None:
    """Act on a verdict on a suspicion; return the card, if one opened."""
    is_sure = verdict.loop and verdict.confidence >= question.confidence
    # A person, a card or the run's end may have come before the answer.
    is_free = run.open_decision is None and run.status == Status.RUNNING
    is_superseded = run.meters.streak_obs > question.obs or run.meters.finish_seq is not None
    if not is_sure or not is_free or is_superseded:
        _record_ruling(tx, run, verdict)
        return None
    # A suspicion trips nothing by itself: the judge's certainty makes it a trip.
    signal = replace(from_json(Signal, question.signal), score=1.0)
    # Read before the autofix is settled, which clears `recovering`.
    state = RunState(mode=Mode(run.mode), fix_failed=run.meters.recovering is not None)
    cards.judge_autofix(tx, run, tripped=True)
    sure = Assessment(seq=max(signal.turns), score=0.0, changed=False, signals=(signal,))
    ((action, _),) = decide(state, sure)
    outcome = "warned" if action is Action.WARN else "card"
    record_detection(tx, run, signal, seq=question.turn_seq, outcome=outcome, by="judge")
    if action is Action.WARN:
        notices.notify_warning(run, kind=signal.kind, summary=signal.evidence.summary, at=tx.at)
        _record_ruling(tx, run, verdict)
        return None
    holds = action is not Action.FLAG and capabilities_of(run).hold
    # The suspicious turns have run meanwhile: the next one is the first that can be held.
    decision = cards.open_card(tx, run, signal, holds=holds, from_seq=run.meters.last_seq + 1)
    decision.asked_at = question.asked_at
    _rule_on_card(tx, run, decision, verdict)
    return decision


def _record_ruling(
    tx: RunTransaction,
    run: Run,
    verdict: VerdictRow,
    *,
    decision: Decision | None = None,
    actions: Iterable[str] = (),
) -> None:
    tx.record(
        run,
        JudgeRuled,
        by="judge",
        decision=decision.id if decision else None,
        verdict=verdict,
        decision_status="open" if decision else None,
        actions=actions,
    )


def create_question(
    tx: RunTransaction, run: Run, suspicion: Signal, *, row: Turn, rule: JudgeRule
) -> Question | None:
    """Create a question about a suspicion; None: one was asked a few turns ago."""
    asked = Question.objects.filter(run=run).order_by("-turn_seq")
    last = asked.values_list("turn_seq", flat=True).first()
    if last is not None and row.seq - last < rule.every:
        return None
    return Question.objects.create(
        run=run,
        turn_seq=row.seq,
        obs=row.obs,
        confidence=rule.confidence,
        signal=to_json(suspicion),
        opened_at=tx.at,
    )


def record_detection(
    tx: RunTransaction, run: Run, signal: Signal, *, seq: int, outcome: str, by: str = "guard"
) -> None:
    """Record what a detector or the judge raised at a turn, and what follows from it."""
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
