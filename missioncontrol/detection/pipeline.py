"""The data's way as code: what was stored becomes what we think and do.

`detect(runs)` locks the run rows in id order, takes the observations above each
run's watermark, and for each one: counts its money, asks the engine, decides,
acts. It moves the watermark, commits, then publishes. Called twice it does
nothing twice; whoever may call it: a task, the sweeper, a web process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from guard.contrib.ralph import ticks_complete
from guard.policy import Action, Effect, decide
from guard.signals import Assessment, Signal
from missioncontrol.costs import counting
from missioncontrol.costs.counting import CostTotals
from missioncontrol.costs.tree_budgets import Ancestors, spent_by_tree
from missioncontrol.decisions import allowlist, budgets, cards, endings, receipts
from missioncontrol.decisions.directives import ControlState, control_state_of
from missioncontrol.decisions.models import Autofix
from missioncontrol.detection import (
    engine_cache,
    escalation,
    judging,
    nudges,
    run_state,
    tree_engines,
)
from missioncontrol.detection.engine_cache import CachedEngine, Observation, policy_of
from missioncontrol.notify import services as notices
from missioncontrol.runs import journal, lineage, rows
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, FORBIDDEN, Move
from missioncontrol.runs.models import TAPE_POINTS, Run
from missioncontrol.runs.models import Turn as TurnModel

logger = logging.getLogger(__name__)

RECOVERY_TURNS = 5


@dataclass(frozen=True, slots=True)
class DetectionBatch:
    """What one transaction counts across its runs; written last, in a fixed order."""

    cost_totals: CostTotals
    hit_totals: allowlist.HitTotals
    ancestors: Ancestors
    questions: list[UUID] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Detected:
    """Each run's control state now, and the cards and questions that want a judge."""

    control_states: dict[UUID, ControlState]
    opened: list[UUID]
    questions: list[UUID]
    controlled: list[UUID]
    """Runs that somebody controls: there may be something to tell."""
    left: set[UUID]
    """Runs that a person went before; they are judged next."""


def detect(run_ids: Iterable[UUID], *, at: datetime) -> Detected:
    """Judge what is new of these runs; if a person waits, of some: `left` are the others."""
    wanted = set(run_ids)
    try:
        with journal.writing(wanted, at=at) as tx:
            cards_before = {run.id: run.open_decision for run in tx.runs.values()}
            observations = engine_cache.unseen(list(tx.runs.values()))
            seen = [one.row for found in observations.values() for one in found]
            runs = tx.runs.values()
            batch = DetectionBatch(
                CostTotals(seen, runs, at=at), allowlist.HitTotals(), Ancestors(runs)
            )
            across = _Across(tx, batch) if any(run.root for run in runs) else None
            judged, left = _oversee_all(tx, observations, batch)
            if across is not None:
                across.look(observations)
            journal.update_columns(TurnModel, ("score", "changed", "detector", "cost_usd"), judged)
            batch.hit_totals.write(at=at)
            batch.cost_totals.write(tx)
            control_states = {run.id: control_state_of(run) for run in runs if run.id not in left}
    except BaseException:
        engine_cache.forget(wanted)
        tree_engines.forget(wanted)
        raise
    opened = [
        run.open_decision
        for run in tx.runs.values()
        if run.open_decision is not None and run.open_decision != cards_before[run.id]
    ]
    controlled = [run.id for run in tx.runs.values() if run.controller_id or run.controller_url]
    return Detected(control_states, opened, batch.questions, controlled, left)


def _oversee_all(
    tx: RunTransaction, observations: dict[UUID, list[Observation]], batch: DetectionBatch
) -> tuple[list[TurnModel], set[UUID]]:
    """Oversee one run after the other, until a person waits; tell which were left.

    Linked ones come first and stay together: their tree sees turns in order of arrival.
    """
    judged: list[TurnModel] = []
    left = set(tx.runs)
    for run in sorted(tx.runs.values(), key=lambda run: run.root is None):
        if run.root is None and len(left) < len(tx.runs) and journal.should_yield():
            break
        judged += _oversee(tx, run, observations[run.id], batch)
        left.discard(run.id)
    return judged, left


def _oversee(
    tx: RunTransaction, run: Run, observations: list[Observation], batch: DetectionBatch
) -> list[TurnModel]:
    """Show a run's engine what it has not seen; return the turns judged now."""
    cards.resume_hold(tx, run)
    cached = engine_cache.KEPT[run.id]
    judged: dict[UUID, TurnModel] = {}
    for seen in observations:
        engine_cache.start_afresh(cached, run, upto=seen.obs)
        if seen.obs <= run.meters.detected_obs:
            _observe(run, cached, seen, batch, at=tx.at)
        else:
            _judge(tx, run, cached, seen, batch)
            judged[seen.row.id] = seen.row
            run.meters.detected_obs = seen.obs
        cached.seen_obs = seen.obs
    return list(judged.values())


