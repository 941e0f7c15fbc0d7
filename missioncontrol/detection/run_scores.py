"""How stuck a project's runs were, and what people did: what a policy's line is set by."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from guard.policy.presets import PRESETS
from missioncontrol.accounts.models import Project
from missioncontrol.decisions.models import Decision, Intervention
from missioncontrol.detection.policies import asks_from
from missioncontrol.runs.models import Run
from missioncontrol.wire.decisions import PERMISSION
from missioncontrol.wire.policies import PolicyPreset, PolicyScores, RunOutcome, RunScore

MOST_RUNS = 2000
"""In one answer; of more, the newest."""
OFFERED = ("quiet", "balanced", "watchful")
"""The presets that the page offers, from the one that asks least."""
LOWEST_LINE = 0.5
"""No sensitivity is lower: below it a card was a rule's."""
ANSWERS: dict[str, RunOutcome] = {
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
"""What the answer to a card makes of its run; any other leaves it unanswered."""
STOPS = ("terminate", "inject", "restart")


def scores_of(project: Project, *, days: int, at: datetime) -> PolicyScores:
    """Return the highest score of each run that began in the last days, newest first."""
    since = at - timedelta(days=days)
    began = Run.objects.filter(project=project, started_at__gte=since, imported=False)
    runs = (
        began.order_by("-started_at", "id")
        .select_related("meters")
        .only("id", "name", "started_at", "meters__highest_score", "meters__highest_score_seq")[
            : MOST_RUNS + 1
        ]
    )
    cards, stopped = _cards(project, since), _stopped_unasked(project, since)
    return PolicyScores(
        project=project.id,
        days=days,
        since=since,
        runs=tuple(_row(run, cards.get(run.id, []), run.id in stopped) for run in runs[:MOST_RUNS]),
        left_out=max(0, began.count() - MOST_RUNS) if len(runs) > MOST_RUNS else 0,
        presets=tuple(
            PolicyPreset(name=name, asks_from=asks_from(PRESETS[name])) for name in OFFERED
        ),
    )


def _row(run: Run, cards: list[tuple[str | None, str]], stopped: bool) -> RunScore:
    return RunScore(
        run=run.id,
        run_name=run.name,
        started_at=run.started_at,
        score=run.meters.highest_score,
        turn=run.meters.highest_score_seq,
        outcome=_outcome(cards, stopped),
        rule=_rule((detector for _, detector in cards), run.meters.highest_score),
    )


def _outcome(cards: list[tuple[str | None, str]], stopped: bool) -> RunOutcome:
    """Say what people did in all: one correction makes it a run that was corrected."""
    if not cards:
        return "stopped" if stopped else "unasked"
    answers = {ANSWERS.get(resolution or "", "unanswered") for resolution, _ in cards}
    ranked: tuple[RunOutcome, ...] = ("corrected", "continued", "unanswered")
    return next(outcome for outcome in ranked if outcome in answers)


def _rule(detectors: Iterable[str], score: float | None) -> str | None:
    """Name the first rule that asked whatever the line; what the score asked is no rule."""
    by_score = score is not None and score >= LOWEST_LINE
    return next((one for one in detectors if one != "stall" or not by_score), None)


def _cards(project: Project, since: datetime) -> dict[UUID, list[tuple[str | None, str]]]:
    """Give the answer to each card of the runs that began since then, and who asked it."""
    found: dict[UUID, list[tuple[str | None, str]]] = {}
    runs = Run.objects.filter(project=project, started_at__gte=since)
    cards = Decision.objects.filter(run__in=runs).exclude(kind=PERMISSION)
    told = cards.order_by("id").values_list("run_id", "resolution", "detector")
    for run, resolution, detector in told:
        found.setdefault(run, []).append((resolution, detector))
    return found


def _stopped_unasked(project: Project, since: datetime) -> set[UUID]:
    """Find the runs that people stopped or corrected of their own accord."""
    taps = Intervention.objects.filter(
        run__project=project, run__started_at__gte=since, decision=None, action__in=STOPS
    )
    return set(taps.values_list("run_id", flat=True))
