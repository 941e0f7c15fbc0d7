"""Which limits there are, and which keys meet them: for the people who run this."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db.models import Count

from missioncontrol.accounts.models import AgentKey
from missioncontrol.api.limits import RateLimiter, limiter
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import Run
from missioncontrol.wire.instance import LimitRow, LimitsRow, LimitUse

MOST_USERS = 50


def limits_row(*, projects: Collection[UUID], counted: RateLimiter = limiter) -> LimitsRow:
    """Show the limits of this installation, and their use by the keys of some projects."""
    return LimitsRow(
        requests=tuple(
            LimitRow(kind=cast(Any, kind), a_key=most, an_address=settings.ADDRESS_LIMITS[kind])
            for kind, most in settings.KEY_LIMITS.items()
        ),
        body_bytes=settings.BODY_LIMIT,
        person_body_bytes=settings.STRANGER_BODY_LIMIT,
        openings=settings.MOST_OPENINGS,
        users=_users(projects, counted),
    )


def _users(projects: Collection[UUID], counted: RateLimiter) -> tuple[LimitUse, ...]:
    spent, refused = counted.spent(), dict(counted.refused)
    hashes = {digest for _, digest in spent.keys() | refused.keys()}
    ours = AgentKey.objects.filter(project__in=projects).select_related("project")
    keys = {key.digest: key for key in ours if key.digest in hashes}
    live = Run.objects.filter(opened_by__in=[key.pk for key in keys.values()]).exclude(
        status__in=ENDED
    )
    open_runs = dict(live.values_list("opened_by").annotate(Count("pk")).order_by())
    found = [
        LimitUse(
            key=keys[digest].pk,
            name=keys[digest].name,
            project=keys[digest].project.name,
            kind=cast(Any, kind),
            a_minute=spent.get((kind, digest), 0),
            refused=refused.get((kind, digest), 0),
            open_runs=open_runs.get(keys[digest].pk, 0),
        )
        for kind, digest in spent.keys() | refused.keys()
        if digest in keys
    ]
    found.sort(key=lambda use: (-use.refused, -use.a_minute, use.name, use.kind))
    return tuple(found[:MOST_USERS])
