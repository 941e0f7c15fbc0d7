"""Set a project's own price of a model, and count again what had none."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from guard.turn import Usage
from missioncontrol.costs.counting import count_agent
from missioncontrol.costs.ledger import HIGHEST_SUM, JUDGE, to_the_micro
from missioncontrol.costs.prices import own_price
from missioncontrol.costs.spending import Spending, Use
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import ModelCall, Turn
from missioncontrol.runs.rows import USAGE_COLUMNS
from missioncontrol.runs.statements import update_columns
from missioncontrol.wire.costs import PriceSet
from missioncontrol.wire.events import CostAttributed

RUNS_AT_ONCE = 64


def set_price(
    project_id: UUID, model: str, table: dict[str, str] | None, *, by: str, at: datetime
) -> PriceSet:
    """Set or remove (None) a price, then count unpriced calls of the model with it.

    Counted in batches of runs, each under its own locks: one that is broken off leaves
    calls unpriced, and setting the same price again goes on. What was priced stays.
    """
    with journal.holding_project(project_id) as project:
        before = project.prices.get(model)
        rest = {name: kept for name, kept in project.prices.items() if name != model}
        project.prices = rest if table is None else {**rest, model: table}
        project.save(update_fields=["prices"])
        if before != table:
            was, now = {model: before}, {model: table}
            journal.record_change(project_id, "prices", was, now, by=by, at=at)
    priced: list[Decimal] = []
    if table is not None:
        unpriced = ModelCall.objects.filter(project_id=project_id, model=model, cost_usd=None)
        runs = sorted(set(unpriced.values_list("run_id", flat=True)))
        for first in range(0, len(runs), RUNS_AT_ONCE):
            with journal.writing(runs[first : first + RUNS_AT_ONCE], at=at) as tx:
                priced += _count_again(tx, model, by=by)
    return PriceSet(model=model, calls=len(priced), usd=sum(priced, Decimal(0)))


def _count_again(tx: RunTransaction, model: str, *, by: str) -> list[Decimal]:
    """Price what these runs' calls of a model lack; their row locks are held."""
    unpriced = ModelCall.objects.filter(run_id__in=tx.runs, model=model, cost_usd=None)
    # Of no run beforehand: what is counted again belongs to days long past.
    spending = Spending((), at=tx.at)
    priced = []
    for call in unpriced.order_by("pk"):
        run = tx.run(call.run_id)
        usage = Usage(**{name: getattr(call, column) for name, column in USAGE_COLUMNS.items()})
        cost = own_price(run.project.prices, call.model, usage)
        # The price may have been taken away again while earlier runs were counted.
        if cost is None:
            continue
        call.cost_usd = to_the_micro(cost)
        priced.append(call)
        is_judges = call.source == JUDGE
        column = "judge_cost_usd" if is_judges else "cost_usd"
        counted = getattr(run.meters, column) + call.cost_usd
        setattr(run.meters, column, min(counted, HIGHEST_SUM))
        run.meters.unpriced_calls -= 1
        use = Use(usd=call.cost_usd)
        # On the day of the call, as if its price had been known then.
        spending.add(run, call.agent, use, at=call.at)
        if not is_judges:
            count_agent(run, call.agent, use, obs=run.meters.last_obs)
            if call.turn_seq is not None:
                # Where its own figure is missing too: what an agent told is not overwritten.
                shown = Turn.objects.filter(run=run, seq=call.turn_seq, cost_usd=None)
                shown.update(cost_usd=call.cost_usd)
        tx.record(
            run,
            CostAttributed,
            by=by,
            source=call.source,
            cost_usd=call.cost_usd,
            call_id=call.call_id,
            agent=call.agent,
            model=call.model,
            priced_by="project",
            turn_seq=call.turn_seq,
        )
    update_columns(ModelCall, ("cost_usd",), priced)
    spending.write()
    return [call.cost_usd for call in priced if call.cost_usd is not None]
