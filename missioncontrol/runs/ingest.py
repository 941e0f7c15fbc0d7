"""Store turns as they arrive: number them, drop repeats, commit in groups.

`store` is one transaction over everything that arrived together. `Writer` is the
one thread of a web process that calls it (group commit); `offload_large` masks large bodies
in another thread.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db import close_old_connections

from guard.describe import action_class, headline
from guard.turn import Phase
from guard.turn import Turn as GuardTurn
from missioncontrol.accounts.selectors import KeyHolder
from missioncontrol.clock import now
from missioncontrol.compiled_queries import CompiledQuery
from missioncontrol.errors import MissionControlError, NotFound
from missioncontrol.proof import TURN_FIELDS, turn_digest
from missioncontrol.redaction import NO_REDACTION, Redaction
from missioncontrol.runs import journal, rows
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import Run, TelemetryRecord, Turn
from missioncontrol.runs.sanitizing import storable_moment, storable_turn
from missioncontrol.runs.statements import insert_rows, new_row, update_columns
from missioncontrol.wire.events import TurnCompleted, TurnRecorded
from missioncontrol.wire.runs import Presence

logger = logging.getLogger(__name__)
T = TypeVar("T")

BATCH_LIMIT = 64
# Bytes from which reading and masking a body takes longer than switching threads.
LARGE_BYTES = 64 * 1024
# Two threads: large bodies are rare, and more threads would only share the interpreter.
_large = ThreadPoolExecutor(2, thread_name_prefix="large")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Turns of one request, in the client's order.

    `presence` is what the client does after these turns, if it says so.
    """

    run: UUID
    project: UUID
    turns: Sequence[GuardTurn]
    presence: Presence | None = None
    is_sanitized: bool = False
    """Its turns are masked and storable already."""
    key: KeyHolder | None = None
    """The agent key that sent the turns; None: its access to the run was already checked."""
    redaction: Redaction = NO_REDACTION
    """What its project masks in addition to secrets."""
    telemetry: Sequence[TelemetryRecord] = ()
    """Records that describe only these turns: stored with them, or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestResult:
    """What became of an Arrival. `run` is the row as it was committed;
    `obs` the run's newest observation; `asked_seq` the turn a directive answers, `asked_obs` the
    observation of it that was reported, which a repeat reports again.
    """

    accepted: int
    duplicates: int
    last_seq: int
    obs: int
    asked_seq: int
    asked_obs: int | None
    run: Run


def store(arrivals: Sequence[Arrival], *, at: datetime) -> list[IngestResult | MissionControlError]:
    """Store what arrived together in one transaction, under the runs' row locks.

    Return the outcome of each arrival; if a person waits, of the first ones only.
    A refused arrival (no such run in its project) does not spoil the others.
    """
    arrivals = [sanitize(arrival) for arrival in arrivals]
    keys = [(arrival.run, turn.key) for arrival in arrivals for turn in arrival.turns if turn.key]
    # Read under the locks: a repeat then finds what another request has just stored.
    queries = [(_TURNS_BY_KEY, ([run for run, _ in keys], [key for _, key in keys]))]
    runs = {arrival.run for arrival in arrivals}
    with journal.lock_runs(runs, at=at, with_projects=False, extra_queries=queries) as tx:
        known = tx.extra_rows[0]
        batch = _TurnBatch(tx, {(turn.run_id, turn.key or ""): turn for turn in known})
        # Always take the first: people who tap continuously must not keep every turn out.
        outcomes = [batch.add_arrival(arrivals[0])]
        for arrival in arrivals[1:]:
            if journal.should_yield():
                break
            outcomes.append(batch.add_arrival(arrival))
        insert_rows(Turn, batch.new)
        # A turn that this batch both records and completes is inserted complete.
        fresh = {turn.id for turn in batch.new}
        stale = [turn for turn in batch.completed.values() if turn.id not in fresh]
        if stale:
            update_columns(Turn, COMPLETION_COLUMNS, stale)
        # Two requests may send the same record at once; the first is kept.
        insert_rows(TelemetryRecord, batch.telemetry, on_conflict="DO NOTHING")
    return outcomes


def number_recording(
    tx: journal.RunTransaction, run: Run, turns: Sequence[GuardTurn]
) -> list[tuple[GuardTurn, Turn]]:
    """Number the turns of a recording; return each new turn with the row to insert for it.

    The turns are clean and have their times; nothing is written yet.
    """
    batch, found = _TurnBatch(tx, {}), []
    for turn in turns:
        row, is_new = batch.add_turn(run, turn)
        if is_new:
            row.done_at = None if turn.is_proposed else turn.ts
            found.append((turn, row))
    return found


def sanitize(arrival: Arrival) -> Arrival:
    """Mask the turns and make them storable, once; large bodies before they reach `store`."""
    if arrival.is_sanitized:
        return arrival
    turns = [storable_turn(turn, arrival.redaction) for turn in arrival.turns]
    return replace(arrival, turns=turns, is_sanitized=True)


class _TurnBatch:
    """One transaction's new and completed turns."""

    def __init__(self, tx: journal.RunTransaction, known: dict[tuple[UUID, str], Turn]) -> None:
        self._tx = tx
        self._known = known
        self.new: list[Turn] = []
        self.completed: dict[UUID, Turn] = {}
        self.telemetry: list[TelemetryRecord] = []

    def add_arrival(self, arrival: Arrival) -> IngestResult | MissionControlError:
        run, key = self._tx.runs.get(arrival.run), arrival.key
        if run is None or run.project_id != arrival.project or run.imported:
            return NotFound("The run")
        if key is not None and not key.reaches(opened_by=run.opened_by, agent=run.agent):
            return NotFound("The run")
        before, asked_seq, duplicates = run.meters.last_obs, run.meters.last_seq, 0
        asked_obs = None
        first_seq = run.meters.last_seq + 1
        for turn in arrival.turns:
            row, is_new = self.add_turn(run, turn)
            duplicates += not is_new
            asked_seq, asked_obs = row.seq, row.first_obs if turn.is_proposed else row.obs
        if arrival.turns:
            run.meters.last_turn_at = self._tx.at
        # A repeat that an outbox sends late must not revive an ended run.
        if run.meters.last_obs > before:
            run.meters.presence = "working"
            if run.status in ENDED:
                if run.hold is not None:
                    run.hold.from_seq = first_seq
                # Held before detection runs, so that the answer to this request says so.
                self._tx.revive(run, reason="the agent spoke again")
        # After the turns, which set `working`: the client knows better whether it rests.
        if arrival.presence is not None and run.status not in ENDED:
            run.meters.presence = arrival.presence
        self.telemetry += arrival.telemetry
        return IngestResult(
            accepted=run.meters.last_obs - before,
            duplicates=duplicates,
            last_seq=run.meters.last_seq,
            obs=run.meters.last_obs,
            asked_seq=asked_seq,
            asked_obs=asked_obs,
            run=run,
        )

    def add_turn(self, run: Run, turn: GuardTurn) -> tuple[Turn, bool]:
        """Record a turn, or complete the one it completes; False: it is a repeat."""
        # Without a key a repeat looks like a second, equal turn: it counts as new.
        row = self._known.get((run.id, turn.key)) if turn.key else None
        if row is not None:
            if row.phase != Phase.PROPOSED or turn.is_proposed:
                return row, False
            run.meters.last_obs += 1
            row.obs = run.meters.last_obs
            _fill_outcome(row, turn, at=self._tx.at)
            self.completed[row.id] = row
            self._record_event(run, row, TurnCompleted)
            return row, True
        # Incremented under the run's row lock: no number is used twice or left out.
        run.meters.last_seq += 1
        run.meters.last_obs += 1
        row = new_row(
            Turn,
            run_id=run.id,
            seq=run.meters.last_seq,
            first_obs=run.meters.last_obs,
            obs=run.meters.last_obs,
            key=turn.key,
            agent=turn.agent or run.agent,
            role=turn.role,
            phase=turn.phase,
            tool=turn.tool,
            args=turn.args,
            action_class=action_class(turn),
            ts=storable_moment(turn.ts) or self._tx.at,
            nature=asdict(turn.nature) if turn.nature else None,
        )
        _fill_outcome(row, turn, at=self._tx.at)
        self.new.append(row)
        if turn.key:
            self._known[run.id, turn.key] = row
        run.meters.doing = headline(turn)[:200]
        run.meters.model = row.model or run.meters.model
        # A run that was opened without an agent's name takes that of its first turn.
        run.agent = run.agent or row.agent
        self._record_event(run, row, TurnRecorded)
        return row, True

    def _record_event(self, run: Run, row: Turn, kind: type[TurnRecorded | TurnCompleted]) -> None:
        self._tx.record(
            run,
            kind,
            by="agent",
            live=lambda: {"turn": rows.turn_row(row, project=run.project_id, brief=True)},
            turn_id=row.id,
            turn_seq=row.seq,
            digest=row.digest,
        )


