"""Say what a run did, in facts that a screen puts into words: no model is asked.

Bounded, whatever the length of the run: calls are counted by the database, files, tests
and commits are read from the last `DETAIL_TURNS` turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import (
    Case,
    Count,
    F,
    Func,
    Max,
    Min,
    Q,
    QuerySet,
    Sum,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Concat, Left, Length, Right
from django.db.models.lookups import GreaterThan

from guard.reading.normalize import COMMANDS
from guard.turn import ActionClass, Role
from guard.turn import Turn as GuardTurn
from guard.verbatim import PATH_ARGUMENTS
from missioncontrol.history.finding import NO_CARD, whys_of
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import dollars
from missioncontrol.runs.timeline import place_moments
from missioncontrol.runs.work import Details, details_of
from missioncontrol.wire.history import CallCount, RunSummary, SaidRow, Work
from missioncontrol.wire.rows import row_of

# What can be read while a page is opened; the counts beside it are of all turns.
DETAIL_TURNS = 3_000
# The first words of a person stand among so many first turns.
ASKED_WITHIN = 200
LONGEST_SAID = 400
LONGEST_ARG = 2_000
# Characters of an answer's beginning and end that are looked at.
END = 800
HOUR = timedelta(hours=1)
TELLING = (ActionClass.FILE_EDIT, ActionClass.TEST_RUN, ActionClass.SHELL_EXEC)
# A call that a person answered, or that is held, did nothing.
RAN = Q(tool__isnull=False, phase="done", skipped=False)


def summarize(run: Run) -> RunSummary:
    """Say what a run was asked, what it did in all and in its last hour, and why it stands."""
    spoken = Turn.objects.filter(run=run, role=Role.USER).exclude(content=None)
    spoken = spoken.annotate(opening=Left("content", LONGEST_SAID + 1)).only("seq")
    # Only among the first and the last turns: a run may have a million.
    first = spoken.filter(seq__lt=ASKED_WITHIN).order_by("seq").first()
    last = spoken.filter(seq__gt=run.meters.last_seq - DETAIL_TURNS).order_by("-seq").first()
    asked = _quote(first) if first else None
    if run.goal:
        # The goal is what counts; it leads to a turn only where it was said there.
        is_said = asked is not None and asked.text == _cut(run.goal)
        asked = SaidRow(text=_cut(run.goal), seq=first.seq if first and is_said else None)
    # The same words twice would read as if nothing had been said since.
    is_new = last is not None and (asked is None or last.seq != asked.seq)
    # Before its last turn, not before now: a run that ended yesterday had a last hour too.
    hour_ago = run.meters.last_turn_at - HOUR if run.meters.last_turn_at else None
    within = place_moments(run, [hour_ago])[0].seq if hour_ago else 0
    return RunSummary(
        run=run.id,
        asked=asked,
        last_asked=_quote(last) if last and is_new else None,
        whole=_work(run, 0),
        last_hour=_work(run, within) if within > 0 else None,
        why=whys_of([run]).get(run.id, NO_CARD),
    )


def _quote(turn: Any) -> SaidRow:
    return SaidRow(text=_cut(turn.opening), seq=turn.seq)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_SAID else f"{text[:LONGEST_SAID]}…"


def _work(run: Run, from_seq: int) -> Work | None:
    turns = Turn.objects.filter(run=run, seq__gte=from_seq)
    groups = list(
        # Counted by the database: whatever the run's length, a few rows come back.
        turns.values("action_class")
        .order_by()
        .annotate(
            ran=Count("id", filter=RAN),
            failed=Count("id", filter=RAN & Q(error__isnull=False)),
            last=Max("seq", filter=RAN),
            since=Min("ts"),
            cost=Sum("cost_usd"),
        )
    )
    if not groups:
        return None
    details_from = max(from_seq, run.meters.last_seq + 1 - DETAIL_TURNS)
    details = _read_details(turns.filter(seq__gte=details_from))
    calls = [
        CallCount(
            kind=one["action_class"], count=one["ran"], failed=one["failed"], last_seq=one["last"]
        )
        for one in groups
        if one["ran"]
    ]
    spent = sum((one["cost"] for one in groups if one["cost"]), Decimal(0))
    return row_of(
        Work,
        details,
        from_seq=from_seq,
        to_seq=run.meters.last_seq,
        since=min(one["since"] for one in groups),
        # By kind among equals: the same run must not look different at each visit.
        calls=tuple(sorted(calls, key=lambda call: (-call.count, call.kind))),
        # Of the whole run the meter: calls that belong to no turn are in it too.
        cost_usd=dollars(spent) if from_seq else run.meters.cost_usd,
        details_from_seq=details_from,
    )


def _read_details(turns: QuerySet[Turn]) -> Details:
    """Read files, tests and commits of the calls that may have changed something."""
    ends: dict[str, Case] = {}
    for name in ("result", "error"):
        # Of long texts both ends: a failure says so at its start or in its last lines.
        cut = Concat(Left(name, END), Value("\n"), Right(name, END))
        is_long = GreaterThan(Length(name), 2 * END)
        ends[f"{name}_ends"] = Case(
            When(is_long, then=cut), default=F(name), output_field=TextField()
        )
    telling = (
        turns.filter(RAN, action_class__in=TELLING)
        .order_by("seq")
        .annotate(path=_first_named(PATH_ARGUMENTS), command=_first_named(COMMANDS), **ends)
        .values("seq", "tool", "action_class", "files", "path", "command", *ends)
    )
    return details_of(
        GuardTurn(
            role=Role.ASSISTANT,
            tool=one["tool"],
            action_class=one["action_class"],
            seq=one["seq"],
            args={name: one[name] for name in ("path", "command") if one[name]},
            files=tuple(one["files"]),
            result=one["result_ends"],
            error=one["error_ends"],
        )
        for one in telling.iterator(chunk_size=500)
    )


class _Named(Func):
    """A text among a call's arguments, read by the database: arguments may be long."""

    output_field = TextField()
    template = "NULLIF(%(expressions)s ->> '%(name)s', '')"

    # SQLite's `->>` came with 3.38; this has been there for longer.
    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        read = "NULLIF(JSON_EXTRACT(%(expressions)s, '$.%(name)s'), '')"
        return self.as_sql(compiler, connection, template=read, **context)


def _first_named(names: Sequence[str]) -> Left:
    return Left(Coalesce(*(_Named("args", name=name) for name in names)), LONGEST_ARG)
