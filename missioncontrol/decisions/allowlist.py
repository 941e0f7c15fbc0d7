"""Calls that are never flagged again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db.models import F, Q

from guard.deciding import is_allowed
from guard.signals import Signal
from missioncontrol.decisions.models import SPOKE, AllowlistEntry
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import Run
from missioncontrol.wire.events import AllowlistChanged


def allow_calls(
    tx: RunTransaction,
    run: Run,
    calls: Iterable[str],
    *,
    reason: str,
    by: str,
    scope: str = "run",
    expires_at: datetime | None = None,
) -> None:
    """Make an entry for each call, letter by letter; patterns are written by hand."""
    for pattern in calls:
        entry = AllowlistEntry.objects.create(
            project=run.project,
            scope=scope,
            run=run if scope == "run" else None,
            agent=run.agent if scope == "agent" else None,
            pattern=pattern,
            match="exact",
            expires_at=expires_at,
            created_by=by,
            created_at=tx.at,
            reason=reason,
        )
        tx.record(run, AllowlistChanged, by=by, change="added", entry=entry.id, pattern=pattern)


def withdraw(tx: RunTransaction, run: Run, *, made_by: str, made_at: datetime, by: str) -> None:
    """Remove the entries that one answer made: they carry its name and moment."""
    # No row links them: what the same person adds by hand has another moment.
    made = AllowlistEntry.objects.filter(
        project=run.project_id, created_by=made_by, created_at=made_at
    )
    for entry in made.order_by("pk"):
        tx.record(
            run, AllowlistChanged, by=by, change="removed", entry=entry.id, pattern=entry.pattern
        )
        entry.delete()


class HitTotals:
    """Entries that spared a run a card, counted until its transaction ends.

    They are written in id order: two transactions that hit the same entries the
    other way round would wait for each other.
    """

    def __init__(self) -> None:
        self._counts: Counter[UUID] = Counter()

    def note(self, entries: Iterable[UUID]) -> None:
        """Count one hit of each."""
        self._counts.update(entries)

    def write(self, *, at: datetime) -> None:
        """Add the hits to their entries."""
        # Added in the database: another transaction counts hits of the same entries meanwhile.
        for entry, count in sorted(self._counts.items()):
            AllowlistEntry.objects.filter(pk=entry).update(hits=F("hits") + count, last_hit_at=at)


def is_listed(run: Run, signal: Signal, hit_totals: HitTotals, *, at: datetime) -> bool:
    """Tell whether every call of the signal is allowed here; count the hit."""
    # Read anew each time: an entry that a person just removed must not spare one more card.
    patterns = {entry.id: entry.as_pattern for entry in in_force(run, at=at)}
    if not patterns or not is_allowed(signal, list(patterns.values())):
        return False
    # An entry counts where it covers a call, also when only all of them together cover the card.
    calls = signal.evidence.calls
    hit_totals.note(pk for pk, pattern in patterns.items() if any(map(pattern.covers, calls)))
    return True


def grant_of(run: Run, call: str, *, at: datetime) -> Literal["once", "session"] | None:
    """Tell whether people allowed exactly this call here, and for how long to believe it.

    A glob never permits anything, and an entry that ends is asked for each time.
    What an agent says was chosen at its end is not people's word.
    """
    meant = [
        entry
        for entry in in_force(run, at=at)
        if (entry.match, entry.pattern) == ("exact", call)
        and entry.created_by not in SPOKE.values()
    ]
    # Nobody allowed it: the agent asks its own person, as without us.
    if not meant:
        return None
    return "session" if any(entry.expires_at is None for entry in meant) else "once"


def add_entry(
    project: UUID,
    *,
    scope: str,
    pattern: str,
    match: str,
    by: str,
    at: datetime,
    run: UUID | None = None,
    agent: str | None = None,
    expires_at: datetime | None = None,
    reason: str = "",
) -> AllowlistEntry:
    """Add an entry by hand and write it to the project's chain.

    Raises:
        NotFound: the project has no such run.
        InvalidRequest: the pattern is empty.
    """
    # An empty glob would match every call there is.
    if not pattern.strip():
        raise InvalidRequest("pattern: expected a call, or a pattern of calls.", field="pattern")
    if run and not Run.objects.filter(pk=run, project_id=project).exists():
        raise NotFound("The run")
    entry = AllowlistEntry.objects.create(
        project_id=project,
        scope=scope,
        pattern=pattern,
        match=match,
        run_id=run,
        agent=agent,
        expires_at=expires_at,
        created_by=by,
        created_at=at,
        reason=reason,
    )
    _tell(entry, "added", by=by, at=at)
    return entry


def remove_entry(entry: AllowlistEntry, *, by: str, at: datetime) -> None:
    """Remove an entry; the journal keeps that it stood."""
    # Told first: once deleted it has no id.
    _tell(entry, "removed", by=by, at=at)
    entry.delete()


def _tell(entry: AllowlistEntry, change: str, *, by: str, at: datetime) -> None:
    journal.record_for_project(
        entry.project_id,
        AllowlistChanged,
        by=by,
        at=at,
        change=change,
        entry=entry.id,
        pattern=entry.pattern,
    )


def in_force(run: Run, *, at: datetime) -> Collection[AllowlistEntry]:
    """Return the entries that hold for a run."""
    # An entry for an agent holds in every run of that name; one for a run in that run alone.
    here = Q(scope="project") | Q(scope="run", run=run) | Q(scope="agent", agent=run.agent)
    # By the moment, not by a sweep: an entry is over at its second, though no beat ran since.
    fresh = Q(expires_at__isnull=True) | Q(expires_at__gt=at)
    return AllowlistEntry.objects.filter(here, fresh, project_id=run.project_id)