# What a completion changes only if it says something of it.
KEPT_COLUMNS = ("content", "state", "call_id", "model", "provider", "cost_usd")
COMPLETION_COLUMNS = (
    *("obs", "phase", "result", "error", "files", "usage", "done_at", "digest"),
    *KEPT_COLUMNS,
)


# The filter matches any key in any run, and other runs rarely have the same keys. PostgreSQL would
# look for each key in each run, so there the query pairs each key with its run.
_TURNS_BY_KEY = CompiledQuery(
    lambda runs, keys: Turn.objects.filter(run_id__in=runs, key__in=keys),
    postgresql_from="""
        FROM unnest(%s::uuid[], %s::text[]) AS asked (run, key) CROSS JOIN LATERAL (
            SELECT * FROM runs_turn WHERE run_id = asked.run AND key = asked.key OFFSET 0
        ) runs_turn""",
)


def _fill_outcome(row: Turn, turn: GuardTurn, *, at: datetime) -> None:
    """Copy from a turn what is known at its end; keep what the proposal said."""
    row.phase, row.result, row.error = turn.phase, turn.result, turn.error
    for name in KEPT_COLUMNS:
        if (given := getattr(turn, name)) is not None:
            setattr(row, name, given)
    row.files = list(turn.files) or row.files
    if turn.usage:
        row.usage = {name: getattr(turn.usage, name) for name in rows.USAGE_COLUMNS}
    row.done_at = None if turn.is_proposed else at
    # Last: the digest covers everything set above.
    row.digest = turn_digest({name: getattr(row, name) for name in TURN_FIELDS})


