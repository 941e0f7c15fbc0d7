"""Index what was stored since: a watermark a run, behind the ingest's back.

Storing turns knows nothing of it. Words are cut outside of any transaction; the
watermark moves in the one that writes them, and only from where it was read, so
that of two who index the same run one is void.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q, QuerySet

from missioncontrol.history import index
from missioncontrol.history.index import ABOUT_THE_RUN, Document
from missioncontrol.history.models import IndexedRun
from missioncontrol.history.texts import run_words, turn_words
from missioncontrol.runs.models import Run, Turn

RUNS_AT_ONCE = 32
TURNS_AT_ONCE = 100
"""In one transaction: nobody waits long for SQLite's lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """What is to be written of one run: its documents, and where the mark goes."""

    mark: IndexedRun
    documents: Sequence[Document]
    obs: int
    event_seq: int


def index_slice(*, at: datetime) -> bool:
    """Index some of what is behind, the longest waiting first; tell whether more is."""
    behind = list(_behind()[: RUNS_AT_ONCE + 1])
    taken, left = [], TURNS_AT_ONCE
    for run in behind[:RUNS_AT_ONCE]:
        if left > 0:
            taken.append(_cut(run, most=left))
            left -= len(taken[-1].documents) - 1
    _write(taken, at=at)
    return len(behind) > len(taken) or left <= 0


def lag() -> int:
    """Count the runs with something that is not indexed yet."""
    return _behind().count()


def _behind() -> QuerySet[Run]:
    never = Q(indexed__isnull=True)
    found = Run.objects.filter(never | Q(indexed__event_seq__lt=F("event_seq")))
    return found.order_by(F("indexed__at").asc(nulls_first=True), "-id")


def _cut(run: Run, *, most: int) -> Slice:
    """Cut the words of a run's next turns; `run` was read before them."""
    mark, _ = IndexedRun.objects.get_or_create(run=run)
    turns = list(Turn.objects.filter(run=run, obs__gt=mark.obs).order_by("obs")[:most])
    is_all = len(turns) < most
    about = Document(run=mark.id, part=ABOUT_THE_RUN, words=run_words(run))
    documents = [Document(run=mark.id, part=t.seq + 1, words=turn_words(t)) for t in turns]
    return Slice(
        mark=mark, documents=[about, *documents], obs=turns[-1].obs if turns else mark.obs,
        event_seq=run.event_seq if is_all else mark.event_seq,
    )  # fmt: skip


def _write(slices: Sequence[Slice], *, at: datetime) -> None:
    if not slices:
        return
    with transaction.atomic():
        for one in slices:
            unmoved = IndexedRun.objects.filter(
                pk=one.mark.pk, obs=one.mark.obs, event_seq=one.mark.event_seq
            )
            if unmoved.update(obs=one.obs, event_seq=one.event_seq, at=at):
                index.write(one.documents)
