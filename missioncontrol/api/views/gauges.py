"""What Prometheus scrapes: read from the database when it is asked for.

Every web process answers the same, so that it does not matter which is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from missioncontrol.clock import now
from missioncontrol.decisions.selectors import count_everything
from missioncontrol.notify.selectors import health
from missioncontrol.runs.lifecycle import Status
from missioncontrol.wire.notices import DeliveryStatus


class Gauges(Collector):
    """Runs, cards, backlogs, turns, dollars and how people are reached, of every project."""

    def collect(self) -> Iterator[Metric]:
        """Count once for one scrape."""
        found = count_everything()
        runs = GaugeMetricFamily("missioncontrol_runs", "Runs by status.", labels=["status"])
        # Each of them, also at 0: a series that comes and goes breaks rates and alarms.
        for status in Status:
            runs.add_metric([status], found.runs.get(status, 0))
        yield runs
        yield _gauge("decisions_open", "Cards that can be tapped.", found.open_decisions)
        yield _gauge("observations_waiting", "Stored, not yet judged.", found.waiting)
        yield _counter("turns", "Turns stored.", found.turns)
        yield _counter("interventions", "What people and policies did.", found.interventions)
        yield _counter("cost_usd", "Dollars of agents' model calls.", float(found.cost_usd))
        yield _counter("judge_cost_usd", "Dollars of the judge's.", float(found.judge_cost_usd))
        yield _counter("unpriced_calls", "Model calls without a price.", found.unpriced_calls)
        reached = health(at=now())
        deliveries = GaugeMetricFamily(
            "missioncontrol_deliveries", "Notices for one target, by status.", labels=["status"]
        )
        for known in get_args(DeliveryStatus):
            deliveries.add_metric([known], reached.deliveries.get(known, 0))
        yield deliveries
        yield _gauge("channels_disabled", "Channels switched off.", reached.disabled_channels)
        yield _gauge("delivery_oldest_due_seconds", "How late the outbox is.", reached.oldest_due_s)


def _gauge(name: str, tells: str, value: float) -> Metric:
    return GaugeMetricFamily(f"missioncontrol_{name}", tells, value=value)


def _counter(name: str, tells: str, value: float) -> Metric:
    return CounterMetricFamily(f"missioncontrol_{name}", tells, value=value)
