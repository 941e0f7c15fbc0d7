"""Which limits there are, and which keys and projects meet them: for the people who run this."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db.models import Count

from missioncontrol.accounts.models import AgentKey, Project
from missioncontrol.api.limits import RateLimiter, limiter
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import Run
from missioncontrol.wire.instance import LimitRow, LimitsRow, LimitUse

MOST_USERS = 50


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
