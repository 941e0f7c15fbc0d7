"""Find runs by a line of search and show why each is in its state, by page or as a file.

A page sorted by a column continues after the value and id of the previous page's last row, as
they were shown: a run that changes meanwhile is not skipped because of it, and shifts no other
run. Files are JSON Lines as the API shows them, or CSV for a spreadsheet.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from itertools import chain
from operator import attrgetter
from typing import Any, cast
from uuid import UUID

from django.db.models import (
    Count,
    Exists,
    F,
    FloatField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, Lower, NullIf
from pydantic_core import to_json

from missioncontrol.accounts.models import Project
from missioncontrol.decisions.models import NOT_LOOPS, SPOKE, Autofix, Decision, Intervention
from missioncontrol.decisions.rows import OPEN_STATUSES
from missioncontrol.errors import InvalidRequest
from missioncontrol.history import index
from missioncontrol.history.index import RUN_PART, Field, related_texts, run_texts, turn_texts
from missioncontrol.history.language import (
    AGENT_SIGN,
    TOOL_SIGN,
    Bounds,
    Phrase,
    Query,
    located_words,
    make_tag,
)
from missioncontrol.history.models import IndexedRun
from missioncontrol.reports.texts import csv_text
from missioncontrol.runs.lifecycle import ENDED, Status
from missioncontrol.runs.models import RECORDED, Run, Turn
from missioncontrol.runs.rows import round_dollars, run_row
from missioncontrol.wire.decisions import PERMISSION
from missioncontrol.wire.history import HistoryRow, HistoryTotals, MatchRow, WhyRow
from missioncontrol.wire.rows import row_of

NO_CARD = WhyRow(
    kind="", summary="", resolution=None, by=None, message=None, recovered=None, turns_after=None
)
# Cards that were no loop, whose agent went on unanswered, or that a later card replaced.
NO_LOOP_RESOLUTIONS = ("continue", "allowlist", "dismissed", "proceed", "superseded")
# A JSON null read as text: SQLite returns the word.
UNPRICED = (None, "null")
IS_OVER = Q(status__in=[status.value for status in (*ENDED, Status.LOST)])
NON_PERSON_ACTORS = (*SPOKE.values(), "auto", "judge", "agent")

# Characters shown before the first match, and in total.
CHARS_BEFORE, EXCERPT_LENGTH = 40, 160
# Characters of a field that are searched for a match.
MAX_SEARCHED_CHARS = 60_000

Span = tuple[int, int]


def filter_runs(found: QuerySet[Run], query: Query) -> QuerySet[Run]:
    """Filter runs by a line of search."""
    for term in query.terms:
        condition = CONDITIONS[term.key](term.value)
        found = found.exclude(condition) if term.negated else found.filter(condition)
    return found


def history_rows(runs: Sequence[Run], query: Query, *, at: datetime) -> list[HistoryRow]:
    """Return a page of runs as rows, with the reason for their state and where words matched."""
    whys = reasons_of(runs)
    loops: dict[UUID, Decimal] = {}
    # Summed in Python, and only for a page's runs: the amounts are inside JSON.
    cards = Decision.objects.filter(run__in=runs).exclude(kind__in=NOT_LOOPS)
    for run_id, evidence in cards.values_list("run_id", "evidence"):
        if (cost := evidence.get("cost_usd")) is not None:
            loops[run_id] = loops.get(run_id, Decimal(0)) + Decimal(cost)
    matches = {run.id: find_match(run, query.texts) for run in runs} if query.texts else {}
    return [
        row_of(
            HistoryRow,
            run_row(run, at=at),
            why=whys.get(run.id, NO_CARD),
            loop_cost_usd=loops.get(run.id),
            match=matches.get(run.id),
        )
        for run in runs
    ]


def history_totals(found: QuerySet[Run]) -> HistoryTotals:
    """Return the totals over every run of a search."""
    # Sums need no order, and each subquery below would repeat it.
    found = found.order_by()
    sums = found.aggregate(
        runs=Count("id"),
        turns=Sum(F("meters__last_seq") + 1, default=0),
        # What a recording cost was not spent here.
        cost=Sum("meters__cost_usd", default=Decimal(0), filter=~RECORDED),
        recordings=Count("id", filter=RECORDED),
        recorded_cost=Sum("meters__cost_usd", default=Decimal(0), filter=RECORDED),
        judge=Sum("meters__judge_cost_usd", default=Decimal(0)),
        unpriced_runs=Count("id", filter=~RECORDED & Q(meters__unpriced_calls__gt=0)),
    )
    ids = found.values("id")
    cards = Decision.objects.filter(run_id__in=ids).exclude(kind=PERMISSION)
    fixes = Autofix.objects.filter(run_id__in=ids).aggregate(
        autofixes=Count("id"), recovered=Count("id", filter=Q(recovered=True))
    )
    # A budget's card means no loop; a card that is still open may turn out to be none.
    about_loops = cards.exclude(kind="budget")
    answered = about_loops.filter(resolution__isnull=False).exclude(
        resolution__in=NO_LOOP_RESOLUTIONS
    )
    costs = about_loops.annotate(cost=KeyTextTransform("cost_usd", "evidence"))
    # Summed in Python, as decimals: SQLite would add floats.
    loop_costs = list(costs.values_list("cost", flat=True))
    known = [Decimal(cost) for cost in loop_costs if cost not in UNPRICED]
    return HistoryTotals(
        runs=sums["runs"],
        turns=sums["turns"],
        cost_usd=round_dollars(sums["cost"]),
        judge_cost_usd=round_dollars(sums["judge"]),
        unpriced_runs=sums["unpriced_runs"],
        flagged=cards.values("run_id").distinct().count(),
        loops=answered.values("run_id").distinct().count(),
        loop_cost_usd=sum(known, Decimal(0)),
        unpriced_loops=len(loop_costs) - len(known),
        imported=sums["recordings"],
        imported_cost_usd=round_dollars(sums["recorded_cost"]),
        **fixes,
    )


def reasons_of(runs: Sequence[Run]) -> dict[UUID, WhyRow]:
    """Return why each run is in its state: its last card, otherwise the tap that ended it."""
    ids = [run.id for run in runs]
    taps = {tap.run_id: tap for tap in Intervention.objects.filter(run_id__in=ids).order_by("id")}
    whys = {
        run_id: replace(NO_CARD, resolution="terminate", by=tap.by, message=tap.message)
        for run_id, tap in taps.items()
        if tap.action == "terminate"
    }
    cards = Decision.objects.filter(run_id__in=ids).exclude(kind=PERMISSION)
    for card in cards.select_related("autofix").order_by("id"):
        tap = taps.get(card.run_id)
        # A tap that ended the run, apart from any card, says more
        # about its state than an earlier card.
        if card.run_id not in whys or tap is None or tap.decision_id is not None:
            fix = getattr(card, "autofix", None)
            whys[card.run_id] = WhyRow(
                kind=card.kind,
                summary=card.evidence.get("summary") or "",
                resolution=cast(Any, None if card.status in OPEN_STATUSES else card.resolution),
                by=card.resolved_by,
                message=tap.message if tap is not None and tap.decision_id == card.id else None,
                recovered=fix.recovered if fix else None,
                turns_after=fix.turns_after if fix else None,
                turn=max(card.evidence.get("turns") or (), default=None),
            )
    return whys


def _has_tag(sign: str, name: str) -> Q:
    words = make_tag(sign, name)
    if not words:
        return Q(pk__in=[])
    return Q(id__in=index.run_ids_containing(Phrase(words=(words,), is_prefix=name.endswith("*"))))


def _acted_on_by(name: str) -> Q:
    taps = Intervention.objects.filter(run=OuterRef("pk"))
    # Acts of a policy, a judge or an agent have a name too.
    if name.lower() == "person":
        return Q(Exists(taps.exclude(by__in=NON_PERSON_ACTORS)))
    cards = Decision.objects.filter(run=OuterRef("pk"), resolved_by__icontains=name)
    return Q(Exists(taps.filter(by__icontains=name))) | Q(Exists(cards))


def _has_any_fact(named: Sequence[str]) -> Q:
    facts = {
        "flagged": Exists(Decision.objects.filter(run=OuterRef("pk")).exclude(kind=PERMISSION)),
        "fixed": Exists(Autofix.objects.filter(run=OuterRef("pk"))),
        "unpriced": Q(meters__unpriced_calls__gt=0),
        "imported": RECORDED,
    }
    either = Q(pk__in=[])
    for name in named:
        either |= Q(facts[name])
    return either


def _in_bounds(column: str, bounds: Bounds, *, less: int = 0) -> Q:
    found = Q()
    if bounds.lower is not None:
        found &= Q(**{f"{column}__{'gte' if bounds.includes_lower else 'gt'}": bounds.lower - less})
    if bounds.upper is not None:
        found &= Q(**{f"{column}__{'lte' if bounds.includes_upper else 'lt'}": bounds.upper - less})
    return found


def find_match(run: Run, terms: Sequence[Phrase]) -> MatchRow | None:
    """Return the part of a run's text where the words are; None: none is indexed."""
    mark = IndexedRun.objects.filter(run=run).first()
    # The index gives the turn, so a long run need not be read to find it.
    part = index.find_part(mark.id, terms) if mark and terms else None
    if part is None or part == RUN_PART:
        return first_match(run_texts(run, related_texts([run])[run.id]), terms, turn=None)
    turn = Turn.objects.filter(run=run, seq=part - 1).first()
    return first_match(turn_texts(turn), terms, turn=turn.seq) if turn else None


