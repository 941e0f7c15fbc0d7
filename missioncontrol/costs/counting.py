"""Count what turns cost: each model call once, and again once an unpriced one has a price."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, NullIf

from guard.budget import Budget, Spent
from guard.turn import Role, Turn, Usage
from missioncontrol.costs.ledger import (
    JUDGE,
    MAX_SUM,
    Call,
    PricedBy,
    enter_call,
    is_best_source,
    ledger_row,
    record_cost,
    remove_worse_calls,
    round_to_micro,
)
from missioncontrol.costs.prices import project_price
from missioncontrol.costs.spending import SharedCounters, Use
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import ModelCall, Run
from missioncontrol.runs.models import Turn as TurnModel
from missioncontrol.runs.rows import USAGE_COLUMNS, ceilings_of, usage_of
from missioncontrol.runs.statements import insert_rows, update_columns
from missioncontrol.wire.costs import PriceSet

# Every token once: output includes reasoning.
TOTAL_COLUMNS = tuple(column for name, column in USAGE_COLUMNS.items() if name != "reasoning")
# Agents of one run that are counted separately without being named in its ceilings.
MAX_UNNAMED_AGENTS = 256
NO_SPENDING = Spent()
RUNS_PER_BATCH = 64
NOT_PLACED = -1


def with_counted_calls(turns: QuerySet[TurnModel]) -> QuerySet[TurnModel]:
    """Annotate each turn with `counted_at`: at which turn its model call was counted, if it was.

    `NOT_PLACED`: the call was counted, and its turn is not known yet.
    """
    # The same rule as `_call_name`, in the database: one query for all turns of a batch.
    name = Coalesce(NullIf(OuterRef("call_id"), Value("")), OuterRef("key"))
    own = ModelCall.objects.filter(run_id=OuterRef("run_id"), call_id=name)
    # Not `Exists`, for which PostgreSQL may read the whole ledger once, into a hash table.
    placed = own.annotate(placed=Coalesce("turn_seq", Value(NOT_PLACED))).values("placed")
    return turns.annotate(counted_at=Subquery(placed[:1]))


class CostTotals:
    """What one transaction counts: model calls, and what they add to shared sums.

    The caller holds the runs' row locks.
    """

    def __init__(self, turns: Iterable[TurnModel], runs: Iterable[Run], *, at: datetime) -> None:
        """`turns` must come from `with_counted_calls`."""
        seen = list(turns)
        self.counters = SharedCounters(runs, agents={turn.agent for turn in seen}, at=at)
        self._counted_at: dict[tuple[UUID, str | None], int] = {
            (turn.run_id, turn.call_id or turn.key): cast(Any, turn).counted_at
            for turn in seen
            if cast(Any, turn).counted_at is not None
        }
        # Collected, so that they are written by one statement.
        self._new_calls: list[ModelCall] = []
        self.costs: dict[UUID, Decimal | None] = {}
        """By turn, the cost of its call, for turns whose call was counted in this transaction."""
        self._repeated: list[UUID] = []

    def claim_call(self, run: Run, turn: Turn, row: TurnModel) -> bool:
        """Claim a turn's model call; several turns may carry the same one."""
        name = _call_name(turn)
        counted_at = self._counted_at.get((run.id, name))
        if counted_at is not None:
            # Shown at the first turn alone: the turns of a run add up to its meters. A call that is
            # not placed may be this turn's: telemetry may have attached it since the turn was read.
            if counted_at not in (row.seq, NOT_PLACED):
                self._repeated.append(row.id)
            return False
        if not is_best_source(run, "turns"):
            return False
        # A call without a name cannot be told from another: it is counted each time.
        if name:
            self._counted_at[run.id, name] = row.seq
        return True

    def add_call(self, call: ModelCall, row: TurnModel) -> None:
        """Collect a newly counted call, and its cost for its turn."""
        self._new_calls.append(call)
        self.costs[row.id] = call.cost_usd

    def write(self, tx: RunTransaction) -> None:
        """Store the new calls; the shared sums are added to at the transaction's very end."""
        insert_rows(ModelCall, self._new_calls)
        if self._repeated:
            TurnModel.objects.filter(pk__in=self._repeated).update(usage=None, cost_usd=None)
        # All runs of a project add to the same rows: they are locked last, for the commit alone.
        tx.before_commit.append(self.counters.write)


