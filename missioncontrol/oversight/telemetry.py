"""Count model calls that an agent's own telemetry tells of, apart from its turns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from missioncontrol.oversight.costs import count_agent, take_over
from missioncontrol.oversight.ledger import SOURCES, Call, enter, is_heard
from missioncontrol.oversight.spending import Spending
from missioncontrol.runs import journal
from missioncontrol.runs.journal import Book
from missioncontrol.runs.models import ModelCall, Run

Counted = set[tuple[UUID, str]]


def count_calls(told: Mapping[UUID, Sequence[Call]], *, at: datetime) -> int:
    """Count each of these calls once; return how many were new.

    What a better source tells replaces what was counted before; what a worse one
    tells is left out. It revives no ended run. Takes the runs' row locks.
    """
    with journal.writing(told, at=at) as book:
        spending, counted = Spending((), at=at), _counted(told)
        new = [
            row
            for run in book.runs.values()
            for row in _enter_new(book, run, told[run.id], counted, spending)
        ]
        ModelCall.objects.bulk_create(new)
        spending.write()
    return len(new)


def counted(run_id: UUID, names: Collection[str]) -> set[str]:
    """Return those of these model calls that were counted for a run."""
    found = ModelCall.objects.filter(run_id=run_id, call_id__in=names)
    return set(found.values_list("call_id", flat=True))


def _enter_new(
    book: Book, run: Run, calls: Sequence[Call], counted: Counted, spending: Spending
) -> Iterator[ModelCall]:
    best = max((call.source for call in calls), key=SOURCES.index)
    if is_heard(run, best):
        take_over(book, run, source=best, spending=spending)
    for call in calls:
        if not is_heard(run, call.source) or (run.id, call.call_id) in counted:
            continue
        counted.add((run.id, call.call_id))
        row, use = enter(book, run, call)
        run.model = row.model or run.model
        spending.add(run, call.agent, use)
        count_agent(run, call.agent, use, obs=run.last_obs)
        yield row


def _counted(told: Mapping[UUID, Sequence[Call]]) -> Counted:
    named = {call.call_id for calls in told.values() for call in calls}
    found = ModelCall.objects.filter(run_id__in=told.keys(), call_id__in=named)
    return set(found.values_list("run_id", "call_id"))
