"""The ledger of model calls: each entered once, from the best source its run has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from django.db.models import Q

from guard.pricing import price
from guard.turn import Turn as GuardTurn
from guard.turn import Usage
from missioncontrol.compiled import new_row
from missioncontrol.costs.prices import own_price
from missioncontrol.costs.spending import Use
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import ModelCall, Run, Turn
from missioncontrol.runs.rows import BURN_MINUTES, MICRO, USAGE_COLUMNS
from missioncontrol.wire.events import CostAttributed

Pricer = Literal["agent", "price list", "project"]

# Who tells what a run used, the worst first. The last two are the agent's own events; one of them
# is counted, never two, for both tell of the same calls.
SOURCES = ("turns", "transcript", "spans", "logs")
JUDGE = "judge"
# What the column holds; nobody reaches it honestly.
HIGHEST_SUM = Decimal(9999999999)
UNSPENT = Decimal(0).quantize(MICRO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A model call as somebody tells it.

    `cost_usd` is the teller's own figure, which wins over the price list; `made_at`
    picks the price of that day; `began_at` is by the teller's clock.
    """

    call_id: str
    source: str
    agent: str = ""
    model: str | None = None
    provider: str | None = None
    usage: Usage | None = None
    cost_usd: Decimal | None = None
    made_at: datetime | None = None
    began_at: datetime | None = None
    turn_seq: int | None = None
    turn_key: str | None = None

    @classmethod
    def of_turn(cls, turn: GuardTurn, row: Turn, *, call_id: str, source: str) -> Call:
        """Return the call that a turn itself tells of."""
        return cls(
            call_id=call_id,
            source=source,
            agent=row.agent,
            model=turn.model,
            provider=turn.provider,
            usage=turn.usage,
            cost_usd=turn.cost_usd,
            made_at=turn.ts,
            turn_seq=row.seq,
        )


def is_best_source(run: Run, source: str) -> bool:
    """Whether what this source tells of the run counts: no better one has spoken."""
    # The same source goes on being heard: it tells of one call after the other.
    return SOURCES.index(source) >= SOURCES.index(run.meters.usage_source or SOURCES[0])


def enter(tx: RunTransaction, run: Run, call: Call) -> tuple[ModelCall, Use]:
    """Add a call to its run; return the row to keep, and what it used.

    The run's row lock is held, and the call was not entered before.
    """
    usage, (cost, pricer) = call.usage or Usage(), cost_of(call, run.project.prices)
    meters = run.meters
    # Callers have asked `is_best_source`: it is the best source that has spoken so far.
    meters.usage_source = call.source
    for name, column in USAGE_COLUMNS.items():
        if used := getattr(usage, name):
            setattr(meters, column, getattr(meters, column) + used)
    if cost is None:
        meters.unpriced_calls += 1
    else:
        meters.cost_usd = min(meters.cost_usd + cost, HIGHEST_SUM)
        minute = int(tx.at.timestamp()) // 60
        # The burn rate is of the last minutes: what is older is let go with the next call.
        known = [entry for entry in meters.recent_costs if minute - entry[0] < BURN_MINUTES]
        recent: dict[int, Decimal] = {entry[0]: Decimal(entry[1]) for entry in known}
        recent[minute] = recent.get(minute, Decimal(0)) + cost
        meters.recent_costs = [[when, str(total)] for when, total in sorted(recent.items())]
    row = row_of(tx, run, call, cost)
    tx.record(
        run,
        CostAttributed,
        by="agent",
        source=call.source,
        cost_usd=cost,
        call_id=call.call_id,
        agent=call.agent,
        model=row.model,
        provider=call.provider,
        usage=call.usage,
        priced_by=pricer,
        turn_seq=call.turn_seq,
    )
    return row, Use(usd=cost or Decimal(0), tokens=usage.total)