def first_match(
    texts: Iterable[Field], terms: Sequence[Phrase], *, turn: int | None
) -> MatchRow | None:
    """Return a part of the first text that has one of the words."""
    for name, text in texts:
        # Bounded: a result may be megabytes, and the page waits for it.
        if spans := list(spans_in(text[:MAX_SEARCHED_CHARS], terms)):
            start = max(0, spans[0][0] - CHARS_BEFORE)
            piece = text[start : start + EXCERPT_LENGTH]
            marks: list[Span] = []
            for begin, end in spans:
                # Terms may share words; overlapping marks could not be drawn.
                if begin - start < len(piece) and (not marks or begin - start >= marks[-1][1]):
                    marks.append((begin - start, min(end - start, len(piece))))
            return MatchRow(turn=turn, field=name, text=piece, marks=tuple(marks))
    return None


def spans_in(text: str, terms: Sequence[Phrase]) -> Iterator[Span]:
    """Yield the start and end of each match of the terms in a text."""
    placed = list(located_words(text))
    for at in range(len(placed)):
        for term in terms:
            part = placed[at : at + len(term.words)]
            *before, last = (word for word, _, _ in part)
            *first, end = term.words
            if before == first and (last.startswith(end) if term.is_prefix else last == end):
                yield part[0][1], part[-1][2]
                break


