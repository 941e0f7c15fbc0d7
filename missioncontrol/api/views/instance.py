"""This installation: liveness, readiness and metrics; for people its parts, limits and budget."""

from __future__ import annotations

import platform
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from sqlite3 import sqlite_version
from typing import Any, cast, get_args
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry
from redis import Redis
from rest_framework.request import Request

from missioncontrol.accounts.models import AgentKey, Project
from missioncontrol.api import auth
from missioncontrol.api.auth import By
from missioncontrol.api.limits import RateLimiter, rate_limiter
from missioncontrol.api.problems import allow_methods
from missioncontrol.api.routing import Router
from missioncontrol.api.web_process import disk
from missioncontrol.celery import app
from missioncontrol.clock import now
from missioncontrol.decisions import organisation
from missioncontrol.decisions.rows import instance_totals
from missioncontrol.history.tasks import count_unindexed_runs
from missioncontrol.notify import vapid
from missioncontrol.notify.channels import delivery_health
from missioncontrol.runs.lifecycle import ENDED, Status
from missioncontrol.runs.models import JournalRow, Run
from missioncontrol.wire.instance import (
    InstanceRow,
    LimitRow,
    LimitsRow,
    LimitUse,
    OrganisationBudget,
    PartRow,
)
from missioncontrol.wire.projects import DeliveryStatus

api = Router()

MAX_LISTED_USES = 50
check_may_set_budget = auth.require_owner_of_any(
    "Only a project owner can set what all of them may spend."
)


