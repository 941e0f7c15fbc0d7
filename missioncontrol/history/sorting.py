"""Put runs in the order of one column, a page at a time.

A page goes on after the last row of the one before by that row's value and id, as they
were shown: a run that moves meanwhile is neither skipped for it nor shifts the others.
"""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from django.db.models import F, FloatField, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, Lower, NullIf

from missioncontrol.decisions.models import Decision
from missioncontrol.errors import InvalidRequest
from missioncontrol.runs.models import Run
from missioncontrol.wire.decisions import PERMISSION


def _in_loops() -> Coalesce:
    """Add up what the loops of a run cost, by its cards."""
    cost = KeyTextTransform("cost_usd", "evidence")
    cards = Decision.objects.filter(run=OuterRef("pk")).exclude(kind__in=["budget", PERMISSION])
    # A JSON null as text: SQLite gives the word.
    told = cards.order_by().annotate(cost=Cast(NullIf(cost, Value("null")), FloatField()))
    sums = told.values("run").annotate(sum=Sum("cost")).values("sum")
    return Coalesce(Subquery(sums, output_field=FloatField()), Value(0.0))


SORTS: dict[str, tuple[Any, Any]] = {
    "status": (F("status"), str),
    "name": (Lower("name"), str),
    "agent": (Lower("agent"), str),
    "score": (Coalesce(F("meters__highest_score"), Value(-1.0)), float),
    "turns": (F("meters__last_seq"), int),
    "cost": (F("meters__cost_usd"), Decimal),
    "loops": (_in_loops(), float),
    "started": (F("started_at"), datetime.fromisoformat),
}
"""Column -> what it sorts by, and how a cursor's text is read back."""


def sort_runs(found: QuerySet[Run], sort: str, *, cursor: str | None = None) -> QuerySet[Run]:
    """Put runs in the order of a column, `-` before it for the highest first.

    Raises:
        InvalidRequest: there is no such column, or the cursor is not of this order.
    """
    descends, name = sort.startswith("-"), sort.removeprefix("-")
    if name not in SORTS:
        raise InvalidRequest(f"sort: expected one of {', '.join(SORTS)}.", field="sort")
    expression, read = SORTS[name]
    found = found.annotate(place=expression)
    if cursor:
        value, run_id = _read_cursor(cursor, read)
        side = "lt" if descends else "gt"
        beyond = Q(**{f"place__{side}": value}) | Q(**{"place": value, f"id__{side}": run_id})
        found = found.filter(beyond)
    return found.order_by(*(["-place", "-id"] if descends else ["place", "id"]))


def cursor_of(run: Run) -> str:
    """Say where a page ended: the last run's value and id."""
    place = run.place  # type: ignore[attr-defined]  # annotated by `sort_runs`
    text = place.isoformat() if isinstance(place, datetime) else str(place)
    return json.dumps([text, str(run.id)])


def _read_cursor(cursor: str, read: Any) -> tuple[Any, UUID]:
    try:
        text, run_id = json.loads(cursor)
        return read(text), UUID(run_id)
    except (ValueError, TypeError, AttributeError, InvalidOperation):
        raise InvalidRequest("cursor: expected one that `next` gave.", field="cursor") from None
