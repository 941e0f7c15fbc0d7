"""The one writer of run state, and the chain of what happened.

`writing(run_ids)` locks the run rows in id order, lends them out as a Book, and
at the end writes the changed columns and the new events in one transaction;
after the commit it publishes. A row's hash covers its header, the hash before it
and a salted digest of its payload (DESIGN 9).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, cast
from uuid import UUID

from django.db import connection, transaction
from pydantic import TypeAdapter

from guard.wire import Mode
from missioncontrol import broadcast
from missioncontrol.accounts.models import Project
from missioncontrol.errors import NotFound
from missioncontrol.runs import lifecycle, rows
from missioncontrol.runs.lifecycle import ENDED, Move
from missioncontrol.runs.models import JournalRow, Run
from missioncontrol.sqlite.turnstile import going_ahead
from missioncontrol.wire.events import EventHead, RunMoved
from missioncontrol.wire.runs import Meters

E = TypeVar("E", bound=EventHead)

HEAD_FIELDS = frozenset(field.name for field in fields(EventHead))
METER_COLUMNS = frozenset(
    {
        "last_seq",
        "cost_usd",
        "judge_cost_usd",
        "unpriced_calls",
        "usage_source",
        "tool_calls",
        "doing",
        "model",
        "judged_turns",
        "tape",
    }
    | set(rows.USAGE_COLUMNS.values())
)
DESCRIPTION = frozenset(
    {
        "id", "project_id", "key", "name", "goal", "task_type", "policy", "capabilities",
        "metadata", "workspace", "parent_id", "parent_key", "relation", "root", "lineage",
        "controller_id", "controller_url", "started_at",
    }
)  # fmt: skip
"""What a run is, told once; written by `runs.services`, never compared."""
STATE_NAMES = tuple(
    field.attname for field in Run._meta.concrete_fields if field.attname not in DESCRIPTION
)
PLAIN_TYPES = frozenset(
    {"CharField", "TextField", "IntegerField", "BigIntegerField", "FloatField", "BooleanField"}
)
"""Columns whose Python value is what every database driver takes."""
LONG_COLUMNS = ("goal", "metadata", "workspace")


class Book:
    """The locked runs of one transaction, and what is written about them."""

    def __init__(self, runs: dict[UUID, Run], *, at: datetime) -> None:
        self.runs = runs
        self.at = at
        self._before = {run.id: _columns(run) for run in runs.values()}
        self._bumped: set[UUID] = set()
        self._rows: list[JournalRow] = []
        self._events: dict[UUID, list[EventHead]] = defaultdict(list)
        self._live: dict[UUID, list[EventHead]] = defaultdict(list)

    def run(self, run_id: UUID) -> Run:
        """Return a locked run.

        Raises:
            NotFound: there is no such run.
        """
        try:
            return self.runs[run_id]
        except KeyError:
            raise NotFound("The run") from None

    def adopt(self, run: Run) -> Run:
        """Take in a run that was created inside this transaction."""
        self.runs[run.id] = run
        self._before[run.id] = _columns(run)
        return run

    def bump(self, run: Run) -> None:
        """Move the run's version, once a transaction."""
        if run.id not in self._bumped:
            self._bumped.add(run.id)
            run.version += 1

    def move(self, run: Run, move: Move, *, by: str, reason: str = "") -> bool:
        """Take one step of the lifecycle table; tell whether the status changed."""
        before, now = run.life, lifecycle.after(run.life, move)
        if before is now:
            return False
        run.status = now
        run.ended_at = self.at if now in ENDED else None
        if lifecycle.moves_version(before, now):
            self.bump(run)
        self.moved(run, by=by, reason=reason or move)
        return True

    def moved(self, run: Run, *, by: str, reason: str, **answer: Any) -> RunMoved:
        """Record where the run stands, and where a person's answer is."""
        return self.record(
            run,
            RunMoved,
            by=by,
            reason=reason,
            mode=Mode(run.mode),
            ended_at=run.ended_at,
            **answer,
        )

    def record(
        self,
        run: Run,
        event_type: type[E],
        /,
        *,
        by: str,
        live: dict[str, Any] | None = None,
        **payload: Any,
    ) -> E:
        """Append one event to the run's chain.

        `live` adds fields to the frame that the run's own sockets receive, such as
        a whole turn; the journal keeps the event without them.
        """
        run.event_seq += 1
        event = event_type(
            run=run.id, project=run.project_id, seq=run.event_seq, at=self.at, by=by,
            version=run.version, status=cast(Any, run.status), **payload,
        )  # fmt: skip
        row = _row_of(event, previous=run.head)
        run.head = row.hash
        self._rows.append(row)
        self._events[run.project_id].append(event)
        self._live[run.id].append(replace(event, **live) if live else event)
        return event

    def close(self) -> None:
        """Write everything; publish once it is committed."""
        woken = [run.id for run in self.runs.values() if self._version_moved(run)]
        metered = [run for run in self.runs.values() if self._meters_moved(run)]
        self._save_runs()
        insert_rows(JournalRow, self._rows)
        if metered or woken or self._rows:
            transaction.on_commit(lambda: self._publish(metered, woken))

    def _publish(self, metered: list[Run], woken: list[UUID]) -> None:
        """Wake who waits, then tell the screens; their frames are built by the courier."""
        if woken:
            broadcast.wake(woken)
        broadcast.to_groups(lambda: self._frames(metered))

    def _version_moved(self, run: Run) -> bool:
        return bool(run.version != self._before[run.id]["version"])

    def _meters_moved(self, run: Run) -> bool:
        before = self._before[run.id]
        return any(getattr(run, column) != before[column] for column in METER_COLUMNS)

    def _save_runs(self) -> None:
        """Update changed columns only, runs with the same ones in one statement."""
        batches: dict[tuple[str, ...], list[Run]] = defaultdict(list)
        for run in self.runs.values():
            before, now = self._before[run.id], run.__dict__
            changed = tuple(name for name in STATE_NAMES if now[name] != before[name])
            if changed:
                batches[changed].append(run)
        for columns, changed_runs in batches.items():
            update_columns(Run, columns, changed_runs)

    def _frames(self, metered: list[Run]) -> dict[str, dict[str, Any]]:
        """Return group -> message: events as JSON texts, meters as plain values."""
        frames: dict[str, dict[str, Any]] = defaultdict(broadcast.empty_frame)
        for project, events in self._events.items():
            frames[broadcast.board_group(project)]["events"] = [_json(event) for event in events]
        for run_id, events in self._live.items():
            self._part(frames, self.runs[run_id])["events"] = [_json(event) for event in events]
        for run in metered:
            points = _fresh_points(run, self._before[run.id])
            told = rows.meters(run, new_points=points, at=self.at)
            shown = _meters.dump_python(told, mode="json")
            frames[broadcast.board_group(run.project_id)]["meters"][str(run.id)] = shown
            self._part(frames, run)["meters"] = {str(run.id): shown}
        return dict(frames)

    @staticmethod
    def _part(frames: dict[str, dict[str, Any]], run: Run) -> dict[str, Any]:
        """Return one run's part of the frame for the pages of its project's runs."""
        parts = frames[broadcast.pages_group(run.project_id)]["runs"]
        part: dict[str, Any] = parts.setdefault(run.id.hex, {"events": [], "meters": {}})
        return part