def _judge(
    tx: RunTransaction, run: Run, cached: CachedEngine, seen: Observation, batch: DetectionBatch
) -> None:
    """Look at one new observation."""
    if (
        run.meters.unconfirmed is not None
        and seen.obs > run.meters.streak_obs
        and run.status == "running"
    ):
        receipts.confirm(tx, run)  # what is new since the answer shows that the agent acted on it
    counting.count(tx, run, seen.row, seen.turn, batch.cost_totals)
    assessment = _observe(run, cached, seen, batch, at=tx.at)
    if run.project.budgets or run.lineage or run.project.organisation_budget:
        assessment = budgets.weigh_shared(
            run,
            assessment,
            batch.cost_totals.spending,
            batch.ancestors,
            agent=seen.row.agent,
            at=tx.at,
        )
    if (
        run.meters.corrected
        and seen.obs > run.meters.streak_obs
        and not cached.engine.is_correcting
    ):
        run.meters.corrected = []  # something new was done: it may have been the cure
    _draw_tape(run, seen, assessment)
    if run.meters.highest_score is None or assessment.stuck > run.meters.highest_score:
        run.meters.highest_score, run.meters.highest_score_seq = assessment.stuck, seen.row.seq
    _follow_up(tx, run, assessment, seen, batch)
    if "ralph" in cached.policy.detectors and ticks_complete(seen.turn):
        endings.end(tx, run, Move.COMPLETE, by="agent", reason="it ticked TASK_COMPLETE")
        return
    if seen.obs <= run.meters.streak_obs:
        return
    version = run.project.policy_version
    if run.policy is None and run.policy_version != version:
        run.policy_version = version  # it follows its project's policy as that changes
        tx.moved(run, by="policy", reason=f"policy version {version}", policy_version=version)
    is_news = bool(assessment.signals) and budgets.tell(tx, run, assessment.signals)
    is_said = assessment.signals or assessment.suspicion
    if assessment.trip is None and (run.open_decision is not None or not is_said):
        return  # nothing is said, or people are asked already and this asks for no more
    state = run_state.of(run, trip=assessment.trip, knows_budget=not is_news)
    effects = decide(state, assessment, allows=_allows(run, batch, at=tx.at))
    _apply(tx, run, cached, seen, effects, batch)


class _Across:
    """The linked runs of a transaction, watched together by the rules of their root."""

    def __init__(self, tx: RunTransaction, batch: DetectionBatch) -> None:
        self._tx, self._batch = tx, batch
        runs = [run for run in tx.runs.values() if run.root is not None]
        self._judged = {run.id: run.meters.detected_obs for run in runs}
        named = batch.ancestors.named
        policies = {run.root: policy_of(named(run.root) or run) for run in runs if run.root}
        self._trees = tree_engines.TreeEngines(tx.runs.values(), policies)

    def look(self, observations: dict[UUID, list[Observation]]) -> None:
        """Look at what was judged since, in order of arrival."""
        new = [
            (self._tx.runs[run_id], one)
            for run_id, judged in self._judged.items()
            for one in observations[run_id]
            if one.obs > judged
        ]
        for run, one in sorted(new, key=lambda pair: (pair[1].row.id, pair[1].obs)):
            self._look_at(run, one)

    def _look_at(self, run: Run, seen: Observation) -> None:
        """A loop that goes round over linked runs is carded here, where it closed."""
        signal = self._trees.look(run, seen.row, seen.obs, seen.turn)
        if signal is None or seen.obs <= run.meters.streak_obs:
            return
        assessment = Assessment(seq=seen.row.seq, score=0.0, changed=False, signals=(signal,))
        state = run_state.of(run, trip=signal, knows_budget=False)
        effects = decide(state, assessment, allows=_allows(run, self._batch, at=self._tx.at))
        if effects and not _waits_elsewhere(self._tx, signal):
            _apply(self._tx, run, engine_cache.KEPT[run.id], seen, effects, self._batch)


def _waits_elsewhere(tx: RunTransaction, signal: Signal) -> bool:
    """A person is asked about this loop already, on the card of another of its runs."""
    others = {UUID(run) for run, _ in signal.linked_turns}
    here = [tx.runs[one] for one in others if one in tx.runs]
    if any(one.open_decision is not None for one in here):
        return True
    elsewhere = Run.objects.filter(pk__in=others - tx.runs.keys())
    return elsewhere.filter(open_decision__isnull=False).exists()


def _observe(
    run: Run, cached: CachedEngine, seen: Observation, batch: DetectionBatch, *, at: datetime
) -> Assessment:
    """Ask the engine; a turn it fails on is passed over, or no run would be judged."""
    try:
        spent = spent_by_tree(run, batch.cost_totals.spending, at=at)
        return cached.engine.observe(seen.turn, spent=spent)
    except Exception:
        logger.exception("the engine failed on turn %s of run %s", seen.row.seq, run.id)
        cached.engine = engine_cache.start_engine(cached.policy)
        return Assessment(seq=seen.row.seq, score=0.0, changed=True)


