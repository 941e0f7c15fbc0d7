"""Count model calls that an agent's own telemetry reports, separately from its turns."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from uuid import UUID

from missioncontrol.compiled_queries import CompiledQuery
from missioncontrol.costs.counting import count_agent_use, switch_source
from missioncontrol.costs.ledger import JUDGE, SOURCES, Call, enter_call, is_best_source
from missioncontrol.costs.spending import SharedCounters
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import ModelCall, Run, TelemetryRecord, Turn
from missioncontrol.runs.rows import usage_of
from missioncontrol.runs.statements import update_columns

# Allows for two clocks, and for an exporter that collects calls before it sends them.
CLOCK_SLACK = timedelta(minutes=2)
# How many calls and tools of a run are matched at once.
MAX_MATCHED = 200


def count_calls(calls_of: Mapping[UUID, Sequence[Call]], *, at: datetime) -> int:
    """Count each of these calls once; return how many were new.

    A better source replaces what worse ones reported since its first call; reports of a worse
    source are left out. Never revives an ended run. Takes the runs' row locks.
    """
    if not calls_of:
        return 0
    with journal.lock_runs(calls_of, at=at) as tx:
        counters = SharedCounters((), at=at)
        new = [
            row
            for run in tx.runs.values()
            for row in _enter_new_calls(tx, run, calls_of[run.id], counters)
        ]
        ModelCall.objects.bulk_create(new)
        tx.before_commit.append(counters.write)
    return len(new)


def counted_call_ids(run_id: UUID, names: Collection[str]) -> set[str]:
    """Return those of these model calls that have been counted for a run."""
    found = ModelCall.objects.filter(run_id=run_id, call_id__in=names)
    return set(found.values_list("call_id", flat=True))


def call_ids_counted_elsewhere(run: Run, names: Collection[str]) -> set[str]:
    """Return those of these model calls that have been counted for other runs of its project."""
    found = ModelCall.objects.filter(project_id=run.project_id, call_id__in=names)
    return set(found.exclude(run=run).values_list("call_id", flat=True))


def _enter_new_calls(
    tx: RunTransaction, run: Run, calls: Sequence[Call], counters: SharedCounters
) -> Iterator[ModelCall]:
    # An export may hold spans and logs of the same calls: only the better source counts.
    best = max((call.source for call in calls), key=SOURCES.index)
    if is_best_source(run, best):
        from_best = [call for call in calls if call.source == best]
        made_at = [call.made_at for call in from_best if call.made_at is not None]
        began_at = [call.began_at for call in from_best if call.began_at is not None]
        since = None  # a call without a time may have been made at any time
        if len(made_at) == len(from_best):
            # By our clock: a source that reports a future time is at least that far ahead.
            since = min(made_at + began_at) - max(max(made_at) - tx.at, timedelta(0)) - CLOCK_SLACK
        switch_source(tx, run, source=best, since=since, counters=counters)
    # Read after the calls of worse sources are removed.
    known = counted_call_ids(run.id, {call.call_id for call in calls})
    for call in calls:
        # Worse sources are skipped from now on: both report the same calls.
        if not is_best_source(run, call.source) or call.call_id in known:
            continue
        # One export may contain a call twice.
        known.add(call.call_id)
        row, use = enter_call(tx, run, call)
        run.meters.model = row.model or run.meters.model
        counters.add(run, call.agent, use)
        count_agent_use(run, call.agent, use, obs=run.meters.last_obs)
        yield row


def attach_calls_to_turns(run_ids: Iterable[UUID], *, at: datetime) -> None:
    """Show each counted call's tokens and cost at the turn it led to, once that is known.

    Takes the row locks of the runs with such calls; a repeat changes nothing.
    """
    run_ids = set(run_ids)
    # Read without a lock first: only the runs with such calls are locked.
    waiting = {call.run_id for call in _UNATTACHED_CALLS.fetch(run_ids)}
    if not waiting:
        return
    with journal.lock_runs(waiting, at=at) as tx:
        for run in tx.runs.values():
            calls = _NEWEST_CALLS.fetch([run.id])
            unattached = [call for call in calls if call.turn_seq is None]
            if not unattached:
                continue
            by_key, by_call = _match_turns(run, unattached, calls)
            placed: list[ModelCall] = []
            turns: list[Turn] = []
            for call in unattached:
                turn = by_call.get(call.call_id) or by_key.get(call.turn_key)
                if turn is not None:
                    call.turn_seq = turn.seq
                    placed.append(call)
                    turns.append(set_turn_cost(turn, call))
            if placed:
                update_columns(ModelCall, ("turn_key", "turn_seq"), placed)
                update_columns(Turn, ("usage", "cost_usd", "call_id", "model"), turns)


_UNATTACHED_CALLS = CompiledQuery(
    lambda runs: (
        ModelCall.objects.filter(run_id__in=runs, turn_seq__isnull=True)
        .exclude(source=JUDGE)
        .only("run_id")
    )
)
_NEWEST_CALLS = CompiledQuery(
    lambda runs: (
        ModelCall.objects.filter(run_id__in=runs)
        .exclude(source=JUDGE)
        .order_by("-id")[:MAX_MATCHED]
    )
)


def _match_turns(
    run: Run, unattached: Sequence[ModelCall], calls: Sequence[ModelCall]
) -> tuple[dict[str | None, Turn], dict[str | None, Turn]]:
    """Return the turns that the unattached calls led to: by key, and by the call they name."""
    begun = [
        TimedStart(name=call.call_id, agent=call.agent, at=call.began_at)
        for call in calls
        if call.began_at is not None
    ]
    keys: dict[str, str] = {}
    if begun:
        # A call that does not name the tool it asked for is matched by when both began.
        records = TelemetryRecord.objects.filter(run=run, turn_key__isnull=False)
        began = records.filter(began_at__isnull=False).order_by("-id")
        rows = began.values_list("turn_key", "agent", "began_at")[:MAX_MATCHED]
        keys = match_calls_to_tools(
            begun,
            [
                TimedStart(name=str(key), agent=agent or run.agent, at=at)
                for key, agent, at in rows
                if at
            ],
        )
    for call in unattached:
        call.turn_key = call.turn_key or keys.get(call.call_id)
    turns = Turn.objects.filter(run=run)
    named = {call.turn_key for call in unattached if call.turn_key}
    by_key = {turn.key: turn for turn in turns.filter(key__in=named)}
    # Newest first: of several turns that name a call, the dict keeps the earliest.
    naming = turns.filter(call_id__in=[call.call_id for call in unattached]).order_by("-seq")
    return by_key, {turn.call_id: turn for turn in naming}


def set_turn_cost(turn: Turn, call: ModelCall) -> Turn:
    """Set a call's figures on the turn it led to; nothing is saved."""
    turn.usage, turn.cost_usd = asdict(usage_of(call)), call.cost_usd
    turn.call_id, turn.model = call.call_id, call.model or turn.model
    return turn


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedStart:
    """Something that an agent began, and when."""

    name: str
    agent: str
    at: datetime


def match_calls_to_tools(
    calls: Iterable[TimedStart], tools: Iterable[TimedStart]
) -> dict[str, str]:
    """Map each model call to the first tool that its answer asked for, by name.

    A tool belongs to its agent's latest call that began before it, because an answer is
    not complete when its first tool begins. Calls that asked for no tool are left out.
    """
    begun: dict[str, list[TimedStart]] = defaultdict(list)
    by_start = attrgetter("at", "name")
    for call in sorted(calls, key=by_start):
        # By agent: several agents of one run call models at the same time.
        begun[call.agent].append(call)
    found: dict[str, str] = {}
    for tool in sorted(tools, key=by_start):
        before = bisect_right(begun[tool.agent], tool.at, key=lambda call: call.at)
        if before:
            # An answer may ask for several tools: the call is shown at the first one's turn.
            found.setdefault(begun[tool.agent][before - 1].name, tool.name)
    return found
