"""The data's way as code: what was stored becomes what we think and do.

`detect(runs)` locks the run rows in id order, takes the observations above each
run's watermark, and for each one: counts its money, asks the engine, decides,
acts. It moves the watermark, commits, then publishes. Called twice it does
nothing twice; whoever may call it: a task, the sweeper, a web process (DESIGN 4).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from guard.policy import Policy, Response, decide
from guard.signals import Assessment, Kind, Signal
from guard.wire import Mode
from missioncontrol.notify import services as notices
from missioncontrol.oversight import (
    allowlist,
    budgets,
    cards,
    circles,
    costs,
    endings,
    ladder,
    nudges,
    questions,
    receipts,
    watches,
)
from missioncontrol.oversight.circles import Circles
from missioncontrol.oversight.costs import Till
from missioncontrol.oversight.directives import Standing, standing_of
from missioncontrol.oversight.models import Autofix
from missioncontrol.oversight.tree_budgets import Above, spent_by_tree
from missioncontrol.oversight.watches import Observation, Watch, policy_of
from missioncontrol.runs import journal, kin, rows
from missioncontrol.runs.journal import Book
from missioncontrol.runs.lifecycle import ENDED, FORBIDDEN, Status
from missioncontrol.runs.models import TAPE_POINTS, Run
from missioncontrol.runs.models import Turn as TurnModel
from missioncontrol.wire.events import DetectionRaised

logger = logging.getLogger(__name__)

RECOVERY_TURNS = 5


@dataclass(frozen=True, slots=True)
class Sitting:
    """What one transaction counts across its runs; written last, in a fixed order."""

    till: Till
    hits: allowlist.Hits
    above: Above
    questions: list[UUID] = field(default_factory=list)

    def write(self, *, at: datetime) -> None:
        """Write it; no lock is taken after these."""
        self.hits.write(at=at)
        self.till.write()


@dataclass(frozen=True, slots=True)
class Detected:
    """Where each run stands now, and the cards and questions that want a judge."""

    standings: dict[UUID, Standing]
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
        with journal.writing(wanted, at=at) as book:
            cards_before = {run.id: run.open_decision for run in book.runs.values()}
            observations = watches.unseen(list(book.runs.values()))
            seen = [(run, one.turn) for run, found in observations.items() for one in found]
            runs = book.runs.values()
            sitting = Sitting(Till(seen, runs, at=at), allowlist.Hits(), Above(runs))
            trees = circles.Circles(runs, _policies_of_trees(runs, sitting.above))
            news = {run.id: run.detected_obs for run in runs}
            judged, left = _oversee_all(book, observations, sitting)
            for run, one in _in_order(book, observations, after=news, without=left):
                _look_across(book, run, one, trees, sitting)
            journal.update_columns(
                TurnModel, ("similarity", "changed", "detector", "cost_usd"), judged
            )
            sitting.write(at=at)
            standings = {run.id: standing_of(run) for run in runs if run.id not in left}
    except BaseException:
        watches.forget(wanted)
        circles.forget(wanted)
        raise
    opened = [
        run.open_decision for run in book.runs.values()
        if run.open_decision is not None and run.open_decision != cards_before[run.id]
    ]  # fmt: skip
    controlled = [
        run.id for run in book.runs.values() if run.controller_id or run.controller_url
    ]  # fmt: skip
    return Detected(standings, opened, sitting.questions, controlled, left)


def _oversee_all(
    book: Book, observations: dict[UUID, list[Observation]], sitting: Sitting
) -> tuple[list[TurnModel], set[UUID]]:
    """Oversee one run after the other, until a person waits; tell which were left.

    Linked ones come first and stay together: their tree sees turns in order of arrival.
    """
    judged: list[TurnModel] = []
    left = set(book.runs)
    for run in sorted(book.runs.values(), key=lambda run: run.root is None):
        if run.root is None and len(left) < len(book.runs) and journal.should_yield():
            break
        judged += _oversee(book, run, observations[run.id], sitting)
        left.discard(run.id)
    return judged, left


def _oversee(
    book: Book, run: Run, observations: list[Observation], sitting: Sitting
) -> list[TurnModel]:
    """Show a run's engine what it has not seen; return the turns judged now."""
    watch = watches.KEPT[run.id]
    judged: dict[UUID, TurnModel] = {}
    for seen in observations:
        watches.start_afresh(watch, run, upto=seen.obs)
        if seen.obs <= run.detected_obs:
            _observe(run, watch, seen, sitting, at=book.at)
        else:
            _judge(book, run, watch, seen, sitting)
            judged[seen.row.id] = seen.row
            run.detected_obs = seen.obs
        watch.seen_obs = seen.obs
    return list(judged.values())


