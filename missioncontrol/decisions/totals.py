"""What the whole instance holds, for whoever runs it; no project is told apart."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, F, Q, Sum

from missioncontrol.decisions import rows
from missioncontrol.decisions.models import Decision, Intervention
from missioncontrol.runs.models import Run, RunMeters


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over every run but imported ones; `waiting`: observations stored and not yet judged."""

    runs: dict[str, int]
    open_decisions: int
    waiting: int
    turns: int
    interventions: int
    cost_usd: Decimal
    judge_cost_usd: Decimal
    unpriced_calls: int


def count_everything() -> Totals:
    """Count, in four statements."""
    live = Run.objects.filter(imported=False)
    behind = Q(detected_obs__lt=F("last_obs"))
    sums = RunMeters.objects.filter(run__imported=False).aggregate(
        turns=Sum(F("last_seq") + 1, default=0),
        cost_usd=Sum("cost_usd", default=Decimal(0)),
        judge_cost_usd=Sum("judge_cost_usd", default=Decimal(0)),
        unpriced_calls=Sum("unpriced_calls", default=0),
        waiting=Sum(F("last_obs") - F("detected_obs"), default=0, filter=behind),
    )
    by_status = live.order_by().values_list("status").annotate(Count("id"))
    return Totals(
        runs=dict(by_status),
        open_decisions=Decision.objects.filter(status__in=rows.OPEN).count(),
        interventions=Intervention.objects.count(),
        **sums,
    )
