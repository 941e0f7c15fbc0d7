"""Read a run's turns as a screen needs them: windows, searches, counts, the series.

Every answer is bounded, whatever the length of the run: windows and hand-offs by
their number, the series by its points, a search by the time it may take.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.db import connection
from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    F,
    Func,
    IntegerField,
    Max,
    Min,
    Q,
    QuerySet,
    Sum,
    TextField,
    Value,
    When,
    Window,
)
from django.db.models.functions import Cast, Coalesce, Lag, Left

from missioncontrol.errors import ensure_found
from missioncontrol.runs import rows
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.rows import MAX_TEXT
from missioncontrol.wire.runs import (
    FoundTurns,
    HandOffRow,
    HandOffs,
    MomentRow,
    RunFacets,
    RunSeries,
    SeriesPoint,
    TurnRow,
)

# Stands for the tool of a turn that calls none.
TEXT_TURNS = "text"

# Characters of a search text, which is looked for in every text of every turn.
MAX_SEARCH_TEXT = 200
SEARCH_STRIDE = 5_000
SEARCH_SECONDS = 1.5
MAX_POINTS = 600
MAX_HAND_OFFS = 500
_TEXTS = ("content", "result", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFilter:
    """A filter for a run's turns; empty: all of them."""

    agent: str = ""
    tool: str = ""
    signal: str = ""
    """A detector's name."""
    role: str = ""
    flagged: bool = False
    """Only turns that tripped a detector."""
    q: str = ""
    """Found in the tool, its arguments, the content, the result or the error."""

    @property
    def condition(self) -> Q:
        """Return the condition for a turn, without `q`."""
        named = {"agent": self.agent, "role": self.role, "detector": self.signal}
        found = Q(**{column: name for column, name in named.items() if name})
        if self.tool:
            found &= Q(tool=self.tool) | (Q(tool=None) if self.tool == TEXT_TURNS else Q())
        return found & Q(detector__isnull=False) if self.flagged else found


def list_window(
    run: Run,
    *,
    limit: int,
    after_seq: int | None = None,
    before_seq: int | None = None,
    around: int | None = None,
) -> list[TurnRow]:
    """Return some turns in order of `seq`, with long texts cut.

    `around` puts a turn in the middle of the window.
    """
    if around is not None:
        # A negative number is below the first turn, with which the window then begins.
        after_seq, before_seq = around - limit // 2 - 1, None
    turns = _with_beginnings(Turn.objects.filter(run=run))
    if before_seq is not None and after_seq is None:
        # The turns right before it: read backwards, returned forwards.
        page = list(turns.filter(seq__lt=before_seq).order_by("-seq")[:limit])[::-1]
    else:
        between = Q(seq__gt=after_seq if after_seq is not None else -1)
        between &= Q() if before_seq is None else Q(seq__lt=before_seq)
        page = list(turns.filter(between).order_by("seq")[:limit])
    return [_brief_row(turn, run) for turn in page]


def list_numbered(run: Run, *, seqs: Iterable[int]) -> list[TurnRow]:
    """Return the turns with these numbers in order, with long texts cut."""
    turns = _with_beginnings(Turn.objects.filter(run=run, seq__in=list(seqs)))
    return [_brief_row(turn, run) for turn in turns.order_by("seq")]


def show_turn(run: Run, seq: int) -> TurnRow:
    """Return one turn in full.

    Raises:
        NotFound: the run has no such turn.
    """
    turn = ensure_found(Turn.objects.filter(run=run, seq=seq).first(), "The turn")
    return rows.turn_row(turn, project=run.project_id)


def _with_beginnings(turns: QuerySet[Turn]) -> QuerySet[Turn]:
    """Read only the beginning of long texts: a hundred rows may hold a gigabyte."""
    # One character more than is shown: it tells that the text was cut.
    heads = {f"{name}_head": Left(name, MAX_TEXT + 1) for name in _TEXTS}
    return turns.defer(*_TEXTS).annotate(**heads)


def _brief_row(turn: Turn, run: Run) -> TurnRow:
    for name in _TEXTS:
        setattr(turn, name, getattr(turn, f"{name}_head"))
    return rows.turn_row(turn, project=run.project_id, brief=True)


