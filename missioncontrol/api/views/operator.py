"""Liveness, readiness and metrics, for whoever runs the server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import get_args

from django.conf import settings
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry
from redis import Redis

from missioncontrol.api.disk import disk
from missioncontrol.celery import app
from missioncontrol.clock import now
from missioncontrol.decisions.selectors import count_everything
from missioncontrol.notify.selectors import health
from missioncontrol.runs.lifecycle import Status
from missioncontrol.wire.notices import DeliveryStatus

WORKER_ANSWERS_WITHIN_S = 1.0


def healthz(request: HttpRequest) -> JsonResponse:
    """Answer that this process serves."""
    # Nothing else is asked: a restart of this process mends no database.
    return JsonResponse({"ok": True})


def readyz(request: HttpRequest) -> JsonResponse:
    """Answer whether database, broker and worker do their work, as seen within a second."""
    found = readiness.look()
    ready = all(found.values())
    return JsonResponse({"ok": ready, **found}, status=200 if ready else 503)


class Gauges(Collector):
    """Runs, cards, backlogs, turns, dollars and how people are reached, of every project.

    Read from the database: every web process answers the same, whichever is asked.
    """

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


class Readiness:
    """What the last look found; pinging a worker takes up to a second and one thread."""

    KEPT_S = 1.0

    def __init__(self, checks: Mapping[str, Callable[[], bool]]) -> None:
        self._checks, self._looking = checks, threading.Lock()
        self._found: dict[str, bool] = {}
        self._until = 0.0

    def look(self) -> dict[str, bool]:
        """Look, unless somebody just did."""
        # Held while it looks: of many probes at once one asks, and the others have its answer.
        with self._looking:
            if time.monotonic() >= self._until:
                self._found = {name: passes(check) for name, check in self._checks.items()}
                self._until = time.monotonic() + self.KEPT_S
            return self._found


def metrics(request: HttpRequest) -> HttpResponse:
    """Answer what Prometheus scrapes, to whoever holds the operator's token."""
    token = settings.METRICS_TOKEN
    sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
    # 404, not 401: who has no token learns nothing of the address.
    if not token or not constant_time_compare(sent, token):
        raise Http404
    # Its own: the default one would add figures of this process alone.
    registry = CollectorRegistry()
    registry.register(Gauges())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def passes(check: Callable[[], bool]) -> bool:
    """Say whether a part does its work."""
    try:
        return check()
    except Exception:  # noqa: BLE001 - whatever is wrong, it is not ready
        return False


def database() -> bool:
    """Ask the database, and look whether it has room to write."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,)) and disk.has_room()


def broker() -> bool:
    """Have the broker take a word: a full one, or a copy, answers and carries no task."""
    with Redis.from_url(settings.BROKER_URL, socket_connect_timeout=1, socket_timeout=1) as asked:
        return bool(asked.set(f"{settings.BROKER_PREFIX}-ready", "1", ex=60))


def worker() -> bool:
    """One that detects: a process that only asks a model does not count."""
    # Of two kinds of workers the first to answer may be the one that only asks a model.
    limit = 1 if settings.JUDGE is None else 2
    answers = app.control.ping(timeout=WORKER_ANSWERS_WITHIN_S, limit=limit) or []
    return any(not name.startswith("judge@") for answer in answers for name in answer)


CHECKS = {"database": database, "broker": broker, "worker": worker}
readiness = Readiness(CHECKS)
