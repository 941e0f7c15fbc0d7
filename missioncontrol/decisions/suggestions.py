"""What people allow again and again, offered as an allowlist entry; never added by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from django.db.models import Count, Q

from guard.deciding import AllowPattern
from missioncontrol.decisions.models import AllowlistEntry, Decision, LetGo
from missioncontrol.runs.models import Run
from missioncontrol.wire.allowlist import AllowlistSuggestion
from missioncontrol.wire.decisions import AllowlistOffer

# How often people must have let a call go on before it is offered.
ENOUGH = 3
REMEMBERED = timedelta(days=90)
MOST = 200
LET_GO = frozenset({"continue", "allowlist"})


def note(run: Run, decision: Decision, *, by: str, at: datetime) -> None:
    """Remember the calls of a card that a person let go on; a budget's card names none."""
    LetGo.objects.bulk_create(
        LetGo(
            project_id=run.project_id,
            decision=decision,
            digest=_digest(call),
            pattern=call,
            agent=decision.agent,
            by=by,
            at=at,
        )
        # A card that shows a call twice was let go once.
        for call in dict.fromkeys(decision.evidence.get("calls") or [])
    )


def offer(calls: Collection[str], *, project: UUID, at: datetime) -> AllowlistOffer | None:
    """Offer to allow the calls of a card, once people let each of them go on three times."""
    if not calls:
        return None
    digests = {_digest(call) for call in calls}
    found = LetGo.objects.filter(project_id=project, digest__in=digests, at__gt=at - REMEMBERED)
    times = dict(found.values_list("digest").annotate(Count("id")))
    # An entry for a card allows all its calls: the one allowed least says whether to offer it.
    least = min(times.get(digest, 0) for digest in digests)
    return AllowlistOffer(patterns=tuple(calls), times=least) if least >= ENOUGH else None


def suggestions(*, projects: Collection[UUID], at: datetime) -> list[AllowlistSuggestion]:
    """Return the calls that people let go on three times and no entry covers, most often first."""
    recent = LetGo.objects.filter(project_id__in=projects, at__gt=at - REMEMBERED)
    often = (
        recent.values_list("project_id", "digest")
        .annotate(times=Count("id"))
        .filter(times__gte=ENOUGH)
        .order_by("-times")[:MOST]
    )
    # It matches nothing: an empty condition would match everything.
    wanted = Q(pk__in=[])
    for project, digest, _ in often:
        wanted |= Q(project_id=project, digest=digest)
    calls: dict[tuple[UUID, str], list[LetGo]] = defaultdict(list)
    for row in recent.filter(wanted).order_by("id"):
        calls[row.project_id, row.digest].append(row)
    # What holds for one run or one agent is left out: a suggestion may widen it.
    covered: dict[UUID, list[AllowPattern]] = defaultdict(list)
    for entry in AllowlistEntry.objects.filter(project_id__in=projects, scope="project"):
        if entry.expires_at is None or entry.expires_at > at:
            covered[entry.project_id].append(entry.as_pattern)
    found = [
        AllowlistSuggestion(
            project=rows[0].project_id,
            pattern=rows[0].pattern,
            times=len(rows),
            first_at=rows[0].at,
            last_at=rows[-1].at,
            by=_once_each(row.by for row in rows),
            agents=_once_each(row.agent for row in rows),
        )
        for rows in calls.values()
        if not any(pattern.covers(rows[0].pattern) for pattern in covered[rows[0].project_id])
    ]
    return sorted(found, key=lambda one: (-one.times, one.pattern))


def _once_each(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


def _digest(call: str) -> str:
    # Half of a character may stand in a call that an older release kept.
    return sha256(call.encode(errors="surrogatepass")).hexdigest()
