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

from missioncontrol.decisions.models import NOT_LOOPS, Decision
from missioncontrol.errors import InvalidRequest
from missioncontrol.runs.models import Run

# What the loops of a run cost, by its cards.
_LOOP_CARDS = (
    Decision.objects.filter(run=OuterRef("pk"))
    .exclude(kind__in=NOT_LOOPS)
    .order_by()
    # A JSON null as text: SQLite gives the word.
    .annotate(
        cost=Cast(NullIf(KeyTextTransform("cost_usd", "evidence"), Value("null")), FloatField())
    )
)
# As floats: for an order that is enough, and SQLite sums nothing else.
_LOOP_COSTS = Subquery(
    _LOOP_CARDS.values("run").annotate(sum=Sum("cost")).values("sum"), output_field=FloatField()
)

# Column -> what it sorts by, and how a cursor's text is read back.
SORTS: dict[str, tuple[Any, Any]] = {
    "status": (F("status"), str),
    # In small letters: SQLite, and PostgreSQL in some locales, puts all capitals first.
    "name": (Lower("name"), str),
    "agent": (Lower("agent"), str),
    # A run without a score comes after all others: the databases put NULL at different ends.
    "score": (Coalesce(F("meters__highest_score"), Value(-1.0)), float),
    "turns": (F("meters__last_seq"), int),
    "cost": (F("meters__cost_usd"), Decimal),
    "loops": (Coalesce(_LOOP_COSTS, Value(0.0)), float),
    "started": (F("started_at"), datetime.fromisoformat),
}


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
        try:
            text, last_id = json.loads(cursor)
            value, run_id = read(text), UUID(last_id)
        # A cursor comes back from a client: it may be of another column, or no JSON at all.
        except (ValueError, TypeError, AttributeError, InvalidOperation):
            refused = "cursor: expected one that `next` gave."
            raise InvalidRequest(refused, field="cursor") from None
        # The id breaks ties: of runs with one value none is skipped or shown twice.
        side = "lt" if descends else "gt"
        beyond = Q(**{f"place__{side}": value}) | Q(**{"place": value, f"id__{side}": run_id})
        found = found.filter(beyond)
    return found.order_by(*(["-place", "-id"] if descends else ["place", "id"]))


def cursor_of(run: Run) -> str:
    """Say where a page ended: the last run's value and id."""
    place = run.place  # type: ignore[attr-defined]  # annotated by `sort_runs`
    text = place.isoformat() if isinstance(place, datetime) else str(place)
    return json.dumps([text, str(run.id)])
