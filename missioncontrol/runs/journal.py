"""The only writer of run state, and the hash chain of events.

`lock_runs(run_ids)` locks the run rows in id order, yields them as a `RunTransaction`, and
at the end writes the changed columns and the new events in one transaction;
after the commit it publishes. A row's hash covers its header, the previous hash
and a salted digest of its payload.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar, cast
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import OuterRef, QuerySet, Subquery

from guard.wire import Mode
from missioncontrol import broadcast
from missioncontrol.accounts.models import Installation, Project
from missioncontrol.compiled_queries import CompiledQuery, ValueLists, read_together
from missioncontrol.errors import NotFound
from missioncontrol.proof import canonical, payload_digest, row_hash
from missioncontrol.runs import lifecycle, rows
from missioncontrol.runs.lifecycle import ENDED, NEVER_HELD, Move, Status
from missioncontrol.runs.models import LONG_COLUMNS, Hold, JournalRow, Run, RunMeters
from missioncontrol.runs.publishing import LiveFields, Publication
from missioncontrol.runs.statements import insert_rows, new_row, update_changed, update_columns
from missioncontrol.sqlite.write_lock import with_priority
from missioncontrol.wire.events import AccessChanged, EventHead, PolicyChanged, RunMoved
from missioncontrol.wire.rows import to_json

E = TypeVar("E", bound=EventHead)

HEAD_FIELDS = frozenset(field.name for field in fields(EventHead))
# Meters whose changes are sent to screens.
SHOWN_METERS = frozenset(
    {*rows.METER_FIELDS, *rows.USAGE_COLUMNS.values()}
    # A repeated turn changes this alone, and is no news.
    - {"last_turn_at"}
    | {"last_seq", "usage_source", "tool_calls", "tape"}
)
# The others describe a run; `runs.services` writes them.
STATE_COLUMNS = (
    "agent",
    "policy_version",
    "budget",
    "status",
    "mode",
    "version",
    "reason",
    "open_decision",
    "ended_at",
    "parked",
    "source",
)
METER_COLUMNS = tuple(
    field.attname for field in RunMeters._meta.concrete_fields if not field.primary_key
)
LIST_COLUMNS = tuple(
    field.attname
    for field in RunMeters._meta.concrete_fields
    if isinstance(field.get_default(), list)
)
HOLD_COLUMNS = tuple(field.attname for field in Hold._meta.concrete_fields)


class RunTransaction:
    """The locked runs of one transaction, and what is written about them."""

    def __init__(
        self, runs: dict[UUID, Run], *, at: datetime, extra_rows: Sequence[list[Any]] = ()
    ) -> None:
        self.runs = runs
        self.at = at
        self.extra_rows = extra_rows
        """The rows of each of the `extra_queries` that `lock_runs` was given."""
        self._runs_before = {run.id: vars(run).copy() for run in runs.values()}
        self._meters_before = {run.id: _copy_meters(run.meters) for run in runs.values()}
        self._holds_before = {run.id: vars(run.hold).copy() for run in runs.values() if run.hold}
        self._raised: set[UUID] = set()
        self._rows: list[JournalRow] = []
        self._events: list[tuple[EventHead, LiveFields | None]] = []
        self.before_commit: list[Callable[[], None]] = []
        """Functions that write rows shared by many transactions. Called right before the commit,
        so that these rows are locked only briefly and no other lock is taken after them."""
        self.is_silent = False
        """Publish nothing: what is written happened elsewhere, long ago."""

    def run(self, run_id: UUID) -> Run:
        """Return a locked run.

        Raises:
            NotFound: there is no such run.
        """
        try:
            return self.runs[run_id]
        except KeyError:
            raise NotFound("The run") from None

    def add_run(self, run: Run) -> Run:
        """Add a run that was created inside this transaction."""
        self.runs[run.id] = run
        self._runs_before[run.id] = vars(run).copy()
        self._meters_before[run.id] = _copy_meters(run.meters)
        return run

    def raise_version(self, run: Run) -> None:
        """Increase the run's version, at most once in a transaction."""
        if run.id not in self._raised:
            self._raised.add(run.id)
            run.version += 1

    def move(self, run: Run, move: Move, *, by: str, reason: str = "") -> bool:
        """Apply a move of the lifecycle table; return whether the status changed."""
        before = Status(run.status)
        now = lifecycle.next_status(before, move)
        if before is now:
            return False
        if now in NEVER_HELD:
            self.lift_hold(run)
        run.status = now
        if now in ENDED and run.hold is not None:
            # The hold outlives the session: nobody waits in it, and its time limit starts again
            # when the run returns.
            run.hold.stands = True
            run.hold.waiting_since = run.hold.waiting_at = None
            run.hold.gave_up_at = run.hold.expires_at = None
        run.ended_at = self.at if now in ENDED else None
        if now not in ENDED:
            run.meters.final_ceilings = None
        elif before not in ENDED:  # a ceiling set later never applied to it
            run.meters.final_ceilings = rows.shared_ceilings(run)
        if lifecycle.raises_version(before, now):
            self.raise_version(run)
        self.record_state(run, by=by, reason=reason or move)
        return True

    def lift_hold(self, run: Run) -> None:
        """End the run's hold, if it has one; the time held does not count as run time."""
        if run.hold is not None:
            run.meters.held_seconds += (self.at - run.hold.since).total_seconds()
            run.hold = None

    def revive(self, run: Run, *, reason: str) -> None:
        """Bring back a run that is heard of again, into the hold that outlived its session, if
        there is one.
        """
        if run.status in ENDED and run.hold is not None:
            self.move(run, Move.RETURN, by="agent", reason="the agent is back in its hold")
        else:
            self.move(run, Move.SPEAK, by="agent", reason=reason)

    def record_state(self, run: Run, *, by: str, reason: str, **answer: Any) -> RunMoved:
        """Record the run's state; `answer` gives further fields of `RunMoved`."""
        return self.record(
            run,
            RunMoved,
            by=by,
            reason=reason,
            mode=Mode(run.mode),
            ended_at=run.ended_at,
            hold_stands=rows.hold_outlives_session(run),
            **answer,
        )

    def record(
        self,
        run: Run,
        event_type: type[E],
        /,
        *,
        by: str,
        live: LiveFields | None = None,
        **payload: Any,
    ) -> E:
        """Append one event to the run's chain.

        `live` returns extra fields for the run's own sockets, such as a whole turn; it is called
        only if somebody listens. The journal keeps the event without them.
        """
        # Under the run's lock: the chain has no gap and no duplicate number.
        run.meters.event_seq += 1
        event = event_type(
            run=run.id,
            project=run.project_id,
            seq=run.meters.event_seq,
            at=self.at,
            by=by,
            version=run.version,
            status=cast(Any, run.status),
            **payload,
        )
        row = _journal_row(event, previous=run.meters.head)
        run.meters.head = row.hash
        self._rows.append(row)
        self._events.append((event, live))
        return event

    def flush(self) -> None:
        """Write changed columns and new events; publish once it is committed."""
        woken: list[UUID] = []
        metered: list[tuple[Run, dict[str, Any]]] = []
        states: list[tuple[Run, tuple[str, ...]]] = []
        meters: list[tuple[RunMeters, tuple[str, ...]]] = []
        for run in self.runs.values():
            changed = _changed_columns(run, STATE_COLUMNS, self._runs_before[run.id])
            moved = _changed_columns(run.meters, METER_COLUMNS, self._meters_before[run.id])
            states.append((run, changed))
            meters.append((run.meters, moved))
            # A request that waits for a run waits for a version above the one it knows.
            if "version" in changed:
                woken.append(run.id)
            # A new status sends the meters too: a killed process may not have published its own.
            if "status" in changed or not SHOWN_METERS.isdisjoint(moved):
                metered.append((run, self._meters_before[run.id]))
        update_changed(Run, states)
        update_changed(RunMeters, meters)
        held = {run.id: run.hold for run in self.runs.values() if run.hold}
        if lifted := self._holds_before.keys() - held.keys():
            Hold.objects.filter(pk__in=lifted).delete()
        insert_rows(
            Hold, [hold for run_id, hold in held.items() if run_id not in self._holds_before]
        )
        # One update each, of the changed columns only: `waiting_at` is also written elsewhere.
        for run_id in self._holds_before.keys() & held.keys():
            if changed := _changed_columns(held[run_id], HOLD_COLUMNS, self._holds_before[run_id]):
                update_columns(Hold, changed, [held[run_id]])
        insert_rows(JournalRow, self._rows)
        for write in self.before_commit:
            write()
        # Wake waiting requests before telling the screens: an agent stands still meanwhile.
        if woken and not self.is_silent:
            transaction.on_commit(lambda: broadcast.wake(woken))
        if (metered or self._events) and not self.is_silent:
            publication = Publication(at=self.at, events=self._events, metered=metered)
            transaction.on_commit(publication.send)