def count_turn(
    tx: RunTransaction, run: Run, row: TurnModel, turn: Turn, cost_totals: CostTotals
) -> None:
    """Add a turn's call, failure, tokens and dollars to its run and to what runs share."""
    # A person who speaks to the agent may have fixed what failed.
    if turn.role is Role.USER:
        reset_failures(run)
    is_paid = turn.usage is not None or turn.cost_usd is not None
    # A proposal comes again with its outcome, and is counted then.
    if turn.is_proposed and not is_paid:
        return
    use, meters = Use(), run.meters
    if not turn.is_proposed:
        use.turns = 1
        meters.done_turns += 1
        if turn.tool:
            use.calls = 1
            meters.tool_calls += 1
            meters.failures = meters.failures + 1 if turn.error else 0
    if is_paid and cost_totals.claim_call(run, turn, row):
        # The ledger needs a name for each call: without one, the turn's row id.
        paid = Call.of_turn(turn, row, call_id=_call_name(turn) or str(row.id), source="turns")
        call, spent = enter_call(tx, run, paid)
        use.add(spent)
        cost_totals.add_call(call, row)
    cost_totals.counters.add(run, row.agent, use)
    count_agent_use(run, row.agent, use, obs=row.obs, failed=bool(turn.error))


def charge_judge(
    tx: RunTransaction,
    run: Run,
    *,
    call_id: str,
    usage: Usage,
    cost: Decimal | None,
    model: str,
    agent: str,
) -> None:
    """Add a judge's model call to its run, under the run's lock; once per `call_id`.

    `agent` is the agent whose card was judged.
    """
    if ModelCall.objects.filter(run=run, call_id=call_id).exists():
        return
    pricer: PricedBy | None = None if cost is None else "price list"
    # A judge that reports its own cost is believed, as an agent is.
    if cost is None and (own_cost := project_price(run.project.prices, model, usage)) is not None:
        cost, pricer = round_to_micro(own_cost), "project"
    # The shared counters are only added to, so none is read.
    counters = SharedCounters((), at=tx.at)
    counters.add(run, agent, Use(usd=cost or Decimal(0), tokens=usage.total))
    run.meters.judge_cost_usd = min(run.meters.judge_cost_usd + (cost or 0), MAX_SUM)
    run.meters.unpriced_calls += cost is None
    call = Call(call_id=call_id, source=JUDGE, agent=agent, model=model, usage=usage)
    row = ledger_row(tx, run, call, cost)
    row.save(force_insert=True)
    record_cost(tx, run, row, by="judge", priced_by=pricer, call=call)
    tx.before_commit.append(counters.write)


def spent_by(run: Run, *, at: datetime, below: Spent = NO_SPENDING) -> Spent:
    """Return what a run, including its judge, and the runs below it have used so far.

    The time in which the agent was asked to wait does not count.
    """
    held = run.meters.held_seconds
    if run.hold is not None:
        # The current hold is in no sum yet: `journal` adds it when it ends.
        held += (at - run.hold.since).total_seconds()
    return Spent(
        usd=run.meters.cost_usd + run.meters.judge_cost_usd + below.usd,
        tokens=usage_of(run.meters).total + below.tokens,
        calls=run.meters.tool_calls + below.calls,
        turns=run.meters.done_turns + below.turns,
        seconds=max(0.0, (at - run.started_at).total_seconds() - held),
        failures=run.meters.failures,
        agents={
            name: Spent(
                usd=Decimal(usd), tokens=tokens, calls=calls, turns=turns, failures=failures
            )
            for name, (usd, tokens, calls, turns, failures, *_) in run.meters.agents_spent.items()
        },
    )


def _call_name(turn: Turn) -> str | None:
    """Return the call's id, otherwise the turn's key: a completion repeats its proposal's usage."""
    return turn.call_id or turn.key