def find_turns(run: Run, wanted: TurnFilter, *, before_seq: int | None = None) -> FoundTurns:
    """Return which turns match; a text search goes back from the newest until its time is up.

    `searched_from` is the first turn that was looked at: from there on nothing is missing.
    """
    end = (
        run.meters.last_seq + 1 if before_seq is None else min(before_seq, run.meters.last_seq + 1)
    )
    turns = Turn.objects.filter(wanted.condition, run=run)
    if wanted.q:
        texts = turns.annotate(args_text=Cast("args", TextField()))
        holds = Q(tool__icontains=wanted.q)
        # Arguments are JSON, which a former release stored as ASCII text in SQLite.
        for in_ascii in {False, connection.vendor == "sqlite"}:
            holds |= Q(args_text__icontains=json.dumps(wanted.q, ensure_ascii=in_ascii)[1:-1])
        for name in _TEXTS:
            holds |= Q(**{f"{name}__icontains": wanted.q})
        texts = texts.filter(holds)
        # No index finds a substring: the search goes in strides, so that it can stop in time.
        until, strides, searched_from = time.monotonic() + SEARCH_SECONDS, list[list[int]](), end
        # One stride at least, or a slow machine would find nothing at all.
        while searched_from > 0 and (searched_from == end or time.monotonic() < until):
            start = max(0, searched_from - SEARCH_STRIDE)
            stride = texts.filter(seq__gte=start, seq__lt=searched_from).order_by("seq")
            strides.append(list(stride.values_list("seq", flat=True)))
            searched_from = start
        seqs = [seq for stride in reversed(strides) for seq in stride]
    else:
        found = turns.filter(seq__lt=end).order_by("seq")
        seqs, searched_from = list(found.values_list("seq", flat=True)), 0
    # In a stretch without a gap the difference between number and position is constant.
    grouped = groupby(enumerate(seqs), key=lambda placed: placed[1] - placed[0])
    stretches = [list(stretch) for _, stretch in grouped]
    return FoundTurns(
        run=run.id,
        count=len(seqs),
        ranges=tuple((stretch[0][1], stretch[-1][1]) for stretch in stretches),
        searched_from=searched_from,
        searched_to=end - 1,
    )


def count_facets(run: Run) -> RunFacets:
    """Count a run's turns by agent, tool, role and detector, most first."""
    kinds = ("agent", "tool", "role", "detector")
    counted: dict[str, Counter[str | None]] = {kind: Counter() for kind in kinds}
    # One pass over the run for all four: each alone would read every turn again.
    groups = Turn.objects.filter(run=run).values(*kinds).annotate(n=Count("id")).order_by()
    for group in groups:
        for kind in kinds:
            counted[kind][group[kind]] += group["n"]
    # A tool that happens to have this name is counted with them (`TurnFilter.condition`).
    counted["tool"][TEXT_TURNS] += counted["tool"].pop(None, 0)
    return RunFacets(
        run=run.id,
        turns=run.meters.last_seq + 1,
        agents=_most_frequent(counted["agent"]),
        tools=_most_frequent(counted["tool"]),
        roles=_most_frequent(counted["role"]),
        signals=_most_frequent(counted["detector"]),
    )


def _most_frequent(counts: Counter[str | None]) -> tuple[tuple[str, int], ...]:
    return tuple((name, n) for name, n in counts.most_common(100) if name and n)