def _judge(book: Book, run: Run, watch: Watch, seen: Observation, sitting: Sitting) -> None:
    """Look at one new observation."""
    if run.unconfirmed is not None:
        _confirm_answer(book, run, seen)
    costs.count(book, run, seen.row, seen.turn, sitting.till)
    assessment = budgets.weigh_shared(
        run, _observe(run, watch, seen, sitting, at=book.at), sitting.till.spending,
        sitting.above, agent=seen.row.agent, at=book.at,
    )  # fmt: skip
    _draw_tape(run, seen, assessment)
    _follow_autofix(book, run, assessment, seen)
    endings.stop_if_finished(book, run, seq=seen.row.seq)
    _end_with_parent(book, run, sitting.above)
    if seen.obs <= run.streak_obs:
        return
    _follow_policy(book, run)
    _note_quietly(book, run, seen, assessment, sitting)
    is_news = budgets.tell(book, run, assessment.signals)
    trip = assessment.trip if run.finish_seq is None else None
    if trip is not None and (run.open_decision is None or ladder.may_answer(run, trip)):
        _answer_trip(book, run, watch, seen, assessment, trip, sitting, is_news=is_news)
    elif assessment.suspicion is not None and questions.may_ask(run):
        _suspect(book, run, watch, seen, assessment.suspicion, sitting)


def _policies_of_trees(runs: Iterable[Run], above: Above) -> dict[UUID, Policy]:
    """A tree is watched by the rules of its root."""
    return {run.root: policy_of(above.named(run.root) or run) for run in runs if run.root}


def _in_order(
    book: Book,
    observations: dict[UUID, list[Observation]],
    *,
    after: dict[UUID, int],
    without: Collection[UUID],
) -> list[tuple[Run, Observation]]:
    """Give what was judged now of the runs that are linked, in order of arrival."""
    new = [
        (run, one)
        for run in book.runs.values() if run.root is not None and run.id not in without
        for one in observations[run.id] if one.obs > after[run.id]
    ]  # fmt: skip
    return sorted(new, key=lambda pair: (pair[1].row.id, pair[1].obs))


def _look_across(book: Book, run: Run, seen: Observation, trees: Circles, sitting: Sitting) -> None:
    """Look for a loop that goes round over linked runs; it is carded here, where it closed."""
    signal = trees.look(run, seen.row, seen.obs, seen.turn)
    if signal is None or seen.obs <= run.streak_obs or run.finish_seq is not None:
        return
    if ladder.may_answer(run, signal) and not _waits_elsewhere(book, signal):
        assessment = Assessment(seq=seen.row.seq, similarity=0.0, changed=False, signals=(signal,))
        watch = watches.KEPT[run.id]
        _answer_trip(book, run, watch, seen, assessment, signal, sitting, is_news=True)


def _waits_elsewhere(book: Book, signal: Signal) -> bool:
    """A person is asked about this loop already, on the card of another of its runs."""
    others = {UUID(run) for run, _ in signal.kin}
    here = [book.runs[one] for one in others if one in book.runs]
    if any(one.open_decision is not None for one in here):
        return True
    elsewhere = Run.objects.filter(pk__in=others - book.runs.keys())
    return elsewhere.filter(open_decision__isnull=False).exists()


def _suspect(
    book: Book, run: Run, watch: Watch, seen: Observation, suspicion: Signal, sitting: Sitting
) -> None:
    """Have the judge asked about what no rule can tell."""
    if allowlist.is_listed(run, suspicion, sitting.hits, at=book.at):
        return
    question = questions.put_question(book, run, suspicion, row=seen.row, rule=watch.judge)
    if question is not None:
        sitting.questions.append(question.id)


def _follow_policy(book: Book, run: Run) -> None:
    """A run follows its project's policy as it changes, and names the version."""
    version = run.project.policy_version
    if run.policy is None and run.policy_version != version:
        run.policy_version = version
        book.moved(run, by="policy", reason=f"policy version {version}", policy_version=version)


def _note_quietly(
    book: Book, run: Run, seen: Observation, assessment: Assessment, sitting: Sitting
) -> None:
    """Nudge the agent and note what a shadow saw; with a card open, people are asked."""
    if run.open_decision is not None or run.status != Status.RUNNING:
        return
    for signal in nudges.quiet_signals(assessment):
        if not allowlist.is_listed(run, signal, sitting.hits, at=book.at):
            nudges.note(book, run, signal, row=seen.row)


def _observe(
    run: Run, watch: Watch, seen: Observation, sitting: Sitting, *, at: datetime
) -> Assessment:
    """Ask the engine; a turn it fails on is passed over, or no run would be judged."""
    try:
        spent = spent_by_tree(run, sitting.till.spending, at=at)
        return watch.engine.observe(seen.turn, spent=spent)
    except Exception:
        logger.exception("the engine failed on turn %s of run %s", seen.row.seq, run.id)
        watch.engine = watches.start_engine(policy_of(run))
        return Assessment(seq=seen.row.seq, similarity=0.0, changed=True)


