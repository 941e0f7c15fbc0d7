"""Celery task that keeps the words of runs searchable, with a watermark for each run.

Ingest knows nothing of it. Words are cut outside of any transaction; the watermark moves in
the transaction that writes them, and only from the value that was read: if two processes
index the same run, one result is discarded.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from celery import shared_task
from django.db import transaction
from django.db.models import F, Q, QuerySet

from missioncontrol.clock import now
from missioncontrol.history.index import (
    RUN_PART,
    Document,
    related_texts,
    run_words,
    turn_words,
    write_documents,
)
from missioncontrol.history.models import IndexedRun
from missioncontrol.ids import earlier_id
from missioncontrol.runs.models import JournalRow, Run, Turn
from missioncontrol.runs.selectors import unjudged_runs
from missioncontrol.runs.statements import update_columns

RUN_BATCH = 32
# In one transaction: nobody waits long for SQLite's lock.
OBSERVATION_BATCH = 100
# No other column of a run holds words: its tape, its policy and the rest are not read.
RUN_COLUMNS = ("name", "goal", "agent", "reason", "meters__last_obs", "meters__event_seq")
TURN_COLUMNS = ("run", "seq", "tool", "agent", "args", "content", "error", "result", "files")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """What to write for one run: its documents, and its new watermark."""

    mark: IndexedRun
    documents: Sequence[Document]
    obs: int
    event_seq: int


class ChangedRuns:
    """Where a process that indexes every second looks: at runs with new rows in the journal.

    Comparing the watermark of every run would cost more each day. It is done at the start and
    once a minute, for rows that were committed behind the last look.
    """

    FULL_SCAN_EVERY = timedelta(minutes=1)
    OVERLAP = timedelta(seconds=10)
    """A row may be committed after a row that was created later."""

    def __init__(self) -> None:
        self._after = UUID(int=0)
        # Long ago, so that a process compares all runs once when it starts.
        self._scanned_at = datetime.min.replace(tzinfo=UTC)

    def filter_changed(self, runs: QuerySet[Run], *, at: datetime) -> QuerySet[Run]:
        """Return those of the runs that changed."""
        # Noted before the runs are read: what comes in between is read twice, never missed.
        rows = JournalRow.objects.order_by("-id").values_list("id", flat=True)
        self._newest = rows.first() or UUID(int=0)
        # After the clock was set back, new rows are older than those that were seen.
        self._is_whole = abs(at - self._scanned_at) >= self.FULL_SCAN_EVERY
        if self._is_whole:
            return runs
        new_rows = JournalRow.objects.filter(id__gt=self._after, run__isnull=False)
        return runs.filter(pk__in=new_rows.values("run_id"))

    def mark_caught_up(self, *, at: datetime) -> None:
        """Note that everything returned by `filter_changed` is indexed."""
        self._after = earlier_id(self._newest, by=self.OVERLAP)
        if self._is_whole:
            self._scanned_at = at


def index_slice(*, at: datetime, changed: ChangedRuns | None = None) -> bool:
    """Index some of the runs that are behind, longest waiting first; tell whether more are left."""
    found = _runs_behind() if changed is None else changed.filter_changed(_runs_behind(), at=at)
    # One more than is taken, to tell whether there are more.
    behind = list(found.select_related("meters").only(*RUN_COLUMNS)[: RUN_BATCH + 1])
    slices = _next_slices(behind[:RUN_BATCH])
    _store_slices(slices, at=at)
    is_cut = any(
        one.event_seq != run.meters.event_seq for one, run in zip(slices, behind, strict=False)
    )
    is_more = is_cut or len(behind) > len(slices)
    if changed is not None and not is_more:
        changed.mark_caught_up(at=at)
    return is_more


def count_unindexed_runs() -> int:
    """Return the number of runs with something that is not indexed yet."""
    return _runs_behind().count()


def _runs_behind() -> QuerySet[Run]:
    never = Q(indexed__isnull=True)
    found = Run.objects.filter(never | Q(indexed__event_seq__lt=F("meters__event_seq")))
    # By when each was last visited: a run that never stops must not keep the others waiting.
    return found.order_by(F("indexed__at").asc(nulls_first=True), "-id")


def _next_slices(runs: Sequence[Run]) -> list[Slice]:
    """Return the new words of the first runs; `runs` must have been read before their turns."""
    wanted = IndexedRun.objects.filter(run__in=runs)
    marks = {mark.run_id: mark for mark in wanted}
    new = [IndexedRun(run=run) for run in runs if run.id not in marks]
    if new:  # another process may create the same ones
        IndexedRun.objects.bulk_create(new, ignore_conflicts=True)
        marks = {mark.run_id: mark for mark in wanted.all()}
    ends, left = {}, OBSERVATION_BATCH
    for run in runs:
        if left <= 0:
            break
        ends[run.id] = min(run.meters.last_obs, marks[run.id].obs + left)
        left -= ends[run.id] - marks[run.id].obs
    taken = [run for run in runs if run.id in ends]
    new_turns = Q(pk__in=[])
    for run in taken:
        new_turns |= Q(run=run, obs__gt=marks[run.id].obs, obs__lte=ends[run.id])
    turns: dict[UUID, list[Turn]] = defaultdict(list)
    for turn in Turn.objects.filter(new_turns).only(*TURN_COLUMNS):
        turns[turn.run_id].append(turn)
    beside = related_texts(taken)
    slices = []
    for run in taken:
        mark, obs = marks[run.id], ends[run.id]
        words = run_words(run, beside[run.id])
        # Written again each time: a card or a message may have come without a turn.
        documents = [Document(run=mark.id, part=RUN_PART, words=words)]
        documents += [
            Document(run=mark.id, part=turn.seq + 1, words=turn_words(turn))
            for turn in turns[run.id]
        ]
        # A cut run also keeps its old event watermark, so that the next look finds it.
        event_seq = run.meters.event_seq if obs == run.meters.last_obs else mark.event_seq
        slices.append(Slice(mark=mark, documents=documents, obs=obs, event_seq=event_seq))
    return slices


def _store_slices(slices: Sequence[Slice], *, at: datetime) -> None:
    read = {one.mark.id: one for one in slices}
    # If there is nothing to write, begin no transaction: on SQLite each takes the write lock.
    if not read:
        return
    with transaction.atomic():
        marks = IndexedRun.objects.select_for_update().filter(pk__in=read).order_by("pk")
        known = {run_id: (one.mark.obs, one.mark.event_seq) for run_id, one in read.items()}
        # If a watermark has moved since, the words cut for it are void: another process wrote them.
        unmoved = [mark for mark in marks if (mark.obs, mark.event_seq) == known[mark.id]]
        for mark in unmoved:
            mark.obs, mark.event_seq, mark.at = read[mark.id].obs, read[mark.id].event_seq, at
        update_columns(IndexedRun, ("obs", "event_seq", "at"), unmoved)
        write_documents(document for mark in unmoved for document in read[mark.id].documents)


# Of every second, at most: the worker is there to detect.
BUSY_S = 0.25


# Each worker process remembers how far it has looked.
_changed_runs = ChangedRuns()


# Not `acks_late`: a lost task is made up for by the next one, a second later.
@shared_task(ignore_result=True, acks_late=False)
def index() -> None:
    """Index what is new, for a quarter of a second; runs every second. What is left waits.

    While turns wait to be judged it is one slice a second: about 2 % of a process.
    """
    until = time.monotonic() + BUSY_S
    while index_slice(at=now(), changed=_changed_runs) and time.monotonic() < until:
        # An agent waits for a verdict; nobody waits for words.
        if unjudged_runs(moved_before=now()):
            break