# Token -> the condition it puts on a run.
CONDITIONS: dict[str, Any] = {
    # A run is found by its name at once, by its turns a second or two after they arrive.
    "text": lambda words: (
        Q(id__in=index.run_ids_containing(words))
        | Q(name__icontains=words.text)
        | Q(goal__icontains=words.text)
        | Q(meters__doing__icontains=words.text)
    ),
    "agent": lambda name: Q(agent__iexact=name) | _has_tag(AGENT_SIGN, name),
    "tool": lambda name: _has_tag(TOOL_SIGN, name),
    "model": lambda name: Q(meters__model__icontains=name),
    "by": _acted_on_by,
    "project": lambda name: Q(project__in=Project.objects.filter(name__icontains=name)),
    "kind": lambda name: Q(Exists(Decision.objects.filter(run=OuterRef("pk"), kind__iexact=name))),
    "status": lambda named: Q(status__in=named),
    "mode": lambda named: Q(mode__in=named),
    "is": _has_any_fact,
    "ended": lambda named: IS_OVER if named[-1] == "yes" else ~IS_OVER,
    "cost": lambda bounds: _in_bounds("meters__cost_usd", bounds),
    # `seq` counts from 0, people from 1.
    "turns": lambda bounds: _in_bounds("meters__last_seq", bounds, less=1),
    "since": lambda moment: Q(started_at__gte=moment),
    "until": lambda moment: Q(started_at__lt=moment),
}