@contextmanager
def lock_runs(
    run_ids: Iterable[UUID],
    *,
    at: datetime,
    with_projects: bool = True,
    priority: bool = False,
    extra_queries: Sequence[tuple[CompiledQuery[Any], ValueLists]] = (),
) -> Iterator[RunTransaction]:
    """Lock runs in id order and yield them; write and publish at the end.

    `with_projects`: read their projects' rules too; storing turns does not need them.
    `priority`: a person waits for this; it goes before the machine's own writes.
    `extra_queries`: queries to run once the runs are locked, for `RunTransaction.extra_rows`.
    """
    ids = set(run_ids)
    with with_priority(priority), transaction.atomic():
        locks = _RUNS_WITH_RULES if with_projects else _RUNS
        locked, *found = read_together((locks, [ids]), *extra_queries)
        may_be_held = {run.id for run in locked if run.status not in NEVER_HELD}
        holds = {hold.run_id: hold for hold in _HOLDS.fetch(may_be_held)}
        for run in locked:
            run.hold = holds.get(run.id)
        if with_projects:
            projects = _projects_of(locked)
            for run in locked:
                run.project = projects[run.project_id]
        tx = RunTransaction({run.id: run for run in locked}, at=at, extra_rows=found)
        yield tx
        tx.flush()


