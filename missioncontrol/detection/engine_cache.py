"""The engines this process keeps, one for each run, and what each has not seen yet.

An engine is only a memory of the last turns: one that is not here is rebuilt from
them, so that any process may judge any run.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q

from guard.budget import Budget, Spent
from guard.detectors import detector_named
from guard.engine import Correction, Engine
from guard.errors import PolicyInvalid
from guard.policy import DEFAULT_POLICY, Policy
from guard.signals import Assessment
from guard.turn import Turn
from missioncontrol import memory
from missioncontrol.compiled_queries import CompiledQuery
from missioncontrol.costs.counting import with_counted_calls
from missioncontrol.runs import rows
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import Run
from missioncontrol.runs.models import Turn as TurnModel

logger = logging.getLogger(__name__)

# Engines kept however little memory there is; a full one takes 0.3 to 0.4 MB.
MIN_ENGINES = 200
# The most observations behind the watermark at which a run counts as nearly up to date.
NEARLY_UP_TO_DATE = 8


@dataclass(slots=True)
class CachedEngine:
    """One run's engine in this process, and how far it has seen."""

    engine: Engine
    policy: Policy
    rules: tuple[Any, ...]
    """What its policy and ceilings were read from: a change needs a new engine."""
    seen_obs: int
    streak_obs: int
    reads_usage: bool
    """One of its rules needs the run's usage, which is known only under the run's lock."""
    ahead: tuple[int, Assessment] | None = None
    """The observation after `seen_obs` and its assessment, if made before the run was locked."""

    def observe(self, observation: Observation, *, spent: Spent | None = None) -> Assessment:
        """Ask the engine; a turn on which it fails is skipped, or the run would never be judged."""
        try:
            return self.engine.observe(observation.turn, spent=spent)
        except Exception:
            logger.exception(
                "the engine failed on turn %s of %s", observation.row.seq, observation.row.run_id
            )
            self.engine = start_engine(self.policy)
            return Assessment(seq=observation.row.seq, score=0.0, changed=True)


@dataclass(frozen=True, slots=True)
class Observation:
    """A turn as it was at its n-th observation."""

    obs: int
    turn: Turn
    row: TurnModel


# Ordered by use, the most recently used last.
ENGINES: OrderedDict[UUID, CachedEngine] = OrderedDict()


def policy_of(run: Run) -> Policy:
    """Return the policy in force for a run, its budget included."""
    ceilings = rows.ceilings_of(run)
    try:
        policy = Policy.from_mapping(rows.rules_of(run))
    except PolicyInvalid:  # stored by an older release, it names what no longer exists
        logger.exception("the policy of run %s cannot be read; the default stands in", run.id)
        policy = DEFAULT_POLICY
    policy = policy.for_run(run.task_type)
    return replace(policy, budget=Budget.from_mapping(ceilings)) if ceilings else policy


def start_engine(policy: Policy) -> Engine:
    """Start an engine; it looks for suspicions only if there is a model to ask."""
    return Engine(policy, suspects=settings.JUDGE is not None)


def drop_engines(run_ids: Iterable[UUID]) -> None:
    """Drop engines that saw what was not committed."""
    for run_id in run_ids:
        ENGINES.pop(run_id, None)


def corrections_of(run: Run) -> list[Correction]:
    """Read the corrections of a run; the corrected call is the newest of a correction's turns."""
    if not run.meters.corrected:
        return []
    turns_of = {turns[-1]: tuple(turns) for turns in run.meters.corrected}
    calls = TurnModel.objects.filter(run=run, seq__in=turns_of, tool__isnull=False)
    return [Correction(call=rows.guard_turn(call), turns=turns_of[call.seq]) for call in calls]


def look_ahead(run_ids: Collection[UUID]) -> list[Observation]:
    """Read what is new and show each engine its next observation, before the runs are locked.

    An agent that waits for its verdict has no further observation, so that the lock is held
    only for what follows from this one. What the engine says does not depend on what others
    may write meanwhile; an engine for which it does (`policy_reads_usage`) is asked under the lock.
    """
    new = list(_to_observations(_UNJUDGED_TURNS.fetch(run_ids)))
    for observation in new:
        cached = ENGINES.get(observation.row.run_id)
        # It was asked already if its run was left out for a person: it is not asked twice.
        if cached is None or cached.ahead is not None or cached.reads_usage:
            continue
        # A person who steps in later does so after this turn: their reset begins after it.
        is_next = observation.obs == cached.seen_obs + 1
        if is_next and cached.streak_obs == cast(Any, observation.row).streak_obs:
            cached.ahead = observation.obs, cached.observe(observation)
    return new


