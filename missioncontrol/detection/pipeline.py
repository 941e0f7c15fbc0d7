"""The detection pipeline: from stored turns to verdicts and their effects.

`detect(runs)` shows the engines what is new and locks the run rows in id order. For each
observation above a run's watermark it counts the cost and takes the engine's assessment;
`guard.deciding.judge` decides what follows, and `effects.apply_effects` carries it out. It
moves the watermark, commits, then publishes. A second call changes nothing; a task, the sweeper
and a web process may all call it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from typing import cast
from uuid import UUID

from django.conf import settings

from guard.contrib.ralph import ticks_complete
from guard.deciding import Card, Control, RunState, TurnFacts, judge
from guard.signals import Assessment, Severity, Signal
from guard.wire import Mode
from missioncontrol.costs import counting
from missioncontrol.costs.counting import CostTotals
from missioncontrol.costs.trees import Ancestors, spent_by_tree
from missioncontrol.decisions import allowlist, budgets, cards, directives
from missioncontrol.decisions.directives import ControlState, control_state_of
from missioncontrol.decisions.models import Autofix
from missioncontrol.detection import effects, engine_cache, tree_engines
from missioncontrol.detection.engine_cache import CachedEngine, Observation, policy_of
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, MUST_STOP, ON_HOLD, Source, Status
from missioncontrol.runs.models import TAPE_POINTS, Run
from missioncontrol.runs.models import Turn as TurnModel
from missioncontrol.runs.rows import capabilities_of
from missioncontrol.runs.statements import update_columns
from missioncontrol.wire.rows import from_json

# Columns of a turn that detection alone writes.
VERDICT_COLUMNS = ("score", "changed", "detector")
ENDED_BY_ITSELF = frozenset({Status.COMPLETED, Status.FAILED})
# One thread of a process at a time: engines are asked before their runs are locked.
_engines_lock = threading.Lock()


@dataclass(frozen=True)
class DetectionBatch:
    """What one transaction counts over all its runs; written last, in a fixed order."""

    runs: Collection[Run]
    cost_totals: CostTotals
    hit_totals: allowlist.HitTotals = field(default_factory=allowlist.HitTotals)
    questions: list[UUID] = field(default_factory=list)

    @cached_property
    def ancestors(self) -> Ancestors:
        """The runs above these, read for the first run that has any."""
        return Ancestors(self.runs)


@dataclass(frozen=True, slots=True)
class DetectionResult:
    """Each run's control state now, and the cards and questions that need a judge."""

    control_states: dict[UUID, ControlState]
    opened: list[UUID]
    questions: list[UUID]
    controlled: list[UUID]
    """Runs with a controller: there may be something to tell it."""
    left: set[UUID]
    """Runs left out because a person went first; they are judged next."""


def detect(run_ids: Iterable[UUID], *, at: datetime) -> DetectionResult:
    """Judge what is new in these runs, or in some if a person waits: `left` are the others."""
    wanted = set(run_ids)
    with _engines_lock:
        try:
            ahead = engine_cache.look_ahead(wanted)
            with journal.lock_runs(wanted, at=at) as tx:
                return _detect_locked(tx, ahead)
        except BaseException:
            # What these engines saw was not committed: they are dropped and rebuilt.
            engine_cache.drop_engines(wanted)
            tree_engines.drop_engines(wanted)
            raise


def _detect_locked(tx: RunTransaction, read_ahead: list[Observation]) -> DetectionResult:
    runs, left = tx.runs.values(), set(tx.runs)
    # Cards that open here go to the judge after the commit: it is never asked under a lock.
    cards_before = {run.id: run.open_decision for run in runs}
    observations = engine_cache.unseen_observations(list(runs), read_ahead)
    turns = [one.row for found in observations.values() for one in found]
    batch = DetectionBatch(runs, CostTotals(turns, runs, at=tx.at))
    trees = LinkedRuns(tx, batch) if any(run.root for run in runs) else None
    judged: list[TurnModel] = []
    # Linked runs come first and stay together: their tree sees turns in order of arrival.
    for run in sorted(runs, key=lambda run: run.root is None):
        if run.root is None and len(left) < len(runs) and journal.should_yield():
            break
        judged += _judge_run(tx, run, observations[run.id], batch)
        left.discard(run.id)
    if trees is not None:
        trees.judge(observations)
    for row in judged:
        # Only if it was counted now: telemetry may have added a cost since the turn was read,
        # without an event.
        row.cost_usd = batch.cost_totals.costs.get(row.id)
    update_columns(TurnModel, VERDICT_COLUMNS, judged, unless_null=("cost_usd",))
    # Rows that many runs share come last and in a fixed order: they are locked briefly, and no
    # two transactions deadlock.
    if batch.hit_totals:
        batch.hit_totals.write(at=tx.at)
    batch.cost_totals.write(tx)
    return DetectionResult(
        control_states={run.id: control_state_of(run) for run in runs if run.id not in left},
        opened=[
            run.open_decision
            for run in runs
            if run.open_decision is not None and run.open_decision != cards_before[run.id]
        ],
        questions=batch.questions,
        controlled=[run.id for run in runs if run.controller_id or run.controller_url],
        left=left,
    )


