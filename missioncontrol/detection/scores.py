"""How stuck runs were, by which a policy's line is set; and why a score changed at a turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from guard.detectors.score import Weight, evidence_limit, stuck_score
from guard.engine import Engine
from guard.policy import PRESETS
from guard.signals import Assessment, Kind, Signal
from missioncontrol.accounts.models import Project
from missioncontrol.decisions.models import Decision, Intervention
from missioncontrol.detection.engine_cache import corrections_of, policy_of, start_engine
from missioncontrol.detection.policies import asks_from
from missioncontrol.errors import ensure_found
from missioncontrol.runs import rows
from missioncontrol.runs.models import RECORDED, Run, Turn
from missioncontrol.wire.decisions import PERMISSION
from missioncontrol.wire.policies import PolicyPreset, PolicyScores, RunOutcome, RunScore
from missioncontrol.wire.runs import PartKind, ScoreMove, ScorePart

# The most earlier turns that a part names: the newest ones.
MAX_PART_TURNS = 3
# Scores are kept in thousandths and shown in hundredths.
_TOLERANCE = 0.005


def explain_move(run: Run, seq: int) -> ScoreMove:
    """Return what raised and lowered the score at a turn.

    Raises:
        NotFound: the run has no such turn.
    """
    turn = ensure_found(Turn.objects.filter(run=run, seq=seq).first(), "The turn")
    policy = policy_of(run)
    # Replayed, not stored: parts would be written for every turn, and read for very few.
    # If a call ended later, the engine had seen only its proposal.
    remembered = Turn.objects.filter(run=run, first_obs__lte=turn.obs).order_by("-obs")
    seen = [
        (obs, one)
        for row in remembered[: Engine.WINDOW]
        for obs, one in rows.observations_of(row)
        if obs <= turn.obs
    ]
    engine, assessment = start_engine(policy), None
    # The evidence before this turn, and at its start, after a reset by a person who stepped in.
    before = start = 0.0
    is_reset = run.meters.streak_obs >= turn.obs
    # In order of observation: between a call and its outcome there may be other turns.
    for obs, one in sorted(seen, key=lambda pair: pair[0]):
        before = _evidence_of(engine)
        if not is_reset and obs > run.meters.streak_obs > 0:
            engine.reset(corrected=corrections_of(run))
            is_reset = True
        start = _evidence_of(engine)
        assessment = engine.observe(one)
    limit = evidence_limit(policy)
    asks = asks_from(policy)
    earlier = Turn.objects.filter(run=run, seq__lt=seq)
    changed = earlier.filter(changed=True).order_by("-seq").values_list("seq", flat=True).first()
    parts = (
        tuple(_split_move(engine, seq, (before, start), assessment, limit)) if assessment else ()
    )
    now = _stuck_score_of(assessment.score, limit) if assessment else 0.0
    recorded = turn.score
    return ScoreMove(
        run=run.id,
        seq=seq,
        score=round(now, 3),
        before=round(now - sum(part.amount for part in parts), 3),
        asks_from=asks,
        parts=parts,
        changed_seq=changed,
        # The policy, or the engine itself, may have changed since: then the page says so.
        is_as_recorded=recorded is not None
        and abs(_stuck_score_of(recorded, limit) - now) < _TOLERANCE,
    )


def _evidence_of(engine: Engine) -> float:
    return engine.history.evidence if engine.history.steps else 0.0  # it has forgotten everything


def _stuck_score_of(score: float, limit: float) -> float:
    """Convert a turn's score (how near a card, in [0, 1]) to the stuck score that people see."""
    return stuck_score(score * limit)


def _split_move(
    engine: Engine,
    seq: int,
    evidence: tuple[float, float],
    assessment: Assessment,
    limit: float,
) -> Iterator[ScorePart]:
    """Split a move into what the turn brought, what it repeated, and what a rule counts."""
    # Each part begins where the one before it ended, so that they add up to the move.
    before, start = evidence
    history = engine.history
    place = next((i for i, step in enumerate(history.steps) if step.seq == seq), None)
    weight = history.weights[place] if place is not None else Weight(0.0, 1.0)
    reached = stuck_score(start)
    if start != before:
        yield _score_part("reset", stuck_score(before), reached)
    if weight.brings and start:
        yield _score_part(
            cast(PartKind, weight.brings), reached, reached := stuck_score(start * weight.keep)
        )
    if weight.repeats and place is not None:
        step, before_it = history.steps[place], history.steps[:place]
        # The turns with the same request; otherwise the most similar one.
        turns = [old.seq for old in before_it if old.request == step.request][-MAX_PART_TURNS:]
        alike = [old for old in before_it if old.is_call == step.is_call]
        if alike and not turns:
            turns = [max(alike, key=lambda old: (step.similarity(old), old.seq)).seq]
        earlier, reached = reached, stuck_score(start * weight.keep + weight.gain)
        yield _score_part(cast(PartKind, weight.repeats), earlier, reached, turns=turns)
    if abs(stuck_score(_evidence_of(engine)) - reached) >= _TOLERANCE:
        why: PartKind = "other" if history.steps else "reset"
        yield _score_part(why, reached, reached := stuck_score(_evidence_of(engine)))
    height = _stuck_score_of(assessment.score, limit)
    # A budget counts no attempts: it is named only if it trips and no other rule is as high.
    lifts = [one for one in assessment.signals if one.kind is not Kind.BUDGET or one.trips]
    rule = max(lifts, key=lambda one: (one.score, one.kind is not Kind.BUDGET), default=None)
    if rule is not None and height - reached >= _TOLERANCE:
        turns = [one for one in rule.turns if one != seq][-MAX_PART_TURNS:]
        yield _score_part("rule", reached, height, turns=turns, rule=rule)


