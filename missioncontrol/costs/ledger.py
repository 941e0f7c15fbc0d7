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
from missioncontrol.costs.prices import project_price
from missioncontrol.costs.spending import Use
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import ModelCall, Run, Turn
from missioncontrol.runs.rows import BURN_MINUTES, MICRO, USAGE_COLUMNS, ZERO_COST
from missioncontrol.runs.statements import new_row
from missioncontrol.wire.events import CostAttributed

PricedBy = Literal["agent", "price list", "project"]

# Who reports what a run used, the worst first. The last two are the agent's own events; only one
# of them is counted, because both report the same calls.
SOURCES = ("turns", "transcript", "spans", "logs")
JUDGE = "judge"
# The most that the column holds; no honest run reaches it.
MAX_SUM = Decimal(9999999999)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A model call as a source reports it.

    `cost_usd` is the source's own figure, which wins over the price list; `made_at`
    selects the price of that day; `began_at` is by the source's clock.
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
        """Return the call that a turn itself reports."""
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
    """Tell whether this source's reports of the run count: no better one has reported."""
    # The source in use still counts: it reports one call after another.
    return SOURCES.index(source) >= SOURCES.index(run.meters.usage_source or SOURCES[0])


def enter_call(tx: RunTransaction, run: Run, call: Call) -> tuple[ModelCall, Use]:
    """Add a call to its run; return the row to store, and what it used.

    The caller holds the run's row lock, and has not entered the call before.
    """
    usage, (cost, pricer) = call.usage or Usage(), cost_of(call, run.project.prices)
    meters = run.meters
    # Callers have checked `is_best_source`: this is the best source so far.
    meters.usage_source = call.source
    for name, column in USAGE_COLUMNS.items():
        if used := getattr(usage, name):
            setattr(meters, column, getattr(meters, column) + used)
    if cost is None:
        meters.unpriced_calls += 1
    else:
        meters.cost_usd = min(meters.cost_usd + cost, MAX_SUM)
        minute = int(tx.at.timestamp()) // 60
        # The burn rate covers the last minutes: older entries are dropped at the next call.
        known = [entry for entry in meters.recent_costs if minute - entry[0] < BURN_MINUTES]
        recent: dict[int, Decimal] = {entry[0]: Decimal(entry[1]) for entry in known}
        recent[minute] = recent.get(minute, Decimal(0)) + cost
        meters.recent_costs = [[when, str(total)] for when, total in sorted(recent.items())]
    row = ledger_row(tx, run, call, cost)
    record_cost(tx, run, row, by="agent", priced_by=pricer, call=call)
    return row, Use(usd=cost or Decimal(0), tokens=usage.total)


def record_cost(
    tx: RunTransaction,
    run: Run,
    row: ModelCall,
    *,
    by: str,
    priced_by: PricedBy | None,
    call: Call | None = None,
) -> None:
    """Append to the run's chain what a call cost; `call`: as it was reported, if it is new."""
    tx.record(
        run,
        CostAttributed,
        by=by,
        source=row.source,
        cost_usd=row.cost_usd,
        call_id=row.call_id,
        agent=row.agent,
        model=row.model,
        provider=call.provider if call else None,
        usage=call.usage if call else None,
        priced_by=priced_by,
        turn_seq=row.turn_seq,
    )


def remove_worse_calls(
    tx: RunTransaction, run: Run, *, better: str, since: datetime | None
) -> list[ModelCall]:
    """Delete what worse sources reported of a run since a time; return the calls.

    The events about them stay; one more records that they were taken back.
    """
    worse = ModelCall.objects.filter(run=run, source__in=SOURCES[: SOURCES.index(better)])
    # Rows of earlier versions have no time: they are not known to be older.
    late = Q() if since is None else Q(at__gte=since) | Q(at=None)
    calls = list(worse.filter(late).order_by("pk"))
    if not calls:
        return []
    total = {
        name: -sum(getattr(call, column) for call in calls)
        for name, column in USAGE_COLUMNS.items()
    }
    cost = sum((call.cost_usd or ZERO_COST for call in calls), ZERO_COST)
    tx.record(
        run,
        CostAttributed,
        by="agent",
        source=calls[-1].source,
        # A sum that reached the maximum holds less than its parts.
        cost_usd=-min(cost, run.meters.cost_usd),
        # Negative, so that the sum over the events is what is left.
        usage=Usage(**total),
        taken_back=len(calls),
    )
    for name, column in USAGE_COLUMNS.items():
        setattr(run.meters, column, getattr(run.meters, column) + total[name])
    run.meters.unpriced_calls -= sum(call.cost_usd is None for call in calls)
    # A capped sum would fall below zero.
    run.meters.cost_usd = max(run.meters.cost_usd - cost, ZERO_COST)
    recent = {entry[0]: Decimal(entry[1]) for entry in run.meters.recent_costs}
    for call in calls:
        minute = int(call.at.timestamp()) // 60 if call.at else None
        if minute in recent:
            recent[minute] -= call.cost_usd or 0
    run.meters.recent_costs = [[when, str(total)] for when, total in recent.items() if total > 0]
    # What a turn reported of itself stays. Other calls are removed from their turns, or the better
    # source, which may place them at other turns, would show them twice.
    placed = [c.turn_seq for c in calls if c.turn_seq is not None and c.source != "turns"]
    Turn.objects.filter(run=run, seq__in=placed).update(usage=None, cost_usd=None)
    # Last: the events above need these rows, and the better source enters the calls again.
    ModelCall.objects.filter(pk__in=[call.pk for call in calls]).delete()
    return calls


def ledger_row(tx: RunTransaction, run: Run, call: Call, cost: Decimal | None) -> ModelCall:
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
        # Some sources name the model only once, when the session starts.
        model=call.model or run.meters.model,
        source=call.source,
        cost_usd=cost,
        began_at=call.began_at,
        turn_seq=call.turn_seq,
        turn_key=call.turn_key,
        **tokens,
    )


def cost_of(
    call: Call, project_prices: Mapping[str, Any] | None = None
) -> tuple[Decimal | None, PricedBy | None]:
    """Return a call's cost and who priced it; None: no price is known.

    The source's own figure wins, then the project's price, then the price list.
    """
    if call.cost_usd is not None:
        return round_to_micro(call.cost_usd), "agent"
    if call.usage is None:
        return None, None
    # Before the public list: a project may pay less, or run the model itself.
    if (own_cost := project_price(project_prices or {}, call.model, call.usage)) is not None:
        return round_to_micro(own_cost), "project"
    found = price(call.usage, model=call.model, provider=call.provider, at=call.made_at)
    return (None, None) if found is None else (round_to_micro(found), "price list")


def round_to_micro(cost: Decimal) -> Decimal:
    """Round a cost to what the columns hold."""
    rounded = cost.quantize(MICRO)
    # Unchanged if nothing is lost: the event shows the figure as its source wrote it.
    return cost if cost == rounded else rounded