@contextmanager
def writing(
    run_ids: Iterable[UUID], *, at: datetime, with_projects: bool = True, ahead: bool = False
) -> Iterator[Book]:
    """Lock runs in id order and lend them out; write and publish at the end.

    `with_projects`: their rules are needed too; storing turns goes without.
    `ahead`: a person waits for it; it goes before what the machine has to write.
    """
    with going_ahead(ahead), transaction.atomic():
        locked = (
            Run.objects.select_for_update(of=("self",), no_key=True)
            .prefetch_related(*(["project"] if with_projects else []))
            .defer(*LONG_COLUMNS)
            .filter(pk__in=set(run_ids))
            .order_by("pk")
        )
        book = Book({run.id: run for run in locked}, at=at)
        yield book
        book.close()


def should_yield() -> bool:
    """Tell whether a person waits for what this transaction holds; the rest can come later.

    PostgreSQL locks rows, and nobody taps on those in hand.
    """
    return connection.vendor == "sqlite" and bool(cast(Any, connection).is_awaited())


@contextmanager
def holding_project(project_id: UUID, *, ahead: bool = False) -> Iterator[Project]:
    """Lock a project's row; the runs that its rules concern are locked after it."""
    with going_ahead(ahead), transaction.atomic():
        yield Project.objects.select_for_update(no_key=True).get(pk=project_id)