def _judge_run(
    tx: RunTransaction, run: Run, observations: list[Observation], batch: DetectionBatch
) -> list[TurnModel]:
    """Show a run's engine what it has not seen; return the turns judged now."""
    if run.hold is not None and run.hold.stands:
        cards.resume_hold(tx, run)
    cached = engine_cache.ENGINES[run.id]
    judged: dict[UUID, TurnModel] = {}
    for observation in observations:
        # Reset once, at the point at which a person stepped in.
        if cached.streak_obs < run.meters.streak_obs < observation.obs:
            cached.engine.reset(corrected=engine_cache.corrections_of(run))
            cached.streak_obs = run.meters.streak_obs
        if observation.obs <= run.meters.detected_obs:
            # Judged before, by another process or before this engine was rebuilt.
            _assess(run, cached, observation, batch, at=tx.at)
        else:
            _judge_observation(tx, run, cached, observation, batch)
            judged[observation.row.id] = observation.row
            run.meters.detected_obs = observation.obs
        cached.seen_obs = observation.obs
    return list(judged.values())


def _judge_observation(
    tx: RunTransaction,
    run: Run,
    cached: CachedEngine,
    observation: Observation,
    batch: DetectionBatch,
) -> None:
    """Count one new observation, ask the engine about it, and do what follows."""
    meters, row = run.meters, observation.row
    is_superseded = observation.obs <= meters.streak_obs
    if meters.unconfirmed is not None and not is_superseded and run.status == "running":
        # A new observation since the answer shows that the agent acted on it.
        directives.confirm_followed(tx, run, agent=row.agent)
    # Cost first: the ceilings that the engine checks must count this turn too.
    counting.count_turn(tx, run, row, observation.turn, batch.cost_totals)
    assessment = _assess(run, cached, observation, batch, at=tx.at)
    if run.project.budgets or run.lineage or run.project.organisation_budget:
        counters = batch.cost_totals.counters
        assessment = budgets.add_shared_signals(
            run, assessment, counters, batch.ancestors, agent=row.agent, at=tx.at
        )
    if meters.corrected and not is_superseded and not cached.engine.is_correcting:
        meters.corrected = []  # something new was done: it may have been the cure
    if meters.highest_score is None or assessment.stuck > meters.highest_score:
        meters.highest_score, meters.highest_score_seq = assessment.stuck, row.seq
    row.score, row.changed = round(assessment.score, 3), assessment.changed
    # A turn has one bar: its completion redraws what its proposal drew.
    place = len(meters.tape) - (meters.judged_turns - row.seq)
    if place >= 0:  # an older one has left the tape
        drawn = [*meters.tape[:place], [row.score, row.changed], *meters.tape[place + 1 :]]
        meters.tape = drawn[-TAPE_POINTS:]
    meters.judged_turns = max(meters.judged_turns, row.seq + 1)
    turn = TurnFacts(
        assessment=assessment,
        is_done=not observation.turn.is_proposed,
        is_superseded=is_superseded,
        completes="ralph" in cached.policy.detectors and ticks_complete(observation.turn),
    )
    parent = batch.ancestors.get(run.parent_id) if run.parent_id else None
    state = state_of(run, turn, seq=row.seq, parent=parent)
    # Tells whether people allowed everything that a signal rests on, and counts that as a hit.
    allows = partial(allowlist.is_allowlisted, run, hit_totals=batch.hit_totals, at=tx.at)
    follows = judge(state, turn, allows=allows)
    if follows:
        batch.questions.extend(
            effects.apply_effects(tx, run, follows, observation=observation, cached=cached)
        )