def _answer_trip(
    book: Book, run: Run, watch: Watch, seen: Observation, assessment: Assessment, trip: Signal,
    sitting: Sitting, *, is_news: bool,
) -> None:  # fmt: skip
    """Do what the run's mode says of a trip, unless people allowed that call."""
    seen.row.detector = trip.detector
    if not ladder.may_answer(run, trip):
        return  # it was ended, or a person holds it: their answer comes first
    if allowlist.is_listed(run, trip, sitting.hits, at=book.at):
        _raise_detection(book, run, trip, seen, outcome="allowed")
        _forget_streak(run, watch, seen)
        return
    fix_failed = run.recovering is not None
    cards.judge_autofix(book, run, tripped=True)
    response = decide(assessment, Mode(run.mode), card_open=False, fix_failed=fix_failed)
    if response is Response.WARN:
        _warn(book, run, watch, seen, trip, is_news=is_news)
    else:
        _raise_detection(book, run, trip, seen, outcome=OUTCOMES.get(response, "card"))
        _intervene(book, run, seen, trip, response)


OUTCOMES = {Response.STOP: "stopped", Response.ESCALATE: "escalated"}
"""What the journal calls a response; every other one opens a card."""


def _warn(
    book: Book, run: Run, watch: Watch, seen: Observation, trip: Signal, *, is_news: bool
) -> None:
    """Tell people; the agent goes on, and its count begins again."""
    if trip.kind is Kind.BUDGET and not is_news:
        return  # a ceiling stays reached: it was said once, until it is raised
    _raise_detection(book, run, trip, seen, outcome="warned")
    notices.warn(run, kind=trip.kind, summary=trip.evidence.summary, at=book.at)
    _forget_streak(run, watch, seen)


def _intervene(book: Book, run: Run, seen: Observation, trip: Signal, response: Response) -> None:
    """End the run, ask it for another strategy, or open a card."""
    judged = policy_of(run).judged
    if response is Response.STOP:
        ladder.end_by_policy(book, run, trip)
    elif response is Response.ESCALATE:
        ladder.escalate(book, run, trip, row=seen.row, judged=judged)
    else:
        cards.close_card(book, run, resolution="superseded", by="guard")
        holds = response is not Response.FLAG and rows.capabilities_of(run).hold
        cards.open_card(book, run, trip, holds=holds, judged=judged)


def _forget_streak(run: Run, watch: Watch, seen: Observation) -> None:
    watch.engine.reset()
    run.streak_obs = watch.streak_obs = seen.obs
    run.kin_forgotten = kin.observed(run)


def _raise_detection(
    book: Book, run: Run, trip: Signal, seen: Observation, *, outcome: str
) -> None:
    book.record(
        run, DetectionRaised, by="guard", detector=trip.detector, kind=trip.kind,
        turn_seq=seen.row.seq, turns=trip.turns, summary=trip.evidence.summary, outcome=outcome,
    )  # fmt: skip


def _end_with_parent(book: Book, run: Run, above: Above) -> None:
    """Stop a run whose agent was started by one that has been stopped."""
    parent = above.named(run.parent_id) if run.relation == "child" and run.parent_id else None
    if parent is None or parent.status not in FORBIDDEN:
        return
    if run.status not in ENDED | FORBIDDEN and rows.capabilities_of(run).can_end:
        cards.close_card(book, run, resolution="ended", by="guard")
        reason = f'The run that started it, "{parent.name}", was stopped.'
        endings.stop(book, run, by="guard", reason=reason)


def _confirm_answer(book: Book, run: Run, seen: Observation) -> None:
    """A turn that is new since the answer shows that the agent acted on it."""
    if seen.obs > run.streak_obs and run.status == "running":
        receipts.confirm(book, run)


def _follow_autofix(book: Book, run: Run, assessment: Assessment, seen: Observation) -> None:
    if run.recovering is None or seen.turn.is_proposed:
        return
    fix = Autofix.objects.get(pk=run.recovering)
    fix.turns_after += 1
    fix.news = fix.news or assessment.changed
    fix.save(update_fields=["turns_after", "news"])
    if fix.turns_after >= RECOVERY_TURNS and assessment.trip is None:
        cards.judge_autofix(book, run)


def _draw_tape(run: Run, seen: Observation, assessment: Assessment) -> None:
    """A turn has one bar: its completion redraws what its proposal drew."""
    point = [round(assessment.similarity, 3), assessment.changed]
    seen.row.similarity, seen.row.changed = point[0], assessment.changed
    if seen.row.seq >= run.judged_turns:
        run.tape = [*run.tape, point][-TAPE_POINTS:]
        run.judged_turns = seen.row.seq + 1
        return
    place = len(run.tape) - (run.judged_turns - seen.row.seq)
    if place >= 0:
        run.tape = [*run.tape[:place], point, *run.tape[place + 1 :]]
