"""Calls that are never flagged again, and those that people let go so often that it is offered.

An offer is never added by itself. What an entry would have matched is told while a person types
it, and says how many calls it looked at.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet

from guard.deciding import AllowPattern, is_allowed
from guard.reading.normalize import call_text, meant_args, write_call
from guard.signals import Signal
from guard.turn import Turn as GuardTurn
from missioncontrol.clock import check_to_come
from missioncontrol.decisions.models import NOT_LOOPS, SPOKE, AllowlistEntry, Decision, LetGo
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.redaction import Redaction
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.selectors import LatestTurns
from missioncontrol.wire.decisions import (
    AllowlistOffer,
    AllowlistPreview,
    AllowlistSuggestion,
    SparedCard,
    TimesCalled,
)
from missioncontrol.wire.events import AllowlistChanged
from missioncontrol.wire.rows import Moment

# How often people must have let a call go on before it is offered.
ENOUGH_TIMES = 3
REMEMBERED = timedelta(days=90)
MOST_SUGGESTIONS = 200
LET_GO = frozenset({"continue", "allowlist"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAllowlistEntry:
    """A call to allow; give `project` if you are in several.

    Without a `scope` it is for the run or the agent that is named, else for the project.
    """

    pattern: str
    scope: Literal["run", "agent", "project"] | None = None
    match: Literal["exact", "glob"] = "exact"
    project: UUID | None = None
    run: UUID | None = None
    agent: str | None = None
    expires_at: Moment | None = None
    reason: str = ""


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


class HitTotals(Counter[UUID]):
    """Entries that spared a run a card, counted until its transaction ends.

    They are written in id order: two transactions that hit the same entries the
    other way round would wait for each other.
    """

    def write(self, *, at: datetime) -> None:
        """Add the hits to their entries."""
        # Added in the database: another transaction counts hits of the same entries meanwhile.
        for entry, count in sorted(self.items()):
            AllowlistEntry.objects.filter(pk=entry).update(hits=F("hits") + count, last_hit_at=at)


def is_listed(run: Run, signal: Signal, hit_totals: HitTotals, *, at: datetime) -> bool:
    """Tell whether every call of the signal is allowed here; count the hit."""
    # Read anew each time: an entry that a person just removed must not spare one more card.
    patterns = {entry.id: entry.as_pattern for entry in in_force(run, at=at)}
    if not patterns or not is_allowed(signal, list(patterns.values())):
        return False
    # An entry counts where it covers a call, also when only all of them together cover the card.
    calls = signal.evidence.calls
    hit_totals.update(pk for pk, pattern in patterns.items() if any(map(pattern.covers, calls)))
    return True


def call_to_grant(call: GuardTurn, own: Redaction) -> str:
    """Write a call as an entry that grants it names it: without what its project masks.

    The mark of a project's rule is of one word alone; a secret's is not, and grants nothing.
    """
    tool = own.text(call.tool) if call.tool else None
    return call_text(replace(call, tool=tool, args=own.json(call.args)))


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


def add_entry(project: UUID, asked: NewAllowlistEntry, *, by: str, at: datetime) -> AllowlistEntry:
    """Add an entry by hand and write it to the project's chain.

    Raises:
        NotFound: the project has no such run.
        InvalidRequest: the pattern is empty, the end is past, or it is not said for which run
            or agent.
    """
    # An empty glob would match every call there is.
    if not asked.pattern.strip():
        raise InvalidRequest("pattern: expected a call or a pattern of calls.", field="pattern")
    if asked.run and not Run.objects.filter(pk=asked.run, project_id=project).exists():
        raise NotFound("The run")
    # As narrow as what was named: an entry for a project must be meant.
    scope = asked.scope or ("run" if asked.run else "agent" if asked.agent else "project")
    # It would stand in the list and never hold.
    if scope != "project" and getattr(asked, scope) is None:
        raise InvalidRequest(f"{scope}: say for which {scope} it holds.", field=scope)
    check_to_come(asked.expires_at, at=at)
    entry = AllowlistEntry.objects.create(
        project_id=project,
        scope=scope,
        pattern=asked.pattern,
        match=asked.match,
        run_id=asked.run,
        agent=asked.agent,
        expires_at=asked.expires_at,
        created_by=by,
        created_at=at,
        reason=asked.reason,
    )
    _record(entry, "added", by=by, at=at)
    return entry


def remove_entry(entry: AllowlistEntry, *, by: str, at: datetime) -> None:
    """Remove an entry; the journal keeps that it stood."""
    # Told first: once deleted it has no id.
    _record(entry, "removed", by=by, at=at)
    entry.delete()


def _record(entry: AllowlistEntry, change: str, *, by: str, at: datetime) -> None:
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


def note_let_go(run: Run, decision: Decision, *, by: str, at: datetime) -> None:
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


def offer_for(calls: Collection[str], *, project: UUID, at: datetime) -> AllowlistOffer | None:
    """Offer to allow the calls of a card, once people let each of them go on three times."""
    if not calls:
        return None
    digests = {_digest(call) for call in calls}
    found = LetGo.objects.filter(project_id=project, digest__in=digests, at__gt=at - REMEMBERED)
    times = dict(found.values_list("digest").annotate(Count("id")))
    # An entry for a card allows all its calls: the one allowed least says whether to offer it.
    least = min(times.get(digest, 0) for digest in digests)
    return AllowlistOffer(patterns=tuple(calls), times=least) if least >= ENOUGH_TIMES else None


def suggestions(*, projects: Collection[UUID], at: datetime) -> list[AllowlistSuggestion]:
    """Return the calls that people let go on three times and no entry covers, most often first."""
    recent = LetGo.objects.filter(project_id__in=projects, at__gt=at - REMEMBERED)
    often = (
        recent.values_list("project_id", "digest")
        .annotate(times=Count("id"))
        .filter(times__gte=ENOUGH_TIMES)
        .order_by("-times")[:MOST_SUGGESTIONS]
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


MOST_CARDS = 1_000
SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where an entry holds: in one run, for one agent, or (None, None) in the whole project."""

    project: UUID
    run: UUID | None = None
    agent: str | None = None

    def runs(self) -> QuerySet[Run]:
        """Find its runs."""
        found = Run.objects.filter(project_id=self.project)
        if self.run is not None:
            return found.filter(pk=self.run)
        return found if self.agent is None else found.filter(agent=self.agent)