def take_back(
    tx: RunTransaction, run: Run, *, better: str, since: datetime | None
) -> list[ModelCall]:
    """Forget what worse sources told of a run since a moment; return the calls.

    The events told of it stay; one more tells that it was taken back.
    """
    worse = ModelCall.objects.filter(run=run, source__in=SOURCES[: SOURCES.index(better)])
    # Rows of earlier versions tell no time: of them nobody knows that they are older.
    late = Q() if since is None else Q(at__gte=since) | Q(at=None)
    calls = list(worse.filter(late).order_by("pk"))
    if not calls:
        return []
    total = {
        name: -sum(getattr(call, column) for call in calls)
        for name, column in USAGE_COLUMNS.items()
    }
    cost = sum((call.cost_usd or UNSPENT for call in calls), UNSPENT)
    tx.record(
        run,
        CostAttributed,
        by="agent",
        source=calls[-1].source,
        # A sum that reached the highest holds less than its parts.
        cost_usd=-min(cost, run.meters.cost_usd),
        # Negative: whoever adds up the events comes to what is left.
        usage=Usage(**total),
        taken_back=len(calls),
    )
    for name, column in USAGE_COLUMNS.items():
        setattr(run.meters, column, getattr(run.meters, column) + total[name])
    run.meters.unpriced_calls -= sum(call.cost_usd is None for call in calls)
    # A sum that was capped would fall below zero.
    run.meters.cost_usd = max(run.meters.cost_usd - cost, UNSPENT)
    recent = {entry[0]: Decimal(entry[1]) for entry in run.meters.recent_costs}
    for call in calls:
        minute = int(call.at.timestamp()) // 60 if call.at else None
        if minute in recent:
            recent[minute] -= call.cost_usd or 0
    run.meters.recent_costs = [[when, str(total)] for when, total in recent.items() if total > 0]
    # What a turn told of itself stays there; else the better source, which may place the same call
    # at another turn, would show it twice.
    placed = [c.turn_seq for c in calls if c.turn_seq is not None and c.source != "turns"]
    Turn.objects.filter(run=run, seq__in=placed).update(usage=None, cost_usd=None)
    # Last: its events tell what was taken back, and the better source tells the calls anew.
    ModelCall.objects.filter(pk__in=[call.pk for call in calls]).delete()
    return calls


def row_of(tx: RunTransaction, run: Run, call: Call, cost: Decimal | None) -> ModelCall:
    """Return a call as a row of the ledger."""
    usage = call.usage or Usage()
    tokens = {column: getattr(usage, name) for name, column in USAGE_COLUMNS.items()}
    return new_row(
        ModelCall,
        run_id=run.id,
        project_id=run.project_id,
        call_id=call.call_id,
        at=tx.at,
        agent=call.agent,
        # Some tell the model once, at the session's beginning.
        model=call.model or run.meters.model,
        source=call.source,
        cost_usd=cost,
        began_at=call.began_at,
        turn_seq=call.turn_seq,
        turn_key=call.turn_key,
        **tokens,
    )


def cost_of(
    call: Call, own: Mapping[str, Any] | None = None
) -> tuple[Decimal | None, Pricer | None]:
    """The teller's own figure wins; then the project's price, the price list, or nothing."""
    if call.cost_usd is not None:
        return to_the_micro(call.cost_usd), "agent"
    if call.usage is None:
        return None, None
    # Before the public list: a project may pay less, or run the model itself.
    if (mine := own_price(own or {}, call.model, call.usage)) is not None:
        return to_the_micro(mine), "project"
    found = price(call.usage, model=call.model, provider=call.provider, at=call.made_at)
    return (None, None) if found is None else (to_the_micro(found), "price list")


def to_the_micro(cost: Decimal) -> Decimal:
    """Round to what the columns hold."""
    rounded = cost.quantize(MICRO)
    # As it came where nothing is lost: the event shows the figure that its teller wrote.
    return cost if cost == rounded else rounded