# Owners only: paths and addresses help an attacker.
@api.get("instance/", checks=(auth.require_owner_of_any("Only an owner sees where the data is."),))
def instance(request: Request) -> InstanceRow:
    """Show this installation: its services and where its data is; owners only."""
    contact, keep = vapid.contact(), settings.KEEP_DELIVERIES
    # The file system of the data, which may differ from the program's.
    counted, space = instance_totals(), shutil.disk_usage(settings.DATA_DIR)
    return InstanceRow(
        version=settings.VERSION,
        python=platform.python_version(),
        parts=_list_parts(),
        data_dir=str(settings.DATA_DIR),
        database_bytes=_database_bytes(),
        disk_free_bytes=space.free,
        disk_bytes=space.total,
        public_url=settings.PUBLIC_URL,
        is_secure=request.is_secure() or settings.PUBLIC_URL.startswith("https://"),
        push_contact=contact.subject,
        push_problem=contact.problem,
        runs=sum(counted.runs.values()),
        turns=counted.turns,
        events=JournalRow.objects.count(),
        waiting=counted.waiting,
        unindexed=count_unindexed_runs(),
        keep_deliveries_days=keep.days if keep else None,
        # Only their own projects: the keys of others do not concern them.
        limits=limits_row(projects=auth.owned_projects(request)),
        budget=organisation.show_day_budget(at=now()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DayBudget:
    """Dollars that all projects together may spend per day (UTC); null: no limit."""

    day_usd: Decimal | None


# It holds or releases runs of every project, while this owner may see only one of them.
@api.patch(
    "instance/budget/",
    checks=(auth.check_signed_in_session, check_may_set_budget, auth.check_fresh_proof),
)
def instance_budget(body: DayBudget, by: By) -> OrganisationBudget:
    """Set or remove the daily budget of all projects together; owners only."""
    organisation.set_day_budget(body.day_usd, by=by, at=now())
    return organisation.show_day_budget(at=now())


def limits_row(*, projects: Collection[UUID], limiter: RateLimiter = rate_limiter) -> LimitsRow:
    """Show the limits of this installation, and their use by some projects and their keys."""
    spent, refused = limiter.usage(), dict(limiter.refused)
    # Buckets are named by key hash or project id; those of other projects are left out.
    hashes = {name for _, name in spent.keys() | refused.keys()}
    ours = AgentKey.objects.filter(project__in=projects).select_related("project")
    keys = {key.digest: key for key in ours if key.digest in hashes}
    named = Project.objects.filter(pk__in=projects)
    whole = {str(project.pk): project for project in named if str(project.pk) in hashes}
    by_key = _count_open_runs("opened_by", [key.pk for key in keys.values()])
    by_project = _count_open_runs("project", [project.pk for project in whole.values()])
    found: list[LimitUse] = []
    who: dict[str, Any]
    taken: dict[str, Any]
    for kind, name in spent.keys() | refused.keys():
        if key := keys.get(name):
            who = {"key": key.pk, "name": key.name, "project": key.project.name}
            runs = by_key.get(key.pk, 0)
        elif project := whole.get(name):
            who = {"key": None, "name": "", "project": project.name}
            runs = by_project.get(project.pk, 0)
        else:
            continue
        taken = {"a_minute": spent.get((kind, name), 0), "refused": refused.get((kind, name), 0)}
        found.append(LimitUse(kind=cast(Any, kind), **who, **taken, open_runs=runs))
    # Refused callers first: they are what people look for here.
    found.sort(key=lambda use: (-use.refused, use.kind == "bytes", -use.a_minute, use.name))
    return LimitsRow(
        requests=tuple(
            LimitRow(
                kind=cast(Any, kind),
                a_key=most,
                an_address=settings.ADDRESS_LIMITS.get(kind),
                a_project=settings.PROJECT_LIMITS.get(kind),
            )
            for kind, most in settings.KEY_LIMITS.items()
        ),
        body_bytes=settings.BODY_LIMIT,
        person_body_bytes=settings.STRANGER_BODY_LIMIT,
        openings=settings.MOST_OPENINGS,
        users=tuple(found[:MAX_LISTED_USES]),
    )


def _count_open_runs(whose: str, ids: Collection[UUID]) -> dict[UUID, int]:
    live = Run.objects.filter(**{f"{whose}__in": ids}).exclude(status__in=ENDED)
    return dict(live.values_list(whose).annotate(Count("pk")).order_by())


def _list_parts() -> tuple[PartRow, ...]:
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        # The version of the library: it comes with Python, and decides what its SQL can do.
        kept_in, place = f"SQLite {sqlite_version}", str(database["NAME"])
    else:
        # Without user and password, because people read this.
        place = f"{database['HOST'] or 'localhost'}:{database['PORT'] or 5432}/{database['NAME']}"
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version")
            kept_in = f"PostgreSQL {cursor.fetchone()[0]}"
    broker = ""
    with app.connection_for_read() as link:
        channel: Any = link.default_channel
        with suppress(Exception):  # it does not answer: `ok` says so
            info = channel.client.info("server")
            name = "Valkey" if "valkey_version" in info else "Redis"
            broker = f"{name} {info.get('valkey_version') or info.get('redis_version', '')}"
    parts = {
        "database": (kept_in, place),
        "broker": (broker, without_password(settings.REDIS_URL)),
        "worker": (f"Celery {version('celery')}", ""),
    }
    return tuple(
        PartRow(name=cast(Any, name), ok=check_passes(check), what=what, place=where)
        for name, check in CHECKS.items()
        for what, where in [parts[name]]
    )


def _database_bytes() -> int | None:
    if connection.vendor == "sqlite":
        name = str(connection.settings_dict["NAME"])
        # The last writes are in the log beside the file, which may be the larger of the two.
        files = (Path(name), Path(f"{name}-wal"))
        return sum(file.stat().st_size for file in files if file.is_file())
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def without_password(url: str) -> str:
    """Return an address without its user and password.

    >>> without_password("redis://user:secret@host:6379/0")
    'redis://host:6379/0'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


WORKER_TIMEOUT_S = 1.0


@allow_methods("GET", "HEAD")
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer that this process is running."""
    # Nothing else is checked: restarting this process cannot repair a database.
    return JsonResponse({"ok": True})


@allow_methods("GET", "HEAD")
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer whether the database, the broker and a worker worked within the last second."""
    found = readiness.look()
    ready = all(found.values())
    return JsonResponse({"ok": ready, **found}, status=200 if ready else 503)


class InstallationCollector(Collector):
    """Runs, cards, backlogs, turns, dollars and notifications of every project.

    Read from the database, so that every web process answers the same.
    """

    def collect(self) -> Iterator[Metric]:
        """Count everything once per scrape."""
        found = instance_totals()
        runs = GaugeMetricFamily("missioncontrol_runs", "Runs by status.", labels=["status"])
        # Every status, also at 0: a series that comes and goes breaks rates and alarms.
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
        reached = delivery_health(at=now())
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
    """The last result of the checks; pinging a worker takes up to a second and one thread."""

    KEPT_S = 1.0

    def __init__(self, checks: Mapping[str, Callable[[], bool]]) -> None:
        self._checks, self._looking = checks, threading.Lock()
        self._found: dict[str, bool] = {}
        self._until = 0.0

    def look(self) -> dict[str, bool]:
        """Run the checks, unless they were just run."""
        # Locked during the checks: of many simultaneous probes one runs them, and the rest share
        # it.
        with self._looking:
            if time.monotonic() >= self._until:
                self._found = {name: check_passes(check) for name, check in self._checks.items()}
                self._until = time.monotonic() + self.KEPT_S
            return self._found


@allow_methods("GET", "HEAD")
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer a scrape by Prometheus, if it sends the operator's token."""
    token = settings.METRICS_TOKEN
    sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
    # 404, not 401: without the token nobody learns that the address exists.
    if not token or not constant_time_compare(sent, token):
        raise Http404
    # A separate registry: the default one would add figures of this process alone.
    registry = CollectorRegistry()
    registry.register(InstallationCollector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def check_passes(check: Callable[[], bool]) -> bool:
    """Return whether a check succeeds."""
    try:
        return check()
    except Exception:  # noqa: BLE001 - whatever is wrong, it is not ready
        return False


def is_database_ready() -> bool:
    """Query the database, and check that it has room to write."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,)) and disk.has_room()


def is_broker_ready() -> bool:
    """Have the broker accept a write: a full one or a replica answers, but carries no task."""
    with Redis.from_url(settings.BROKER_URL, socket_connect_timeout=1, socket_timeout=1) as client:
        return bool(client.set(f"{settings.BROKER_PREFIX}-ready", "1", ex=60))


def is_worker_ready() -> bool:
    """Return whether a detecting worker answers; one that only asks a model does not count."""
    # With two kinds of workers, the first to answer may be one that only asks a model.
    limit = 1 if settings.JUDGE is None else 2
    answers = app.control.ping(timeout=WORKER_TIMEOUT_S, limit=limit) or []
    return any(not name.startswith("judge@") for answer in answers for name in answer)


CHECKS = {"database": is_database_ready, "broker": is_broker_ready, "worker": is_worker_ready}
readiness = Readiness(CHECKS)
