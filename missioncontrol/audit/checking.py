"""Check the database against its own audit log: chains, turns and runs' rows.

Chains are read in pages and runs one after the other, so that neither a long run nor a
large project is ever in memory as a whole. Nothing is locked at first: a run that moved while it
was read is read again.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.db import models
from django.db.models import QuerySet
from django.db.models.functions import Cast
from django.utils.dateparse import parse_datetime

from missioncontrol.accounts.models import Project
from missioncontrol.audit import anchors, signing
from missioncontrol.costs.ledger import JUDGE, MAX_SUM
from missioncontrol.proof import (
    ANCHOR_EVENT,
    COST_EVENT,
    TURN_FIELDS,
    ErasedExtent,
    Fault,
    HeadsFile,
    Link,
    ProjectChain,
    RunChain,
    fault_at,
    missing_runs,
    turn_digest,
)
from missioncontrol.runs import journal
from missioncontrol.runs.models import JournalRow, Run, RunMeters, Turn
from missioncontrol.runs.rows import MICRO, USAGE_COLUMNS, header, usage_of
from missioncontrol.runs.statements import pages_of
from missioncontrol.wire.instance import AuditFault, Verification
from missioncontrol.wire.rows import row_of

M = TypeVar("M", bound=models.Model)

ROW_BATCH = 1000
MAX_FAULTS = 100
# How often a moving run is read again before its row is locked for it.
MAX_TRIES = 3
# Above it PostgreSQL returns a float as an integer.
MAX_EXACT_INT = 2**53


_COMPARED = Run.objects.select_related("meters").defer("metadata", "workspace")


class Verifier:
    """One verification, which counts what it reads."""

    def __init__(self) -> None:
        self.rows = 0
        self.compared_since: str | None = None

    def faults_of(self, project: Project) -> Iterator[Fault]:
        """Check a project's chain, then those of its runs; yield what does not hold."""
        # The project's chain first: what its signed rows say of a run is compared with the run's
        # own chain.
        chain = ProjectChain(
            trusted=signing.trusted_keys(),
            check_old_anchor=partial(signing.is_signed_as_before, str(project.id)),
        )
        # The file before the database, so that lines appended meanwhile are not compared.
        lines = anchors.read_heads(project.id)
        heads_file = HeadsFile(str(project.id), lines, trusted=signing.trusted_keys())
        project = Project.objects.get(pk=project.id)
        own = JournalRow.objects.filter(project=project, run=None, seq__lte=project.event_seq)
        for row in iterate_ordered(own, "seq"):
            link = link_of(row)
            yield from chain.check_row(link)
            yield from heads_file.check_row(link)
        self.rows += chain.length
        yield from chain.check_end(
            head=project.head, length=project.event_seq + 1, project=str(project.id), run=None
        )
        yield from heads_file.check_end(chain.last)
        if heads_file.since is not None:
            # The latest of the projects: only since then were all of them compared.
            self.compared_since = max(heads_file.since, self.compared_since or heads_file.since)
        seen: set[str] = set()
        runs = Run.objects.filter(project=project).order_by("id")
        # As text, because in SQLite anything may have been written there.
        for text in runs.values_list(Cast("id", models.TextField()), flat=True):
            try:
                run_id = UUID(text)
            except ValueError:
                yield Fault(
                    kind="run_row",
                    project=str(project.id),
                    what="id",
                    found=text[:200],
                    expected="of none such",
                )
                continue
            seen.add(str(run_id))
            yield from self._faults_of_run(run_id, chain, of=str(project.id))
        yield from missing_runs(str(project.id), chain, seen)
        yield from chain.check_pending()

    def _faults_of_run(self, run_id: UUID, chain: ProjectChain, *, of: str) -> list[Fault]:
        what = "row"
        try:
            run = _COMPARED.get(pk=run_id)
            if hasattr(run, "meters"):
                what = "turn or event"
                return self._settled_faults(run, chain)
            what, found = "row of meters", "missing"
        # Values that SQLite accepted into a column of ids or sums, and malformed ids.
        except (TypeError, ValueError, Run.DoesNotExist) as error:
            found = f"unreadable ({error})"[:200]
        rows = JournalRow.objects.filter(run=run_id).count()
        return [
            Fault(
                kind="run_row",
                project=of,
                run=str(run_id),
                what=what,
                found=found,
                expected=f"of it in {rows} rows",
            )
        ]

    def _settled_faults(self, run: Run, chain: ProjectChain) -> list[Fault]:
        length, faults = _run_faults(run, chain)
        for _ in range(MAX_TRIES):
            later = RunMeters.objects.filter(run=run, event_seq__gt=run.meters.event_seq)
            if not faults or not later.exists():
                break
            # In one statement: between two, a move would look like an edited row.
            run = _COMPARED.get(pk=run.pk)
            length, faults = _run_faults(run, chain)
        else:
            # It keeps moving: nobody writes while it is read under its lock.
            with journal.lock_runs([run.id], at=run.started_at) as tx:
                length, faults = _run_faults(tx.run(run.id), chain)
        self.rows += length
        return faults


