"""How stuck a project's runs were, and what people did: what a policy's line is set by."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from guard.policy import PRESETS
from missioncontrol.accounts.models import Project
from missioncontrol.decisions.models import Decision, Intervention
from missioncontrol.detection.policies import asks_from
from missioncontrol.runs.models import RECORDED, Run
from missioncontrol.wire.decisions import PERMISSION
from missioncontrol.wire.policies import PolicyPreset, PolicyScores, RunOutcome, RunScore

# In one answer; of more, the newest.
MOST_RUNS = 2000
# The presets that the page offers, from the one that asks least.
OFFERED = ("quiet", "balanced", "watchful")
# No sensitivity is lower: below it a card was a rule's.
LOWEST_LINE = 0.5
# What the answer to a card makes of its run; any other leaves it unanswered.
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
STOPS = ("terminate", "inject", "restart")


def scores_of(project: Project, *, days: int, at: datetime) -> PolicyScores:
    """Return the highest score of each run that began in the last days, newest first."""
    since = at - timedelta(days=days)
    began = Run.objects.filter(~RECORDED, project=project, started_at__gte=since)
    runs = (
        began.order_by("-started_at", "id")
        .select_related("meters")
        .only("id", "name", "started_at", "meters__highest_score", "meters__highest_score_seq")[
            # One more than is shown: only then are the others counted.
            : MOST_RUNS + 1
        ]
    )
    in_span = {"run__project": project, "run__started_at__gte": since}
    asked: dict[UUID, list[tuple[str | None, str]]] = {}
    cards = Decision.objects.filter(**in_span).exclude(kind=PERMISSION).order_by("id")
    for run_id, resolution, detector in cards.values_list("run_id", "resolution", "detector"):
        asked.setdefault(run_id, []).append((resolution, detector))
    # Without a card: people stopped or corrected the run of their own accord.
    taps = Intervention.objects.filter(**in_span, decision=None, action__in=STOPS)
    stopped = set(taps.values_list("run_id", flat=True))
    return PolicyScores(
        project=project.id,
        days=days,
        since=since,
        runs=tuple(_row(run, asked.get(run.id, []), run.id in stopped) for run in runs[:MOST_RUNS]),
        left_out=max(0, began.count() - MOST_RUNS) if len(runs) > MOST_RUNS else 0,
        presets=tuple(
            PolicyPreset(name=name, asks_from=asks_from(PRESETS[name])) for name in OFFERED
        ),
    )


def _row(run: Run, cards: list[tuple[str | None, str]], stopped: bool) -> RunScore:
    answers = {ANSWERS.get(resolution or "", "unanswered") for resolution, _ in cards}
    # One correction makes it a run that was corrected, whatever else was answered.
    ranked: tuple[RunOutcome, ...] = ("corrected", "continued", "unanswered")
    unasked: RunOutcome = "stopped" if stopped else "unasked"
    score = run.meters.highest_score
    # The first rule that asked whatever the line; what the score asked is no rule.
    by_score = score is not None and score >= LOWEST_LINE
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