def unseen_observations(
    runs: list[Run], ahead: Iterable[Observation] = ()
) -> dict[UUID, list[Observation]]:
    """Return what each run's engine has not seen, oldest first.

    What was read `ahead` of the lock is valid if nothing has happened to the run since;
    the rest is read in one query.
    """
    evict_engines(memory.of_process())
    lags: dict[UUID, int] = {}
    for run in runs:
        meters, cached = run.meters, ENGINES.get(run.id)
        # Compared as stored: the resulting policy is read only for a fresh engine (`policy_of`).
        given = run.policy or run.project.policy, run.project.budget, run.budget, run.task_type
        rules = *given, meters.final_ceilings, run.status in ENDED
        # An engine ahead of the watermark saw what was not committed.
        lag = meters.detected_obs - (cached.seen_obs if cached else 0)
        # One that lags by more than a new engine reads is replaced as well.
        if cached is None or not 0 <= lag <= Engine.WINDOW or cached.rules != rules:
            cached = ENGINES[run.id] = _rebuild_engine(run, rules)
        # The least recently used are dropped first (`evict_engines`).
        ENGINES.move_to_end(run.id)
        lags[run.id] = meters.detected_obs - cached.seen_obs
    # Whatever is stored, counted or answered has an event; what telemetry adds to a turn has
    # none, and is not written here.
    events = {run.id: run.meters.event_seq for run in runs if not lags[run.id]}
    known = [one for one in ahead if events.get(one.row.run_id) == cast(Any, one.row).event_seq]
    unread = lags.keys() - {observation.row.run_id for observation in known}
    unread_lags = {run_id: lags[run_id] for run_id in unread}
    read = _to_observations(_read_unseen(unread_lags)) if unread_lags else ()
    found: dict[UUID, list[Observation]] = {run.id: [] for run in runs}
    for observation in [*known, *read]:
        if observation.obs > ENGINES[observation.row.run_id].seen_obs:
            found[observation.row.run_id].append(observation)
    # A row may be two observations, a proposal and its outcome, with those of others in between.
    for observations in found.values():
        observations.sort(key=lambda observation: observation.obs)
    return found


def _to_observations(read: Iterable[TurnModel]) -> Iterator[Observation]:
    return (Observation(obs, turn, row) for row in read for obs, turn in rows.observations_of(row))


def _read_unseen(lags: dict[UUID, int]) -> Iterable[TurnModel]:
    """Read what these runs' engines have not seen; `lags`: how far each is behind its watermark."""
    if not any(lags.values()):
        return _UNJUDGED_TURNS.fetch(lags.keys())
    # One condition for all runs that are nearly up to date, and one for each other run.
    near = [run_id for run_id, lag in lags.items() if lag <= NEARLY_UP_TO_DATE]
    reach = max((lags[run_id] for run_id in near), default=0)
    wanted = Q(run_id__in=near, obs__gt=F("run__meters__detected_obs") - reach)
    for run_id in lags.keys() - set(near):
        wanted |= Q(run_id=run_id, obs__gt=ENGINES[run_id].seen_obs)
    return with_counted_calls(TurnModel.objects.filter(wanted))


# What no process has judged: nothing else needs reading if this process judged the runs last.
_UNJUDGED_TURNS = CompiledQuery(
    lambda runs: with_counted_calls(
        TurnModel.objects.filter(run_id__in=runs, obs__gt=F("run__meters__detected_obs"))
    ).annotate(event_seq=F("run__meters__event_seq"), streak_obs=F("run__meters__streak_obs")),
    # PostgreSQL estimates that a third of a run's turns are new, and would read them all. OFFSET
    # keeps it to this join order: from the watermark on, by the index.
    postgresql_from="""
        FROM runs_runmeters CROSS JOIN LATERAL (
            SELECT * FROM runs_turn
            WHERE run_id = runs_runmeters.run_id AND obs > runs_runmeters.detected_obs OFFSET 0
        ) runs_turn
        WHERE runs_runmeters.run_id = ANY(%s)""",
)


def evict_engines(held: int) -> None:
    """Drop the least recently used engines whenever this process, which holds `held` bytes,
    has grown beyond its share again.

    The process reuses their memory before it grows: it does not return freed memory.
    """
    global _peak_memory  # noqa: PLW0603 - of this process
    if held <= max(settings.DETECTOR_MEMORY, _peak_memory):
        return
    _peak_memory = held
    for _ in range(min(1 + len(ENGINES) // 50, len(ENGINES) - MIN_ENGINES)):
        ENGINES.popitem(last=False)


_peak_memory = 0


def _rebuild_engine(run: Run, rules: tuple[Any, ...]) -> CachedEngine:
    """Start an engine that rebuilds itself from the last turns before the watermark."""
    policy = policy_of(run)
    remembered = (
        TurnModel.objects.filter(run=run, obs__lte=run.meters.detected_obs)
        .order_by("-obs")
        .values_list("obs", flat=True)[: Engine.WINDOW]
    )
    oldest = min(remembered, default=run.meters.detected_obs + 1)
    floor = min(oldest - 1, run.meters.detected_obs)
    engine = start_engine(policy)
    if floor >= run.meters.streak_obs:  # the correction came before the turns it reads again
        engine.reset(corrected=corrections_of(run))
    return CachedEngine(
        engine=engine,
        policy=policy,
        rules=rules,
        seen_obs=floor,
        # It passes the point at which a person stepped in, as the first engine did.
        streak_obs=min(floor, run.meters.streak_obs),
        reads_usage=policy_reads_usage(policy),
    )


def policy_reads_usage(policy: Policy) -> bool:
    """Tell whether a rule of this policy needs the run's usage."""
    tables = [*policy.tool.values(), *policy.agent.values()]
    named = [policy.detectors, *(table.get("detectors") or () for table in tables)]
    asks = any(detector_named(name).reads_usage for names in named for name in names)
    return policy.budget is not None or asks