def preview(scope: Scope, pattern: AllowPattern, *, at: datetime) -> AllowlistPreview:
    """Hold a pattern against what the project recorded lately."""
    latest = LatestTurns(scope.runs(), at=at)
    matched, others, runs = Counter[str](), Counter[str](), set[UUID]()
    wanted = Turn.objects.filter(tool__isnull=False).values_list("run_id", "tool", "args")
    for run, tool, args in latest.find(wanted):
        call = write_call(tool, meant_args(args))
        if pattern.covers(call):
            matched[call] += 1
            runs.add(run)
        else:
            others[call] += 1
    asked = Decision.objects.filter(run__in=latest.runs, opened_at__gt=latest.since)
    # Loops alone: a pattern says nothing of a sum, and a permission takes more (`grant_of`).
    about_calls = asked.exclude(kind__in=NOT_LOOPS).select_related("run")
    cards = [
        (card, card.evidence.get("calls") or ())
        for card in about_calls.order_by("-opened_at")[:MOST_CARDS]
    ]
    spared = [card for card, calls in cards if calls and all(map(pattern.covers, calls))]
    shown = matched
    if not shown:
        # Calls that hold what was typed, as a person would search for it.
        parts = [part.casefold() for part in pattern.pattern.split("*") if part.strip()]
        alike = [c for c in others if all(part in c.casefold() for part in parts)]
        shown = Counter({call: others[call] for call in alike})
    return AllowlistPreview(
        since=latest.since,
        looked_at=latest.looked_at,
        is_whole=latest.is_whole,
        calls=matched.total(),
        runs=len(runs),
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
