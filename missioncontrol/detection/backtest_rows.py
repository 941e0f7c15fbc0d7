"""A backtest as wire rows: both policies in sum, and the runs that either flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from pydantic import TypeAdapter

from missioncontrol.decisions.models import Decision
from missioncontrol.detection.models import Backtest, BacktestRun
from missioncontrol.wire.policies import BacktestFlag, BacktestRow, BacktestRunRow, BacktestSide
from missioncontrol.wire.rows import row_of

Label = Literal["loop", "healthy"]
# What an answer to a card says of its run; the others say nothing.
MEANINGS: dict[str, Label] = {
    "terminate": "loop",
    "inject": "loop",
    "autofix": "loop",
    "continue": "healthy",
    "allowlist": "healthy",
    "dismissed": "healthy",
}

flags: TypeAdapter[BacktestFlag] = TypeAdapter(BacktestFlag)


def summary(backtest: Backtest) -> BacktestRow:
    """Show a backtest in a list: without its runs."""
    return replace(row(backtest), runs=())


def row(backtest: Backtest) -> BacktestRow:
    """Show a backtest: both sides, and every run that either policy flags."""
    # By id, which is by time: the newest run is what a person remembers.
    results = list(backtest.results.select_related("run").order_by("-run_id"))
    run_ids = [result.run_id for result in results]
    answered = Decision.objects.filter(run_id__in=run_ids, resolution__in=MEANINGS)
    labels: dict[UUID, Label] = {}
    for run_id, resolution in answered.values_list("run_id", "resolution"):
        if labels.get(run_id) != "loop":  # one loop makes its run one
            labels[run_id] = MEANINGS[str(resolution)]
    shown = [_run_row(result, labels.get(result.run_id)) for result in results]
    return row_of(
        BacktestRow,
        backtest,
        total=len(backtest.runs),
        done=len(results),
        turns=sum(result.turns for result in results),
        error=backtest.error or None,
        today_policy=backtest.today,
        today_version=backtest.policy_version,
        loops=sum(one.label == "loop" for one in shown),
        healthy=sum(one.label == "healthy" for one in shown),
        proposed=_side([(one.proposed, one.label) for one in shown]),
        today=_side([(one.today, one.label) for one in shown]),
        # Runs that neither flags are in the sums alone: a list of them would say nothing.
        runs=tuple(one for one in shown if one.proposed or one.today),
    )


def _run_row(result: BacktestRun, label: Label | None) -> BacktestRunRow:
    proposed = flags.validate_python(result.proposed) if result.proposed else None
    today = flags.validate_python(result.today) if result.today else None
    return BacktestRunRow(
        run=result.run_id,
        run_name=result.run.name,
        agent=result.run.agent,
        started_at=result.run.started_at,
        turns=result.turns,
        proposed=proposed,
        today=today,
        label=label,
        differs=_place(proposed) != _place(today),
    )


def _place(flag: BacktestFlag | None) -> tuple[Any, ...] | None:
    # What came after it follows from these three, and need not be compared.
    return None if flag is None else (flag.alarm_turn, flag.stop_turn, flag.detector)


def _side(judged: Sequence[tuple[BacktestFlag | None, Label | None]]) -> BacktestSide:
    labels = [label for flag, label in judged if flag is not None]
    raised = [flag for flag, _ in judged if flag is not None]
    costs = [flag.cost_after_usd for flag in raised if flag.cost_after_usd is not None]
    detectors: dict[str, int] = {}
    for flag in raised:
        detectors[flag.detector] = detectors.get(flag.detector, 0) + 1
    return BacktestSide(
        flagged=len(raised),
        stopped=sum(flag.stop_turn is not None for flag in raised),
        loops_found=labels.count("loop"),
        healthy_flagged=labels.count("healthy"),
        turns_after=sum(flag.turns_after for flag in raised),
        # No price known is not the same as no cost.
        cost_after_usd=sum(costs, Decimal(0)) if costs else None,
        detectors=detectors,
    )