def show_series(
    run: Run, *, points: int, from_seq: int | None = None, to_seq: int | None = None
) -> RunSeries:
    """Return a stretch of a run in at most `points` points.

    A point of several turns has their highest values: no spike disappears.
    """
    # Clipped to the run: an address may name turns that it does not have.
    first = max(0, from_seq or 0)
    last = run.meters.last_seq if to_seq is None else min(to_seq, run.meters.last_seq)
    # Rounded up: there are never more points than asked for.
    turns_per_point = max(1, -(-(last - first + 1) // max(1, min(points, MAX_POINTS))))
    turns = Turn.objects.filter(run=run)
    cost_before = turns.filter(seq__lt=first).aggregate(n=Sum("cost_usd"))["n"] if first else None
    found = [
        SeriesPoint(
            from_seq=one["from_seq"],
            to_seq=one["to_seq"],
            at=one["at"],
            score=one["score_max"],
            score_least=one["score_min"],
            changed=bool(one["moved"]),
            signals=one["signals"],
            failures=one["failures"],
            cost_usd=rows.round_dollars(one["cost"]),
            fresh=one["most_fresh"],
            cached=one["most_cached"],
            output=one["most_output"],
            tokens=one["tokens"],
        )
        for one in (_buckets(turns, first, last, turns_per_point) if last >= first else ())
    ]
    return RunSeries(
        run=run.id,
        from_seq=first,
        to_seq=last,
        turns=run.meters.last_seq + 1,
        turns_a_point=turns_per_point,
        cost_before_usd=rows.round_dollars(cost_before),
        points=tuple(found),
    )


def _buckets(turns: QuerySet[Turn], first: int, last: int, turns_per_point: int) -> Any:
    fresh = _tokens("input") + _tokens("cache_write_5m") + _tokens("cache_write_1h")
    stretch = turns.filter(seq__gte=first, seq__lte=last)
    return (
        # Integer division: both databases drop the fraction.
        stretch.annotate(bucket=(F("seq") - first) / Value(turns_per_point))
        .annotate(fresh=fresh, cached=_tokens("cache_read"), output=_tokens("output"))
        .values("bucket")
        .annotate(
            from_seq=Min("seq"),
            to_seq=Max("seq"),
            at=Min("ts"),
            score_max=Max("score"),
            score_min=Min("score"),
            moved=Max(_one_or_zero(changed=True)),
            signals=Count("detector"),
            failures=Sum(_one_or_zero(error__isnull=False)),
            cost=Sum("cost_usd"),
            most_fresh=Max("fresh"),
            most_cached=Max("cached"),
            most_output=Max("output"),
            tokens=Sum(F("fresh") + F("cached") + F("output")),
        )
        .order_by("bucket")
    )


class JsonMember(Func):
    """A member of a JSON column as text; a key transform's type check costs SQLite a second."""

    output_field = TextField()
    template = "%(expressions)s ->> '%(name)s'"

    # SQLite has `->>` only since 3.38; `JSON_EXTRACT` is older.
    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        read = "JSON_EXTRACT(%(expressions)s, '$.%(name)s')"
        return self.as_sql(compiler, connection, template=read, **context)


def _tokens(name: str) -> Any:
    number = Cast(JsonMember("usage", name=name), BigIntegerField())
    # Absent counts as 0: a turn without usage adds nothing, and adding NULL would give NULL.
    return Coalesce(number, 0, output_field=BigIntegerField())


def _one_or_zero(**conditions: Any) -> Case:
    return Case(When(**conditions, then=1), default=0, output_field=IntegerField())


def locate_moments(run: Run, moments: Sequence[datetime]) -> tuple[MomentRow, ...]:
    """Return, for each moment, the number of the first turn at or after it."""
    times = Turn.objects.filter(run=run).values_list("ts", flat=True)

    def time_of(seq: int) -> datetime:
        return times.get(seq=seq)

    # No index is in order of time, but turns are: a few are read.
    seqs = range(run.meters.last_seq + 1)
    return tuple(MomentRow(at=at, seq=bisect_left(seqs, at, key=time_of)) for at in moments)


def list_hand_offs(run: Run) -> HandOffs:
    """Return the newest hand-offs from one agent to another, oldest first."""
    # A person's message in between is no hand-off.
    speaking = Turn.objects.filter(run=run).exclude(role="user")
    turns = speaking.annotate(
        giver=Window(Lag("agent"), order_by="seq"), asked_at=Window(Lag("seq"), order_by="seq")
    )
    changes = turns.exclude(giver=None).exclude(agent=F("giver")).order_by("-seq")
    # One more than is shown: it tells whether there are others.
    found = list(changes.values_list("seq", "giver", "agent", "asked_at")[: MAX_HAND_OFFS + 1])[
        ::-1
    ]
    shown = found[-MAX_HAND_OFFS:]
    # All of them in one query, instead of one for each hand-off.
    asked = {row.seq: row for row in list_numbered(run, seqs=[one[3] for one in shown])}
    changed = list(speaking.filter(changed=True).order_by("seq").values_list("seq", flat=True))
    # What each giver contributed: the changes since the previous hand-off.
    before_each = [bisect_left(changed, seq) for seq, *_ in shown]
    news = [place - before for place, before in zip(before_each, [0, *before_each], strict=False)]
    handed = tuple(
        HandOffRow(seq=seq, giver=giver, taker=taker, asked=asked[asked_at], new_facts=facts)
        for (seq, giver, taker, asked_at), facts in zip(shown, news, strict=True)
    )
    return HandOffs(run=run.id, results=handed, more=len(found) > MAX_HAND_OFFS)