def _allows(run: Run, batch: DetectionBatch, *, at: datetime) -> Callable[[Signal], bool]:
    return lambda signal: allowlist.is_listed(run, signal, batch.hit_totals, at=at)


def _apply(
    tx: RunTransaction,
    run: Run,
    cached: CachedEngine,
    seen: Observation,
    effects: Iterable[Effect],
    batch: DetectionBatch,
) -> None:
    """Do what was decided, in its order."""
    for action, signal in effects:
        if action.is_quiet:
            nudges.note(tx, run, signal, row=seen.row)
        elif action is Action.QUESTION:
            question = judging.put_question(tx, run, signal, row=seen.row, rule=cached.policy.judge)
            if question is not None:
                batch.questions.append(question.id)
        else:
            seen.row.detector = signal.detector
            outcome = OUTCOMES.get(action, "card")
            nudges.write_down(tx, run, signal, seq=seen.row.seq, outcome=outcome)
            if action is not Action.ALLOW:
                cards.judge_autofix(tx, run, tripped=True)
            if action in {Action.ALLOW, Action.WARN}:
                _let_go_on(tx, run, cached, seen, action, signal)
            else:
                _intervene(tx, run, seen, action, signal, judged=cached.policy.judged)


OUTCOMES = {
    Action.ALLOW: "allowed",
    Action.WARN: "warned",
    Action.STOP: "stopped",
    Action.ESCALATE: "escalated",
}
"""What the journal calls an action; every other one opens a card."""


def _let_go_on(
    tx: RunTransaction,
    run: Run,
    cached: CachedEngine,
    seen: Observation,
    action: Action,
    signal: Signal,
) -> None:
    """Tell people, if nobody allowed it; the agent goes on, and its count begins again."""
    if action is Action.WARN:
        notices.warn(run, kind=signal.kind, summary=signal.evidence.summary, at=tx.at)
    cached.engine.reset()
    run.meters.corrected = []
    run.meters.streak_obs = cached.streak_obs = seen.obs
    run.meters.kin_forgotten = lineage.observed(run)


def _intervene(
    tx: RunTransaction,
    run: Run,
    seen: Observation,
    action: Action,
    signal: Signal,
    *,
    judged: bool,
) -> None:
    """End the run, ask it for another strategy, or open a card."""
    if action is Action.STOP:
        escalation.end_by_policy(tx, run, signal)
    elif action is Action.ESCALATE:
        escalation.escalate(tx, run, signal, row=seen.row, judged=judged)
    else:
        cards.close_card(tx, run, resolution="superseded", by="guard")
        holds = action is not Action.FLAG and rows.capabilities_of(run).hold
        cards.open_card(tx, run, signal, holds=holds, judged=judged)


def _follow_up(
    tx: RunTransaction,
    run: Run,
    assessment: Assessment,
    seen: Observation,
    batch: DetectionBatch,
) -> None:
    """Do what was decided earlier and depends on a further turn."""
    if run.meters.recovering is not None and not seen.turn.is_proposed:
        _follow_autofix(tx, run, run.meters.recovering, assessment)
    if run.meters.finish_seq is not None and seen.row.seq > run.meters.finish_seq:
        endings.stop_finished(tx, run)
    if run.relation == "child" and run.parent_id:
        _end_with_parent(tx, run, batch.ancestors.named(run.parent_id))


def _end_with_parent(tx: RunTransaction, run: Run, parent: Run | None) -> None:
    """Stop a run whose agent was started by one that has been stopped."""
    if parent is None or parent.status not in FORBIDDEN:
        return
    if run.status not in ENDED | FORBIDDEN and rows.capabilities_of(run).can_end:
        cards.close_card(tx, run, resolution="ended", by="guard")
        reason = f'The run that started it, "{parent.name}", was stopped.'
        endings.stop(tx, run, by="guard", reason=reason)


def _follow_autofix(tx: RunTransaction, run: Run, fix_id: UUID, assessment: Assessment) -> None:
    fix = Autofix.objects.get(pk=fix_id)
    fix.turns_after += 1
    fix.news = fix.news or assessment.changed
    fix.save(update_fields=["turns_after", "news"])
    if fix.turns_after >= RECOVERY_TURNS and assessment.trip is None:
        cards.judge_autofix(tx, run)


def _draw_tape(run: Run, seen: Observation, assessment: Assessment) -> None:
    """A turn has one bar: its completion redraws what its proposal drew."""
    point = [round(assessment.score, 3), assessment.changed]
    seen.row.score, seen.row.changed = point[0], assessment.changed
    if seen.row.seq >= run.meters.judged_turns:
        run.meters.tape = [*run.meters.tape, point][-TAPE_POINTS:]
        run.meters.judged_turns = seen.row.seq + 1
        return
    place = len(run.meters.tape) - (run.meters.judged_turns - seen.row.seq)
    if place >= 0:
        run.meters.tape = [*run.meters.tape[:place], point, *run.meters.tape[place + 1 :]]