@contextmanager
def lock_run(run_id: UUID, *, at: datetime) -> Iterator[tuple[RunTransaction, Run]]:
    """Lock one run and yield it, as `lock_runs` does."""
    with lock_runs([run_id], at=at) as tx:
        yield tx, tx.run(run_id)


def _locked_runs(ids: Collection[UUID]) -> QuerySet[Run]:
    return (
        # FOR NO KEY UPDATE: rows that refer to a run may be inserted while it is locked.
        Run.objects.select_for_update(of=("self", "meters"), no_key=True)
        .select_related("meters")
        .defer(*LONG_COLUMNS)
        .filter(pk__in=ids, meters__isnull=False)  # an inner join: an outer one cannot be locked
        .order_by("pk")
    )


_RUNS = CompiledQuery(_locked_runs)
_RUNS_WITH_RULES = CompiledQuery(
    # The subqueries return values from before the wait for the lock, if there was one.
    lambda ids: _locked_runs(ids).annotate(
        project_head=Subquery(Project.objects.filter(pk=OuterRef("project")).values("head")),
        event_seq_before=Subquery(RunMeters.objects.filter(run=OuterRef("pk")).values("event_seq")),
    )
)
_HOLDS = CompiledQuery(lambda ids: Hold.objects.filter(run_id__in=ids))
_INSTALLATION = Installation.objects.filter(pk=Installation.ONLY)
_PROJECTS = CompiledQuery(
    # Read with the project, so that a verdict needs no further query, ceiling or not.
    lambda ids: Project.objects.filter(pk__in=ids).annotate(  # type: ignore[no-redef]
        organisation_budget=Subquery(_INSTALLATION.values("day_budget")),
        organisation_extra=Subquery(_INSTALLATION.values("day_extra")),
    )
)
# Projects as this process last read them. Each change of a project's rules, or of those of all
# projects, is an event in the project's chain: while its head is the same, the rules are too.
_project_cache: dict[UUID, Project] = {}