def verify(*, projects: Collection[UUID]) -> Verification:
    """Verify every chain of these projects, and compare it with what is stored beside it."""
    verifier = Verifier()
    head = ""
    faults: list[Fault] = []
    for project in Project.objects.filter(pk__in=projects).order_by("id"):
        head = project.head
        faults += itertools.islice(verifier.faults_of(project), MAX_FAULTS - len(faults))
    anchored = JournalRow.objects.filter(project_id__in=projects, type=ANCHOR_EVENT)
    last = anchored.order_by("-id").values_list("at", flat=True).first()
    return Verification(
        ok=not faults,
        rows=verifier.rows,
        head=head,
        broken_at=next((fault.row for fault in faults if fault.row), "missing") if faults else None,
        anchored_at=last,
        faults=tuple(
            row_of(
                AuditFault,
                fault,
                project=UUID(fault.project),
                run=UUID(fault.run) if fault.run else None,
                row=UUID(fault.row) if fault.row else None,
            )
            for fault in faults
        ),
        keys=signing.trusted_keys(),
        compared_since=parse_datetime(verifier.compared_since) if verifier.compared_since else None,
    )


def link_of(row: JournalRow) -> Link:
    """Return a row as a link of its chain."""
    return Link(
        **header(row),
        id=str(row.id),
        payload=row.payload,
        salt=row.salt,
        digest=row.digest,
        previous=row.previous,
        hash=row.hash,
    )


def _run_faults(run: Run, project: ProjectChain) -> tuple[int, list[Fault]]:
    """Check one run; its row and its turns only if its chain holds."""
    name, of = str(run.id), str(run.project_id)
    # A chain alone cannot show that its tail was cut off or the run is gone: the project's
    # checkpoints can.
    chain, replayed = RunChain(project, name), ReplayedRun()
    faults: list[Fault] = []
    rows = JournalRow.objects.filter(run=run, seq__lte=run.meters.event_seq)
    for row in iterate_ordered(rows, "seq"):
        link = link_of(row)
        faults += chain.check_row(link)
        if not faults:
            replayed.apply(link)
    end = list(
        chain.check_end(head=run.meters.head, length=run.meters.event_seq + 1, project=of, run=name)
    )
    # With a broken chain, faults of the rows beside it would only repeat its own.
    faults += end or chain.check_signed_end(project=of, run=name)
    if not faults and chain.last is not None:
        faults += _row_faults(run, replayed, chain.last)
        faults += _turn_faults(run, replayed, project.erased.get(name, ErasedExtent()), chain.last)
    return chain.length, faults