def count_agent_use(run: Run, agent: str, use: Use, *, obs: int, failed: bool = False) -> None:
    """Add to what one agent of the run used, if ceilings apply to it."""
    agents = ceilings_of(run).get("agents")
    if not agents or not agent or Budget.from_mapping({"agents": agents}).of_agent(agent) is None:
        return
    usd, tokens, calls, turns, failures = run.meters.agents_spent.get(agent, ("0", 0, 0, 0, 0))[:5]
    if use.calls:
        # Only calls succeed or fail: messages in between neither extend nor end a row of failures.
        failures = failures + 1 if failed else 0
    used = [
        str(Decimal(usd) + use.usd),
        tokens + use.tokens,
        calls + use.calls,
        turns + use.turns,
        failures,
        obs,
    ]
    spent = {**run.meters.agents_spent, agent: used}
    unnamed = spent.keys() - agents
    if len(unnamed) > MAX_UNNAMED_AGENTS:
        # Clients name agents: there is no limit to names if each call has a new one.
        del spent[min(unnamed, key=lambda name: spent[name][5:])]
    run.meters.agents_spent = spent


def switch_source(
    tx: RunTransaction, run: Run, *, source: str, since: datetime | None, counters: SharedCounters
) -> None:
    """Count a run from a better source from now on, replacing what worse ones reported since.

    Calls before `since` stay counted, because this source will not report them; None: all are
    replaced. If the source later reports an earlier call, more is replaced.

    The caller holds the run's row lock; shared sums change when `counters` is written.
    """
    for call in remove_worse_calls(tx, run, better=source, since=since):
        tokens = sum(getattr(call, column) for column in TOTAL_COLUMNS)
        removed = Use(usd=-(call.cost_usd or Decimal(0)), tokens=-tokens)
        counters.add(run, call.agent, removed, at=call.at)
        # For an agent that is not counted separately, there is nothing to take back.
        if call.agent in run.meters.agents_spent:
            count_agent_use(run, call.agent, removed, obs=run.meters.last_obs)
    run.meters.usage_source = source


def reset_failures(run: Run) -> None:
    """Start new rows of failures: a person stepped in."""
    run.meters.failures = 0
    if run.meters.agents_spent:
        run.meters.agents_spent = {
            name: [*row[:4], 0, *row[5:]] for name, row in run.meters.agents_spent.items()
        }


def set_price(
    project_id: UUID, model: str, table: dict[str, str] | None, *, by: str, at: datetime
) -> PriceSet:
    """Set a price, or remove it (None), then price the model's unpriced calls with it.

    Calls are priced in batches of runs, each under its own locks: after an interruption some
    stay unpriced, and setting the same price again continues. Priced calls keep their price.
    """
    with journal.lock_project(project_id) as project:
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
        for first in range(0, len(runs), RUNS_PER_BATCH):
            with journal.lock_runs(runs[first : first + RUNS_PER_BATCH], at=at) as tx:
                priced += _price_calls(tx, model, by=by)
    return PriceSet(model=model, calls=len(priced), usd=sum(priced, Decimal(0)))


def _price_calls(tx: RunTransaction, model: str, *, by: str) -> list[Decimal]:
    """Price these runs' unpriced calls of a model; the caller holds their row locks."""
    unpriced = ModelCall.objects.filter(run_id__in=tx.runs, model=model, cost_usd=None)
    # No counter is read: the calls belong to days long past.
    counters = SharedCounters((), at=tx.at)
    priced = []
    for call in unpriced.order_by("pk"):
        run = tx.run(call.run_id)
        cost = project_price(run.project.prices, call.model, usage_of(call))
        # The price may have been removed while earlier runs were counted.
        if cost is None:
            continue
        call.cost_usd = round_to_micro(cost)
        priced.append(call)
        is_judges = call.source == JUDGE
        column = "judge_cost_usd" if is_judges else "cost_usd"
        counted = getattr(run.meters, column) + call.cost_usd
        setattr(run.meters, column, min(counted, MAX_SUM))
        run.meters.unpriced_calls -= 1
        use = Use(usd=call.cost_usd)
        # On the day of the call, as if its price had been known then.
        counters.add(run, call.agent, use, at=call.at)
        if not is_judges:
            count_agent_use(run, call.agent, use, obs=run.meters.last_obs)
            if call.turn_seq is not None:
                # Only if the turn shows no cost: the agent's own figure is not overwritten.
                shown = TurnModel.objects.filter(run=run, seq=call.turn_seq, cost_usd=None)
                shown.update(cost_usd=call.cost_usd)
        record_cost(tx, run, call, by=by, priced_by="project")
    update_columns(ModelCall, ("cost_usd",), priced)
    counters.write()
    return [call.cost_usd for call in priced if call.cost_usd is not None]
