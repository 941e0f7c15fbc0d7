"""The engines this process keeps, one a run, and what each has not seen yet.

An engine is only a memory of the last turns: one that is not here is built again from
them, so that any process may judge any run.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q

from guard.budget import Budget
from guard.engine import Engine
from guard.errors import PolicyInvalid
from guard.policy import DEFAULT_POLICY, JudgeRule, Policy
from guard.turn import Turn
from missioncontrol.runs import rows
from missioncontrol.runs.models import Run
from missioncontrol.runs.models import Turn as TurnModel

logger = logging.getLogger(__name__)

ENGINES_KEPT = 2000
NEARLY = 8
"""Observations another worker judged since this one last saw the run."""


@dataclass(slots=True)
class Watch:
    """One run's engine in this process, and how far it has seen."""

    engine: Engine
    judge: JudgeRule
    policy: str
    seen_obs: int
    streak_obs: int


@dataclass(frozen=True, slots=True)
class Observation:
    """A turn as it was at its n-th observation."""

    obs: int
    turn: Turn
    row: TurnModel


KEPT: OrderedDict[UUID, Watch] = OrderedDict()
"""The newest used last."""


def policy_of(run: Run) -> Policy:
    """Return the policy in force for a run, its budget included."""
    ceilings = rows.ceilings_of(run)
    policy = _read_policy(run).for_run(run.task_type)
    return replace(policy, budget=Budget.from_mapping(ceilings)) if ceilings else policy


def _read_policy(run: Run) -> Policy:
    """A policy kept by an older release may name what is gone: the default stands in."""
    try:
        return Policy.from_mapping(rows.rules_of(run))
    except PolicyInvalid:
        logger.exception("the policy of run %s cannot be read; the default stands in", run.id)
        return DEFAULT_POLICY


def start_engine(policy: Policy) -> Engine:
    """Start an engine; it looks for suspicions where there is a model to ask."""
    return Engine(policy, suspects=settings.JUDGE is not None)


def forget(run_ids: Iterable[UUID]) -> None:
    """Drop engines that saw what was not committed."""
    for run_id in run_ids:
        KEPT.pop(run_id, None)


def start_afresh(watch: Watch, run: Run, *, upto: int) -> None:
    """Reset the engine when it passes the point where a person stepped in."""
    if watch.streak_obs < run.streak_obs < upto:
        watch.engine.reset()
        watch.streak_obs = run.streak_obs


def unseen(runs: list[Run]) -> dict[UUID, list[Observation]]:
    """Read what each run's engine has not seen, oldest first, in one query."""
    floors = {run.id: _floor(run) for run in runs}
    found: dict[UUID, list[Observation]] = {run.id: [] for run in runs}
    if not runs:
        return found
    wanted = _wanted(runs, floors)
    for row in TurnModel.objects.filter(wanted):
        found[row.run_id] += [seen for seen in _unfold(row) if seen.obs > floors[row.run_id]]
    for observations in found.values():
        observations.sort(key=lambda seen: seen.obs)
    return found


def _wanted(runs: list[Run], floors: dict[UUID, int]) -> Q:
    """Ask once for every run that is nearly up to date, and by name for the others."""
    lags = {run.id: run.detected_obs - floors[run.id] for run in runs}
    near = [run_id for run_id, lag in lags.items() if lag <= NEARLY]
    reach = max((lags[run_id] for run_id in near), default=0)
    wanted = Q(run_id__in=near, obs__gt=F("run__detected_obs") - reach)
    for run_id in lags.keys() - set(near):
        wanted |= Q(run_id=run_id, obs__gt=floors[run_id])
    return wanted


def _floor(run: Run) -> int:
    """Return the observation after which this process's engine must read on."""
    policy = _policy_key(run)
    watch = KEPT.get(run.id)
    if watch is None or watch.policy != policy or watch.seen_obs > run.detected_obs:
        watch = _fresh_watch(run, policy)
    KEPT[run.id] = watch
    KEPT.move_to_end(run.id)
    while len(KEPT) > ENGINES_KEPT:
        KEPT.popitem(last=False)
    return watch.seen_obs


def _fresh_watch(run: Run, policy: str) -> Watch:
    """Start an engine that rebuilds itself from the last turns before the watermark."""
    known = policy_of(run)
    remembered = (
        TurnModel.objects.filter(run=run, obs__lte=run.detected_obs)
        .order_by("-obs")
        .values_list("obs", flat=True)[: Engine.WINDOW]
    )
    oldest = min(remembered, default=run.detected_obs + 1)
    floor = min(oldest - 1, run.detected_obs)
    return Watch(
        engine=start_engine(known), judge=known.judge, policy=policy, seen_obs=floor,
        # It passes the point where a person stepped in, as the first engine did.
        streak_obs=min(floor, run.streak_obs),
    )  # fmt: skip


def _policy_key(run: Run) -> str:
    return json.dumps([rows.rules_of(run), rows.ceilings_of(run)], sort_keys=True)


def _unfold(row: TurnModel) -> Iterator[Observation]:
    """Show a row as the one or two observations it was."""
    for obs, turn in rows.unfold(row):
        yield Observation(obs, turn, row)
