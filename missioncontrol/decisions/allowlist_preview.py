"""What an allowlist entry would have matched: recorded calls, and the cards it would have spared.

Asked for while a person types, so bounded: the newest runs of the project, so many
calls of them, so long a time. The answer says how many calls it looked at.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from uuid import UUID

from django.db.models import QuerySet

from guard.deciding import AllowPattern
from guard.reading.normalize import meant_args, write_call
from missioncontrol.decisions.models import NOT_LOOPS, Decision
from missioncontrol.runs.models import Run, Turn
from missioncontrol.wire.decisions import AllowlistPreview, SparedCard, TimesCalled

LOOKED_BACK = timedelta(days=30)
# Bounds of what is asked while somebody types; `is_whole` says where one was reached.
MOST_RUNS = 500
MOST_CALLS = 5_000
MOST_CARDS = 1_000
# The web process has agents to answer beside the person who types.
LONGEST_S = 0.4
SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where an entry holds: in one run, for one agent, or (None, None) in the whole project."""

    project: UUID
    run: UUID | None = None
    agent: str | None = None

    def runs(self, *, since: datetime) -> QuerySet[Run]:
        """Return its runs since then, the newest first."""
        found = Run.objects.filter(project_id=self.project, meters__last_turn_at__gt=since)
        if self.run is not None:
            found = found.filter(pk=self.run)
        elif self.agent is not None:
            found = found.filter(agent=self.agent)
        # What was called lately says most of what will be called.
        return found.order_by("-meters__last_turn_at")


@dataclass(slots=True)
class _Seen:
    """The recorded calls, added up."""

    looked_at: int = 0
    is_whole: bool = True
    matched: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    runs: set[UUID] = field(default_factory=set)


def preview(scope: Scope, pattern: AllowPattern, *, at: datetime) -> AllowlistPreview:
    """Hold a pattern against what the project recorded in the last 30 days."""
    since = at - LOOKED_BACK
    seen = _look(scope, pattern, since=since)
    runs = scope.runs(since=since).order_by()
    asked = Decision.objects.filter(run__in=runs, opened_at__gt=since)
    # Loops alone: a pattern says nothing of a sum, and a permission takes more (`grant_of`).
    about_calls = asked.exclude(kind__in=NOT_LOOPS).select_related("run")
    cards = [
        (card, card.evidence.get("calls") or ())
        for card in about_calls.order_by("-opened_at")[:MOST_CARDS]
    ]
    spared = [card for card, calls in cards if calls and all(map(pattern.covers, calls))]
    shown = seen.matched
    if not shown:
        # Calls that hold what was typed, as a person would search for it.
        parts = [part.casefold() for part in pattern.pattern.split("*") if part.strip()]
        alike = [c for c in seen.others if all(part in c.casefold() for part in parts)]
        shown = Counter({call: seen.others[call] for call in alike})
    return AllowlistPreview(
        since=since,
        looked_at=seen.looked_at,
        is_whole=seen.is_whole,
        calls=seen.matched.total(),
        runs=len(seen.runs),
        examples=tuple(TimesCalled(call=call, times=n) for call, n in shown.most_common(SHOWN)),
        cards=len(spared),
        stopped=sum(card.resolution == "terminate" for card in spared),
        spared=tuple(
            SparedCard(
                run=card.run_id,
                name=card.run.name,
                call=card.evidence["calls"][0],
                at=card.opened_at,
                resolution=card.resolution,
                resolved_by=card.resolved_by,
            )
            for card in spared[:SHOWN]
        ),
    )


def _look(scope: Scope, pattern: AllowPattern, *, since: datetime) -> _Seen:
    """Hold the pattern against each recorded call, the newest runs first, while it may."""
    runs = scope.runs(since=since)
    seen, ends = _Seen(is_whole=not runs[MOST_RUNS:].exists()), monotonic() + LONGEST_S
    for run_id in runs.values_list("pk", flat=True)[:MOST_RUNS]:
        turns = Turn.objects.filter(run_id=run_id, tool__isnull=False).order_by("-seq")
        # One more than are looked at: it tells that there are others.
        rows = turns.values_list("tool", "args")[: MOST_CALLS + 1]
        for tool, args in rows.iterator(chunk_size=500):
            if seen.looked_at == MOST_CALLS or monotonic() > ends:
                seen.is_whole = False
                return seen
            call = write_call(tool or "", meant_args(args))
            seen.looked_at += 1
            if pattern.covers(call):
                seen.matched[call] += 1
                seen.runs.add(run_id)
            else:
                seen.others[call] += 1
    return seen