class ReplayedRun:
    """What a run's events say of its row and its turns, applied in order."""

    TELLING = frozenset({"run.opened", "run.moved", COST_EVENT, "turn.recorded", "turn.completed"})
    """Events whose payload says more than their header; no others are parsed."""

    def __init__(self) -> None:
        self.row: dict[str, Any] = {}
        self.turns: dict[int, tuple[str, str]] = {}
        self.turn_count = 0
        self.cost, self.judge_cost = Decimal(0), Decimal(0)
        self.usage: Counter[str] = Counter()

    def apply(self, link: Link) -> None:
        """Apply one event."""
        self.row |= {"status": link.status, "version": link.version}
        self.turn_count += link.type == "turn.recorded"
        # A later event repeats what an erased one said; other types say nothing more.
        if link.payload is None or link.type not in self.TELLING:
            return
        payload = json.loads(link.payload)
        if link.type == "run.opened":
            opened = payload["row"]
            self.row |= {name: opened[name] for name in ("mode", "name", "goal", "ended_at")}
            self.row |= {name: opened[name] for name in ("key", "started_at") if name in opened}
            # No event reports a name that was set later.
            self.row |= {"agent": opened["agent"]} if opened.get("agent") else {}
        elif link.type == "run.moved":
            self.row |= {"mode": payload["mode"], "ended_at": payload["ended_at"]}
            # Present only if the run was renamed.
            renamed = {name: payload.get(name) for name in ("name", "goal")}
            self.row |= {name: text for name, text in renamed.items() if text is not None}
        elif link.type != COST_EVENT:
            self.turns[payload["turn_seq"]] = (payload["turn_id"], payload["digest"])
        elif payload["source"] == JUDGE:
            self.judge_cost += Decimal(payload["cost_usd"] or 0)
        else:
            self.cost += Decimal(payload["cost_usd"] or 0)
            self.usage.update(payload.get("usage") or {})


def _row_faults(run: Run, replayed: ReplayedRun, last: Link) -> Iterator[Fault]:
    found: dict[str, Any] = {
        "status": run.status,
        "version": run.version,
        "mode": run.mode,
        "name": run.name,
        "goal": run.goal,
        "ended_at": run.ended_at,
        "key": run.key,
        "agent": run.agent,
        "started_at": run.started_at,
        "turns": run.meters.last_seq + 1,
        "cost_usd": _capped(run.meters.cost_usd),
        "judge_cost_usd": _capped(run.meters.judge_cost_usd),
        **asdict(usage_of(run.meters)),
    }
    expected: dict[str, Any] = {
        **replayed.row,
        "turns": replayed.turn_count,
        "cost_usd": _capped(replayed.cost),
        "judge_cost_usd": _capped(replayed.judge_cost),
        **{name: replayed.usage[name] for name in USAGE_COLUMNS},
    }
    for name in ("started_at", "ended_at"):
        if expected.get(name):
            expected[name] = datetime.fromisoformat(expected[name])
    for name, value in expected.items():
        if found[name] != value:
            shown, wanted = str(found[name])[:200], str(value)[:200]
            yield fault_at(last, "run_row", what=name, found=shown, expected=wanted)


def _capped(cost: Decimal) -> Decimal:
    # The column's maximum; a run may report more.
    return min(cost, MAX_SUM).quantize(MICRO)


def _turn_faults(
    run: Run, replayed: ReplayedRun, erased: ErasedExtent, last: Link
) -> Iterator[Fault]:
    left = dict(replayed.turns)
    for turn in iterate_ordered(Turn.objects.filter(run=run, seq__lte=run.meters.last_seq), "seq"):
        event = left.pop(turn.seq, None)
        # The erasure of the words is signed: a turn up to there is right if it has none.
        if turn.seq <= erased.turns:
            has_words = turn.args or turn.content or turn.result or turn.error or turn.files
            kind = "turn_changed" if has_words else None
        elif event is None:
            kind = "turn_added"
        else:
            signed = {name: getattr(turn, name) for name in TURN_FIELDS}
            # As it was stored, or as PostgreSQL returned it: a large float comes back as an
            # integer.
            is_unchanged = event == (str(turn.id), turn.digest) and (
                turn_digest(signed) == turn.digest
                or turn_digest({**signed, "args": _as_floats(signed["args"])}) == turn.digest
            )
            kind = None if is_unchanged else "turn_changed"
        if kind is not None:
            yield fault_at(last, kind, what=str(turn.seq + 1))
    for seq in left:
        yield fault_at(last, "turn_missing", what=str(seq + 1))


def _as_floats(value: Any) -> Any:
    """Return JSON with the integers that may have been floats as floats."""
    if isinstance(value, dict):
        return {name: _as_floats(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_as_floats(part) for part in value]
    is_long = isinstance(value, int) and abs(value) >= MAX_EXACT_INT
    return float(value) if is_long else value


def iterate_ordered(found: QuerySet[M], column: str) -> Iterator[M]:
    """Yield rows in the order of a column."""
    for page in pages_of(found.order_by(column), size=ROW_BATCH):
        yield from page