def _score_part(
    kind: PartKind,
    before: float,
    after: float,
    turns: Sequence[int] = (),
    rule: Signal | None = None,
) -> ScorePart:
    return ScorePart(
        kind=kind,
        amount=round(after - before, 3),
        turns=tuple(turns),
        rule=rule.kind if rule else None,
        repeats=rule.evidence.repeats if rule else None,
        limit=rule.evidence.limit if rule else None,
    )


# The most runs in one answer; if there are more, the newest.
MAX_RUNS = 2000
# The presets that the page offers, from the one that asks least.
OFFERED_PRESETS = ("quiet", "balanced", "watchful")
# The lowest possible sensitivity: below this score a card came from a rule.
MIN_SENSITIVITY = 0.5
# The outcome of a run by the answer to its card; any other answer leaves it unanswered.
OUTCOMES: dict[str, RunOutcome] = {
    "terminate": "corrected",
    "inject": "corrected",
    "restart": "corrected",
    "autofix": "corrected",
    "finish": "corrected",
    "continue": "continued",
    "allowlist": "continued",
    "dismissed": "continued",
    "allow_budget": "continued",
}
STOPPING_ACTIONS = ("terminate", "inject", "restart")


def scores_of(project: Project, *, days: int, at: datetime) -> PolicyScores:
    """Return the highest score of each run that began in the last days, newest first."""
    since = at - timedelta(days=days)
    began = Run.objects.filter(~RECORDED, project=project, started_at__gte=since)
    runs = (
        began.order_by("-started_at", "id")
        .select_related("meters")
        .only("id", "name", "started_at", "meters__highest_score", "meters__highest_score_seq")[
            # One more than is shown: only then are the others counted.
            : MAX_RUNS + 1
        ]
    )
    in_span = {"run__project": project, "run__started_at__gte": since}
    asked: dict[UUID, list[tuple[str | None, str]]] = {}
    cards = Decision.objects.filter(**in_span).exclude(kind=PERMISSION).order_by("id")
    for run_id, resolution, detector in cards.values_list("run_id", "resolution", "detector"):
        asked.setdefault(run_id, []).append((resolution, detector))
    # Without a card: people stopped or corrected the run of their own accord.
    taps = Intervention.objects.filter(**in_span, decision=None, action__in=STOPPING_ACTIONS)
    stopped = set(taps.values_list("run_id", flat=True))
    return PolicyScores(
        project=project.id,
        days=days,
        since=since,
        runs=tuple(
            _run_score(run, asked.get(run.id, []), run.id in stopped) for run in runs[:MAX_RUNS]
        ),
        left_out=max(0, began.count() - MAX_RUNS) if len(runs) > MAX_RUNS else 0,
        presets=tuple(
            PolicyPreset(name=name, asks_from=asks_from(PRESETS[name])) for name in OFFERED_PRESETS
        ),
    )


def _run_score(run: Run, cards: list[tuple[str | None, str]], stopped: bool) -> RunScore:
    answers = {OUTCOMES.get(resolution or "", "unanswered") for resolution, _ in cards}
    # One correction makes the run a corrected one, whatever else was answered.
    ranked: tuple[RunOutcome, ...] = ("corrected", "continued", "unanswered")
    unasked: RunOutcome = "stopped" if stopped else "unasked"
    score = run.meters.highest_score
    # The first rule that asked whatever the line is; a card that the score opened has no rule.
    by_score = score is not None and score >= MIN_SENSITIVITY
    rules = (one for _, one in cards if one != "stall" or not by_score)
    return RunScore(
        run=run.id,
        run_name=run.name,
        started_at=run.started_at,
        score=score,
        turn=run.meters.highest_score_seq,
        outcome=next((outcome for outcome in ranked if outcome in answers), unasked),
        rule=next(rules, None),
    )