def state_of(run: Run, turn: TurnFacts, *, seq: int, parent: Run | None) -> RunState:
    """Return the state of a run that decides what follows from the turn numbered `seq`.

    The database is read only where it matters: for the open card if there is a trip to
    compare with it, for a correction while one is watched.
    """
    meters, assessment = run.meters, turn.assessment
    card = corrected_turns = None
    if assessment.trip is not None and run.open_decision is not None and not turn.is_superseded:
        card = run.decisions.get(pk=run.open_decision)
    if meters.recovering is not None and turn.is_done:
        watched = Autofix.objects.filter(pk=meters.recovering)
        corrected_turns = watched.values_list("turns_after", flat=True).get()
    control = Control.OUT_OF_REACH
    if run.status == Status.RUNNING:
        control = Control.FREE
    elif run.status in ON_HOLD:
        is_held = card is not None and not cards.is_paused_by_person(run, card)
        control = Control.HELD if is_held else Control.PAUSED
    elif run.source == Source.TELEMETRY and run.status in ENDED_BY_ITSELF:
        control = Control.ALREADY_ENDED
    asks = Card.NONE if run.open_decision is None else Card.ASKS
    if card is not None and not card.holds:
        # A card that holds nothing and comes from an escalation only tells people.
        signal = from_json(Signal, card.signal)
        asks = Card.INFORMS if signal.severity is Severity.ESCALATE else Card.ASKS
    # People are told of a ceiling once; after that it does not ask them again.
    crossings = budgets.new_crossings(run, assessment.signals) if assessment.signals else ()
    is_at_work = run.status not in ENDED | MUST_STOP
    is_forbidden_above = run.relation == "child" and parent and parent.status in MUST_STOP
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


class LinkedRuns:
    """The linked runs of a transaction, watched together under the policy of their root."""

    def __init__(self, tx: RunTransaction, batch: DetectionBatch) -> None:
        self._tx, self._batch = tx, batch
        runs = [run for run in tx.runs.values() if run.root is not None]
        self._judged = {run.id: run.meters.detected_obs for run in runs}
        get = batch.ancestors.get
        policies = {run.root: policy_of(get(run.root) or run) for run in runs if run.root}
        self._trees = {root: tree_engines.engine_of(root, one) for root, one in policies.items()}

    def judge(self, observations: dict[UUID, list[Observation]]) -> None:
        """Show the trees what this transaction judged, in order of arrival.

        A loop across linked runs opens a card on the run in which it closed.
        """
        tx, batch = self._tx, self._batch
        new = [
            (tx.runs[run_id], one)
            for run_id, judged in self._judged.items()
            for one in observations[run_id]
            if one.obs > judged
        ]
        for run, observation in sorted(new, key=lambda pair: (pair[1].row.id, pair[1].obs)):
            tree = self._trees[cast(UUID, run.root)]
            signal = tree.show_judged(observation.row, observation.obs, observation.turn)
            if signal is None or observation.obs <= run.meters.streak_obs:
                continue
            assessment = Assessment(
                seq=observation.row.seq, score=0.0, changed=False, signals=(signal,)
            )
            turn = TurnFacts(assessment=assessment)
            state = state_of(run, turn, seq=observation.row.seq, parent=None)
            # The turn's own follow-ups are done; if it ended its run, no new policy applies.
            state = replace(state, has_new_policy=False)
            allows = partial(allowlist.is_allowlisted, run, hit_totals=batch.hit_totals, at=tx.at)
            follows = judge(state, turn, allows=allows)
            if not follows:
                continue
            # A card on another of the loop's runs may already ask people about it.
            others = {UUID(name) for name, _ in signal.linked_turns}
            is_asked = any(
                tx.runs[one].open_decision is not None for one in others & tx.runs.keys()
            )
            elsewhere = Run.objects.filter(pk__in=others - tx.runs.keys())
            if not is_asked and not elsewhere.filter(open_decision__isnull=False).exists():
                cached = engine_cache.ENGINES[run.id]
                batch.questions.extend(
                    effects.apply_effects(tx, run, follows, observation=observation, cached=cached)
                )


def _assess(
    run: Run, cached: CachedEngine, observation: Observation, batch: DetectionBatch, *, at: datetime
) -> Assessment:
    """Return what the engine said ahead of the lock, or ask it now."""
    ahead, cached.ahead = cached.ahead, None
    if ahead is not None and ahead[0] == observation.obs:
        return ahead[1]
    counters = batch.cost_totals.counters
    spent = spent_by_tree(run, counters, at=at) if cached.reads_usage else None
    return cached.observe(observation, spent=spent)