# What the loops of a run cost, by its cards.
_LOOP_CARDS = (
    Decision.objects.filter(run=OuterRef("pk"))
    .exclude(kind__in=NOT_LOOPS)
    .order_by()
    # A JSON null read as text: SQLite returns the word.
    .annotate(
        cost=Cast(NullIf(KeyTextTransform("cost_usd", "evidence"), Value("null")), FloatField())
    )
)
# As floats: enough for sorting, and SQLite sums nothing else.
_LOOP_COSTS = Subquery(
    _LOOP_CARDS.values("run").annotate(sum=Sum("cost")).values("sum"), output_field=FloatField()
)

# Column -> what it sorts by, and how the cursor's text is parsed.
SORTS: dict[str, tuple[Any, Any]] = {
    "status": (F("status"), str),
    # In lower case: SQLite, and PostgreSQL in some locales, sort all capitals first.
    "name": (Lower("name"), str),
    "agent": (Lower("agent"), str),
    # A run without a score sorts below all others: the databases place NULL at different ends.
    "score": (Coalesce(F("meters__highest_score"), Value(-1.0)), float),
    "turns": (F("meters__last_seq"), int),
    "cost": (F("meters__cost_usd"), Decimal),
    "loops": (Coalesce(_LOOP_COSTS, Value(0.0)), float),
    "started": (F("started_at"), datetime.fromisoformat),
}


def sort_runs(found: QuerySet[Run], sort: str, *, cursor: str | None = None) -> QuerySet[Run]:
    """Sort runs by a column, with `-` before it for the highest first.

    Raises:
        InvalidRequest: there is no such column, or the cursor is not from this order.
    """
    descends, name = sort.startswith("-"), sort.removeprefix("-")
    if name not in SORTS:
        raise InvalidRequest(f"sort: expected one of {', '.join(SORTS)}.", field="sort")
    expression, read = SORTS[name]
    found = found.annotate(place=expression)
    if cursor:
        try:
            text, last_id = json.loads(cursor)
            value, run_id = read(text), UUID(last_id)
        # A client sends the cursor: it may be from another column, or no JSON at all.
        except (ValueError, TypeError, AttributeError, InvalidOperation):
            refused = "cursor: expected one that `next` gave."
            raise InvalidRequest(refused, field="cursor") from None
        # The id breaks ties: runs with equal values are neither skipped nor shown twice.
        side = "lt" if descends else "gt"
        beyond = Q(**{f"place__{side}": value}) | Q(**{"place": value, f"id__{side}": run_id})
        found = found.filter(beyond)
    return found.order_by(*(["-place", "-id"] if descends else ["place", "id"]))


def cursor_of(run: Run) -> str:
    """Return the cursor of a page's end: the last run's value and id."""
    place = run.place  # type: ignore[attr-defined]  # annotated by `sort_runs`
    text = place.isoformat() if isinstance(place, datetime) else str(place)
    return json.dumps([text, str(run.id)])


# Column -> where a row has its value; flat names for a spreadsheet, while JSON shows the nesting.
CSV_COLUMNS = {
    "id": "id",
    "project": "project",
    "name": "name",
    "agent": "agent",
    "status": "status",
    "mode": "mode",
    "model": "model",
    "goal": "goal",
    "started_at": "started_at",
    "ended_at": "ended_at",
    "turns": "turns",
    "calls": "calls",
    "cost_usd": "cost_usd",
    "judge_cost_usd": "judge_cost_usd",
    "unpriced_calls": "unpriced_calls",
    "loop_cost_usd": "loop_cost_usd",
    "why_kind": "why.kind",
    "why": "why.summary",
    "resolution": "why.resolution",
    "by": "why.by",
    "recovered": "why.recovered",
}
# Built once: an export reads these columns of every run.
_read_columns = attrgetter(*CSV_COLUMNS.values())


def jsonl_lines(rows: Iterable[HistoryRow]) -> Iterator[bytes]:
    """Yield one JSON object per line."""
    for row in rows:
        yield to_json(row) + b"\n"


def csv_lines(rows: Iterable[HistoryRow]) -> Iterator[bytes]:
    """Yield a header and one line for each run (RFC 4180); no cell is a formula."""
    # Line by line: the download streams, and nothing holds the whole file.
    for cells in chain([CSV_COLUMNS], map(_read_columns, rows)):
        yield csv_text([cells]).encode()
