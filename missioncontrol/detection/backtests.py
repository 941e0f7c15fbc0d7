"""What a policy would have done: recorded runs replayed under it and under today's.

A backtest runs in short slices, so that it never keeps a worker from an agent that
waits for its verdict. Results are stored run by run: if a slice is lost, the sweeper
continues from there.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, cast
from uuid import UUID

from django.db.models import QuerySet

from guard.formats.recording import Recording
from guard.policy import Policy
from guard.replay import replay
from missioncontrol.accounts.models import Project
from missioncontrol.decisions.models import Decision
from missioncontrol.detection.models import Backtest, BacktestRun
from missioncontrol.detection.policies import read_policy
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import observations_of
from missioncontrol.wire.policies import BacktestFlag, BacktestRow, BacktestRunRow, BacktestSide
from missioncontrol.wire.rows import from_json, row_of, to_json

MAX_RUNS = 500
# Turns replayed of one run; of a longer run, the first ones.
MAX_TURNS = 5000
SLICE_S = 0.5
# Backtests kept for a project; older ones are deleted.
MAX_KEPT = 50
STALLED_AFTER = timedelta(seconds=60)
MAX_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBacktest:
    """A proposed policy, and the recorded runs to test it on."""

    policy: dict[str, Any] | str
    since: datetime | None = None
    runs: tuple[UUID, ...] | None = None
    project: UUID | None = None


def request_backtest(project: Project, asked: NewBacktest, *, by: str, at: datetime) -> Backtest:
    """Create a backtest, which a task runs; each person has one at a time in a project.

    Raises:
        PolicyInvalid: names every wrong field of the proposed policy.
        InvalidRequest: neither `since` nor `runs` says what to replay.
        NotFound: one of the runs is not of this project.
    """
    mapping, _ = read_policy(asked.policy)
    since, runs = asked.since, asked.runs
    recorded = Run.objects.filter(project=project).order_by("-id")
    if runs is not None:
        chosen = list(recorded.filter(pk__in=runs).values_list("id", flat=True))
        if missing := set(runs) - set(chosen):
            raise NotFound(f"The run {min(missing)}")
    elif since is not None:
        chosen = list(recorded.filter(started_at__gte=since).values_list("id", flat=True))
    else:
        raise InvalidRequest("backtest: say `since` when, or which `runs`.", field="since")
    # Only a person's newest backtest counts: their unfinished ones end.
    earlier = Backtest.objects.filter(project=project).order_by("-id")
    earlier.filter(finished_at=None, by=by).update(
        status="failed", error="A newer backtest took its place.", finished_at=at
    )
    # One fewer than are kept, as the new one is added; other people may wait for unfinished ones.
    over = earlier.exclude(finished_at=None)
    too_old = list(over.values_list("pk", flat=True)[MAX_KEPT - 1 :])
    Backtest.objects.filter(pk__in=too_old).delete()
    return Backtest.objects.create(
        project=project,
        policy=mapping,
        today=project.policy,
        policy_version=project.policy_version,
        since=since,
        runs=[str(run_id) for run_id in chosen[:MAX_RUNS]],
        left_out=max(0, len(chosen) - MAX_RUNS),
        by=by,
        at=at,
        beat_at=at,
    )


def run_slice(backtest_id: UUID, *, at: datetime) -> bool:
    """Run one slice; True: there is more. Two workers may run the same slice at once."""
    open_now = Backtest.objects.filter(pk=backtest_id, status__in=("queued", "running"))
    # Conditional: a backtest that a newer one ended is not resumed.
    if not open_now.update(status="running", beat_at=at):
        return False
    backtest = Backtest.objects.get(pk=backtest_id)
    left = _remaining_runs(backtest)
    started = time.monotonic()
    for run_id in left:
        run = Run.objects.filter(pk=run_id, project_id=backtest.project_id).first()
        if run is None:  # erased since
            backtest.runs = [one for one in backtest.runs if one != run_id]
            backtest.save(update_fields=["runs"])
            continue
        rows = list(Turn.objects.filter(run=run, seq__lt=MAX_TURNS).order_by("seq"))
        # Both replay the same recording: any difference comes from the policies.
        proposed = _replay_flag(run, rows, backtest.policy)
        today = _replay_flag(run, rows, backtest.today)
        # Not created twice: two workers may have taken the same slice.
        BacktestRun.objects.get_or_create(
            backtest=backtest,
            run=run,
            defaults={"turns": len(rows), "proposed": proposed, "today": today},
        )
        # Checked after a run, not before: a slice replays at least one, however long it takes.
        if time.monotonic() - started > SLICE_S:
            break
    # Checked again: another worker may have done the rest meanwhile.
    if _remaining_runs(backtest):
        return True
    finish_backtest(backtest_id, "done", at=at)
    return False


def find_stalled(*, at: datetime) -> list[UUID]:
    """Return backtests whose task was lost; mark those lost too often as failed."""
    quiet = Backtest.objects.filter(
        status__in=("queued", "running"), beat_at__lt=at - STALLED_AFTER
    )
    again = []
    for backtest in quiet:
        # `beat_at` too, or the next sweep would queue it again before a worker takes it.
        Backtest.objects.filter(pk=backtest.pk).update(tries=backtest.tries + 1, beat_at=at)
        if backtest.tries + 1 >= MAX_TRIES:
            lost = "The worker was lost again and again."
            finish_backtest(backtest.id, "failed", at=at, error=lost)
        else:
            again.append(backtest.id)
    return again


def list_backtests(*, projects: Collection[UUID]) -> QuerySet[Backtest]:
    """Return backtests, newest first."""
    return Backtest.objects.filter(project_id__in=projects).order_by("-id")


def _remaining_runs(backtest: Backtest) -> list[str]:
    done = {str(run_id) for run_id in backtest.results.values_list("run_id", flat=True)}
    return [run_id for run_id in backtest.runs if run_id not in done]


def finish_backtest(backtest_id: UUID, status: str, *, at: datetime, error: str = "") -> None:
    """Mark a backtest as `done` or `failed`, unless it is finished; its page shows the error."""
    # Finished only once: a running slice must not mark as done what a newer backtest ended.
    Backtest.objects.filter(pk=backtest_id, finished_at=None).update(
        status=status, error=error[:2000], finished_at=at
    )


def _replay_flag(run: Run, rows: Sequence[Turn], rules: dict[str, Any]) -> dict[str, Any] | None:
    """Replay one run in the order in which it was observed; None: the policy does not flag it."""
    observations = [(obs, turn, row) for row in rows for obs, turn in observations_of(row)]
    observations.sort(key=lambda one: one[0])
    turns = tuple(turn for _, turn, _ in observations)
    recording = Recording(
        run=run.name, turns=turns, workspace=tuple(run.workspace), goal=run.goal or None
    )
    policy = Policy.from_mapping(rules).for_run(run.task_type)
    replayed = replay(recording, policy)
    if replayed.alarm is None or replayed.first_alarm is None:
        return None
    seqs = [row.seq for _, _, row in observations]
    alarm = seqs[replayed.first_alarm]
    stop = None if replayed.first_stop is None else seqs[replayed.first_stop]
    after = [row for row in rows if row.seq > alarm]
    costs = [row.cost_usd for row in after if row.cost_usd is not None]
    flag = BacktestFlag(
        alarm_turn=alarm,
        stop_turn=stop,
        detector=replayed.alarm.detector,
        kind=replayed.alarm.kind,
        summary=replayed.alarm.evidence.summary,
        turns_after=len(after),
        # No price known is not the same as no cost.
        cost_after_usd=sum(costs, Decimal(0)) if costs else None,
    )
    return cast(dict[str, Any], to_json(flag))


Label = Literal["loop", "healthy"]
# What an answer to a card says about its run; other answers say nothing.
LABELS: dict[str, Label] = {
    "terminate": "loop",
    "inject": "loop",
    "restart": "loop",
    "autofix": "loop",
    "continue": "healthy",
    "allowlist": "healthy",
    "dismissed": "healthy",
}


def backtest_summary(backtest: Backtest) -> BacktestRow:
    """Return a backtest as lists show it: without its runs."""
    return replace(backtest_row(backtest), runs=())


def backtest_row(backtest: Backtest) -> BacktestRow:
    """Return a backtest: both sides, and every run that either policy flags."""
    # By id, which is by time: people remember the newest runs.
    results = list(backtest.results.select_related("run").order_by("-run_id"))
    run_ids = [result.run_id for result in results]
    answered = Decision.objects.filter(run_id__in=run_ids, resolution__in=LABELS)
    labels: dict[UUID, Label] = {}
    for run_id, resolution in answered.values_list("run_id", "resolution"):
        if labels.get(run_id) != "loop":  # one loop among the answers decides
            labels[run_id] = LABELS[str(resolution)]
    shown = [_run_row(result, labels.get(result.run_id)) for result in results]
    return row_of(
        BacktestRow,
        backtest,
        total=len(backtest.runs),
        done=len(results),
        turns=sum(result.turns for result in results),
        error=backtest.error or None,
        today_policy=backtest.today,
        today_version=backtest.policy_version,
        loops=sum(one.label == "loop" for one in shown),
        healthy=sum(one.label == "healthy" for one in shown),
        proposed=_summarize_side([(one.proposed, one.label) for one in shown]),
        today=_summarize_side([(one.today, one.label) for one in shown]),
        # Runs that neither policy flags appear only in the sums: listing them would say nothing.
        runs=tuple(one for one in shown if one.proposed or one.today),
    )


def _run_row(result: BacktestRun, label: Label | None) -> BacktestRunRow:
    proposed = from_json(BacktestFlag, result.proposed) if result.proposed else None
    today = from_json(BacktestFlag, result.today) if result.today else None
    return BacktestRunRow(
        run=result.run_id,
        run_name=result.run.name,
        agent=result.run.agent,
        started_at=result.run.started_at,
        turns=result.turns,
        proposed=proposed,
        today=today,
        label=label,
        differs=_flag_identity(proposed) != _flag_identity(today),
    )


def _flag_identity(flag: BacktestFlag | None) -> tuple[Any, ...] | None:
    # What came after it follows from these three, and need not be compared.
    return None if flag is None else (flag.alarm_turn, flag.stop_turn, flag.detector)


def _summarize_side(judged: Sequence[tuple[BacktestFlag | None, Label | None]]) -> BacktestSide:
    labels = [label for flag, label in judged if flag is not None]
    raised = [flag for flag, _ in judged if flag is not None]
    costs = [flag.cost_after_usd for flag in raised if flag.cost_after_usd is not None]
    return BacktestSide(
        flagged=len(raised),
        stopped=sum(flag.stop_turn is not None for flag in raised),
        loops_found=labels.count("loop"),
        healthy_flagged=labels.count("healthy"),
        turns_after=sum(flag.turns_after for flag in raised),
        # No price known is not the same as no cost.
        cost_after_usd=sum(costs, Decimal(0)) if costs else None,
        detectors=dict(Counter(flag.detector for flag in raised)),
    )