async def offload_large(work: Callable[[], T], *, size: int) -> T:
    """Do the work for a small body here, for a large one in a separate thread."""
    if size < LARGE_BYTES:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_large, work)


class Writer:
    """The group-commit thread of a web process.

    Requests queue an Arrival; the thread takes all that are waiting, stores them in one
    transaction and answers each. It starts at first use and lives as long as the process.
    """

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[Arrival, asyncio.Future[Any]]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def put(self, arrival: Arrival, *, size: int = 0) -> IngestResult:
        """Store an arrival and return what became of it, once it is committed.

        Args:
            arrival: The turns.
            size: Bytes of the body they came in.

        Raises:
            NotFound: the run does not exist in the arrival's project.
        """
        # One thread stores for all: masking a large body there would delay every small one.
        if size >= LARGE_BYTES:
            arrival = await offload_large(lambda: sanitize(arrival), size=size)
        if self._thread is None or not self._thread.is_alive():
            # A daemon: it waits for arrivals forever and must not keep the process from ending.
            self._thread = threading.Thread(target=self._store_forever, name="ingest", daemon=True)
            self._thread.start()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.put((arrival, future))
        outcome = await future
        if isinstance(outcome, Exception):
            raise outcome
        stored: IngestResult = outcome
        return stored

    def _store_forever(self) -> None:
        while True:
            waiting = [self._queue.get()]
            # Take everything that is waiting by now: one commit serves it all.
            while len(waiting) < BATCH_LIMIT and not self._queue.empty():
                waiting.append(self._queue.get())
            self._store_batch(waiting)

    def _store_batch(self, waiting: list[tuple[Arrival, asyncio.Future[Any]]]) -> None:
        try:
            close_old_connections()
            outcomes: Sequence[Any] = store([arrival for arrival, _ in waiting], at=now())
        except Exception as fault:
            if len(waiting) > 1:  # one arrival must not spoil the others
                for one in waiting:
                    self._store_batch([one])
                return
            logger.exception("storing an arrival failed")
            outcomes = [fault]
        stored, left = waiting[: len(outcomes)], waiting[len(outcomes) :]

        def resolve() -> None:
            for (_, future), outcome in zip(stored, outcomes, strict=True):
                # The client may have disconnected meanwhile.
                if not future.cancelled():
                    future.set_result(outcome)

        # A future belongs to its event loop: this thread must not set it.
        waiting[0][1].get_loop().call_soon_threadsafe(resolve)
        if left:  # the transaction ended early for a person
            self._store_batch(left)
