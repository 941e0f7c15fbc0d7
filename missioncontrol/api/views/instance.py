"""This installation, for the people who run it."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from sqlite3 import sqlite_version
from typing import Any, cast
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Count
from rest_framework.request import Request

from missioncontrol.accounts.models import AgentKey, Project
from missioncontrol.api import auth
from missioncontrol.api.auth import By
from missioncontrol.api.limits import RateLimiter, limiter
from missioncontrol.api.routing import Router
from missioncontrol.api.views import operator
from missioncontrol.celery import app
from missioncontrol.clock import now
from missioncontrol.decisions import organisation
from missioncontrol.decisions.selectors import count_everything
from missioncontrol.history.catching_up import lag
from missioncontrol.notify import vapid
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import JournalRow, Run
from missioncontrol.wire.instance import (
    InstanceRow,
    LimitRow,
    LimitsRow,
    LimitUse,
    OrganisationBudget,
    PartRow,
)

api = Router()

MOST_USERS = 50
SPENDERS = auth.owners_of_any("Only who owns a project sets what all of them may spend.")


# Paths and addresses help who looks for a way in.
@api.get("instance/", checks=(auth.owners_of_any("Only an owner sees where the data is."),))
def instance(request: Request) -> InstanceRow:
    """Show this installation: its parts, where its data is; owners only."""
    contact, keep = vapid.contact(), settings.KEEP_DELIVERIES
    # The file system of the data, which may be another than the program's.
    counted, disk = count_everything(), shutil.disk_usage(settings.DATA_DIR)
    return InstanceRow(
        version=settings.VERSION,
        python=platform.python_version(),
        parts=_parts(),
        data_dir=str(settings.DATA_DIR),
        database_bytes=_database_bytes(),
        disk_free_bytes=disk.free,
        disk_bytes=disk.total,
        public_url=settings.PUBLIC_URL,
        is_secure=request.is_secure() or settings.PUBLIC_URL.startswith("https://"),
        push_contact=contact.subject,
        push_problem=contact.problem,
        runs=sum(counted.runs.values()),
        turns=counted.turns,
        events=JournalRow.objects.count(),
        waiting=counted.waiting,
        unindexed=lag(),
        keep_deliveries_days=keep.days if keep else None,
        # Of other people's projects the keys are none of their business.
        limits=limits_row(projects=auth.owned_projects(request)),
        budget=organisation.day_budget(at=now()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DayBudget:
    """Dollars that all projects may spend a day, in UTC; null: as many as they like."""

    day_usd: Decimal | None


# It lets go or holds runs of every project, of which this owner may see one alone.
@api.patch("instance/budget/", checks=(auth.check_by_hand, SPENDERS, auth.check_recent))
def instance_budget(asked: DayBudget, by: By) -> OrganisationBudget:
    """Set or remove what all projects together may spend a day; owners only."""
    organisation.set_day_budget(asked.day_usd, by=by, at=now())
    return organisation.day_budget(at=now())


def limits_row(*, projects: Collection[UUID], counted: RateLimiter = limiter) -> LimitsRow:
    """Show the limits of this installation, and their use by some projects and their keys."""
    spent, refused = counted.spent(), dict(counted.refused)
    # Buckets know keys by hash and projects by id: strangers' stay what they are.
    hashes = {name for _, name in spent.keys() | refused.keys()}
    ours = AgentKey.objects.filter(project__in=projects).select_related("project")
    keys = {key.digest: key for key in ours if key.digest in hashes}
    named = Project.objects.filter(pk__in=projects)
    whole = {str(project.pk): project for project in named if str(project.pk) in hashes}
    by_key = _open_runs("opened_by", [key.pk for key in keys.values()])
    by_project = _open_runs("project", [project.pk for project in whole.values()])
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
    # Who is refused stands first: that is what somebody looks for here.
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
        users=tuple(found[:MOST_USERS]),
    )


def _open_runs(whose: str, ids: Collection[UUID]) -> dict[UUID, int]:
    live = Run.objects.filter(**{f"{whose}__in": ids}).exclude(status__in=ENDED)
    return dict(live.values_list(whose).annotate(Count("pk")).order_by())


def _parts() -> tuple[PartRow, ...]:
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        # The library's own version: it comes with Python, and decides what its SQL can say.
        kept_in, place = f"SQLite {sqlite_version}", str(database["NAME"])
    else:
        # Without the user and the password: people read this.
        place = f"{database['HOST'] or 'localhost'}:{database['PORT'] or 5432}/{database['NAME']}"
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version")
            kept_in = f"PostgreSQL {cursor.fetchone()[0]}"
    broker = ""
    with app.connection_for_read() as link:
        channel: Any = link.default_channel
        with suppress(Exception):  # it is away: `ok` says so
            info = channel.client.info("server")
            name = "Valkey" if "valkey_version" in info else "Redis"
            broker = f"{name} {info.get('valkey_version') or info.get('redis_version', '')}"
    parts = {
        "database": (kept_in, place),
        "broker": (broker, without_password(settings.REDIS_URL)),
        "worker": (f"Celery {version('celery')}", ""),
    }
    return tuple(
        PartRow(name=cast(Any, name), ok=operator.passes(check), what=what, place=where)
        for name, check in operator.CHECKS.items()
        for what, where in [parts[name]]
    )


def _database_bytes() -> int | None:
    if connection.vendor == "sqlite":
        name = str(connection.settings_dict["NAME"])
        # What was written last stands in the log beside the file, which may be the larger of both.
        files = (Path(name), Path(f"{name}-wal"))
        return sum(file.stat().st_size for file in files if file.is_file())
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def without_password(url: str) -> str:
    """Return an address without who signs in there, and how.

    >>> without_password("redis://user:secret@host:6379/0")
    'redis://host:6379/0'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