def _projects_of(runs: Iterable[Run]) -> dict[UUID, Project]:
    """Return the projects of locked runs; read only those that may have changed."""
    found: dict[UUID, Project] = {}
    unknown: set[UUID] = set()
    for run in runs:
        read, known = cast(Any, run), _project_cache.get(run.project_id)
        # A change of ceilings records an event in each open run, under the run's lock.
        waited = read.event_seq_before != run.meters.event_seq
        if waited or known is None or known.head != read.project_head:
            unknown.add(run.project_id)
        elif run.project_id not in found:
            found[run.project_id] = known
    for project in _PROJECTS.fetch(unknown):
        found[project.id] = _project_cache[project.id] = project
    for project_id, project in found.items():
        # A copy, as the transaction may change it; faster than `copy.copy`.
        found[project_id] = own = Project.__new__(Project)
        own.__dict__.update(project.__dict__)
    return found


def should_yield() -> bool:
    """Tell whether a person waits for this transaction, which should then end early.

    Never on PostgreSQL, which locks single rows: a tap on another run does not wait.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]
    return database.vendor == "sqlite" and bool(database.is_person_waiting())


@contextmanager
def lock_project(project_id: UUID, *, priority: bool = False) -> Iterator[Project]:
    """Lock a project's row; always before the runs that its rules concern."""
    with with_priority(priority), transaction.atomic():
        yield Project.objects.select_for_update(no_key=True).get(pk=project_id)


def record_for_project(
    project_id: UUID, event_type: type[E], /, *, by: str, at: datetime, **payload: Any
) -> E:
    """Append one event to the project's own chain, under the project's row lock.

    The lock is FOR NO KEY UPDATE: runs' events refer to the project at their commit,
    and the anchoring task holds this lock while it waits for the runs' locks.
    """
    with transaction.atomic():
        project = Project.objects.select_for_update(no_key=True).get(pk=project_id)
        project.event_seq += 1
        event = event_type(
            run=None,
            project=project.id,
            seq=project.event_seq,
            at=at,
            by=by,
            version=0,
            status=None,
            **payload,
        )
        row = _journal_row(event, previous=project.head)
        project.head = row.hash
        project.save(update_fields=["event_seq", "head"])
        row.save(force_insert=True)
        transaction.on_commit(Publication(at=at, events=[(event, None)]).send)
    return event


def record_access(project_id: UUID, what: str, *, by: str, at: datetime) -> None:
    """Append to the project's chain, in words, who has access to it from now on."""
    record_for_project(project_id, AccessChanged, by=by, at=at, what=what)


def record_change(
    project_id: UUID, what: str, before: Any, after: Any, *, by: str, at: datetime, **more: Any
) -> None:
    """Append to the project's chain that one of its rules was changed."""
    record_for_project(
        project_id, PolicyChanged, by=by, at=at, what=what, before=before, after=after, **more
    )


def _journal_row(event: EventHead, *, previous: str) -> JournalRow:
    dumped = to_json(event)
    kind = dumped.pop("type")
    # Without the header, which is hashed from its own columns (`rows.header`).
    payload = canonical({name: dumped[name] for name in dumped.keys() - HEAD_FIELDS})
    # With a salt, an erased payload cannot be guessed from the digest that stays.
    salt = secrets.token_hex(16)
    row = new_row(
        JournalRow,
        project_id=event.project,
        run_id=event.run,
        seq=event.seq,
        type=kind,
        at=event.at,
        by=event.by,
        version=event.version,
        status=event.status,
        payload=payload,
        salt=salt,
        digest=payload_digest(payload, salt),
        previous=previous,
    )
    row.hash = row_hash(rows.header(row), previous=previous, digest=row.digest)
    return row


def _copy_meters(meters: RunMeters) -> dict[str, Any]:
    """Copy the columns, and the lists in them, so that a list that grows in place is noticed."""
    copied = vars(meters).copy()
    copied.update((name, list(copied[name])) for name in LIST_COLUMNS)
    return copied


def _changed_columns(row: Any, names: tuple[str, ...], before: dict[str, Any]) -> tuple[str, ...]:
    now = row.__dict__
    return tuple(
        # Identity first: an untouched value is the same object and need not be compared.
        [name for name in names if now[name] is not before[name] and now[name] != before[name]]
    )