def record_for_project(
    project_id: UUID, event_type: type[E], /, *, by: str, at: datetime, **payload: Any
) -> E:
    """Append one event to the project's own chain, under the project's row lock.

    The lock leaves the key alone: runs' events refer to the project at their commit,
    and whoever anchors runs' heads holds this lock while waiting for theirs.
    """
    with transaction.atomic():
        project = Project.objects.select_for_update(no_key=True).get(pk=project_id)
        project.event_seq += 1
        event = event_type(
            run=None, project=project.id, seq=project.event_seq, at=at, by=by,
            version=0, status=None, **payload,
        )  # fmt: skip
        row = _row_of(event, previous=project.head)
        project.head = row.hash
        project.save(update_fields=["event_seq", "head"])
        row.save(force_insert=True)
        frame = {**broadcast.empty_frame(), "events": [_json(event)]}
        frames = {broadcast.board_group(project.id): frame}
        transaction.on_commit(lambda: broadcast.to_groups(lambda: frames))
    return event


def insert_rows(model: Any, rows_: Iterable[Any]) -> None:
    """Insert whole rows with one prepared statement; faster than `bulk_create`."""
    columns = model._meta.concrete_fields
    quote = connection.ops.quote_name
    names = ", ".join(quote(field.column) for field in columns)
    marks = ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({marks})"  # noqa: S608
    values = _values(model, None, rows_)
    if values:
        with connection.cursor() as cursor:
            cursor.executemany(statement, values)


def update_columns(model: Any, columns: tuple[str, ...], rows_: Iterable[Any]) -> None:
    """Write the same columns of many rows with one prepared statement."""
    by_name = {field.attname: field for field in model._meta.concrete_fields}
    chosen = [by_name[name] for name in columns]
    quote = connection.ops.quote_name
    assignments = ", ".join(f"{quote(field.column)} = %s" for field in chosen)
    primary = model._meta.pk
    statement = (
        f"UPDATE {quote(model._meta.db_table)} SET {assignments} "  # noqa: S608 - column names
        f"WHERE {quote(primary.column)} = %s"
    )
    values = _values(model, (*columns, primary.attname), rows_)
    with connection.cursor() as cursor:
        cursor.executemany(statement, values)


def row_hash(header: dict[str, Any], *, previous: str, digest: str) -> str:
    """Hash one link of the chain."""
    return _sha256(canonical({**header, "digest": digest, "previous": previous}))


def payload_digest(payload: str, salt: str) -> str:
    """Hash a payload with its salt, so that an erased one cannot be guessed."""
    return _sha256(salt + payload)


def canonical(value: Any) -> str:
    """Return the one JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _row_of(event: EventHead, *, previous: str) -> JournalRow:
    dumped = _adapter(cast(Any, type(event))).dump_python(event, mode="json")
    kind = dumped.pop("type")
    payload = canonical({name: dumped[name] for name in dumped.keys() - HEAD_FIELDS})
    salt = secrets.token_hex(16)
    row = JournalRow(
        project_id=event.project, run_id=event.run, seq=event.seq, type=kind, at=event.at,
        by=event.by, version=event.version, status=event.status, payload=payload, salt=salt,
        digest=payload_digest(payload, salt), previous=previous,
    )  # fmt: skip
    row.hash = row_hash(rows.header(row), previous=previous, digest=row.digest)
    return row


def _fresh_points(run: Run, before: dict[str, Any]) -> int:
    """Count the tape points from the first that is new or redrawn to the last."""
    kept = len(run.tape) - (run.judged_turns - before["judged_turns"])
    known = before["tape"][-kept:] if kept > 0 else []
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(known, run.tape, strict=False))
    return len(run.tape) - len(list(same))


def _columns(run: Run) -> dict[str, Any]:
    loaded = run.__dict__
    return {name: _frozen(loaded[name]) for name in STATE_NAMES}


def _frozen(value: Any) -> Any:
    """Copy what may be changed in place, so that a change is seen."""
    return list(value) if isinstance(value, list) else value


def _values(model: Any, names: tuple[str, ...] | None, rows_: Iterable[Any]) -> list[list[Any]]:
    """Return rows as parameters of a statement; plain columns need no conversion."""
    columns = _converters(model, names)
    return [
        [
            value if prepare is None or value is None else prepare(value, connection)
            for value, prepare in ((row.__dict__[name], prepare) for name, prepare in columns)
        ]
        for row in rows_
    ]


@cache
def _converters(model: Any, names: tuple[str, ...] | None) -> tuple[tuple[str, Any], ...]:
    fields_ = {field.attname: field for field in model._meta.concrete_fields}
    return tuple(
        (name, None if _is_plain(fields_[name]) else fields_[name].get_db_prep_save)
        for name in names or fields_
    )


def _is_plain(field: Any) -> bool:
    return field.get_internal_type() in PLAIN_TYPES


def _json(event: EventHead) -> str:
    return _adapter(cast(Any, type(event))).dump_json(event).decode()


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


_meters: TypeAdapter[Meters] = TypeAdapter(Meters)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
