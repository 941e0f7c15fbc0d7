"""Calls that are never flagged again, and offers to allow calls that people often let go.

An offer never becomes an entry by itself. While a person types an entry, a preview shows what
it would have matched, and among how many calls.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal
from uuid import UUID

from django.db.models import Count, F, Q

from guard.deciding import AllowPattern, is_allowed
from guard.reading.normalize import call_text, format_call, strip_remarks
from guard.signals import Signal
from guard.turn import Turn as GuardTurn
from missioncontrol.clock import check_in_future
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

# How often people must have let a call go on before allowing it is offered.
MIN_TIMES = 3
OFFER_WINDOW = timedelta(days=90)
MAX_SUGGESTIONS = 200
LET_GO = frozenset({"continue", "allowlist"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAllowlistEntry:
    """A call to allow; give `project` if you are in several.

    Without `scope`, the entry is for the run or the agent that is named, otherwise for the project.
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
    """Add an exact entry for each call; globs are only written by hand."""
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


def remove_entries_of(
    tx: RunTransaction, run: Run, *, made_by: str, made_at: datetime, by: str
) -> None:
    """Remove the entries that one answer added: they have its author and time."""
    # No foreign key links them; what the same person adds by hand has another time.
    entries = AllowlistEntry.objects.filter(
        project=run.project_id, created_by=made_by, created_at=made_at
    )
    for entry in entries.order_by("pk"):
        tx.record(
            run, AllowlistChanged, by=by, change="removed", entry=entry.id, pattern=entry.pattern
        )
        entry.delete()


class HitTotals(Counter[UUID]):
    """Hits of entries that spared a run a card, counted until the run's transaction ends.

    They are written in id order, or two transactions that hit the same entries in different
    orders could deadlock.
    """

    def write(self, *, at: datetime) -> None:
        """Add the hits to their entries."""
        # Added in the database: another transaction may count hits of the same entries.
        for entry, count in sorted(self.items()):
            AllowlistEntry.objects.filter(pk=entry).update(hits=F("hits") + count, last_hit_at=at)


def is_allowlisted(run: Run, signal: Signal, hit_totals: HitTotals, *, at: datetime) -> bool:
    """Tell whether every call of the signal is allowed in this run; count the hits."""
    # Read every time: an entry that a person just removed must not spare another card.
    patterns = {entry.id: entry.as_pattern for entry in active_entries(run, at=at)}
    if not patterns or not is_allowed(signal, list(patterns.values())):
        return False
    # Every entry that covers a call is counted, even if only several together cover the card.
    calls = signal.evidence.calls
    hit_totals.update(pk for pk, pattern in patterns.items() if any(map(pattern.covers, calls)))
    return True


def grant_pattern(call: GuardTurn, redaction: Redaction) -> str:
    """Return a call as the text of an entry that grants it, with the project's own masks applied.

    The mark that a project's rule leaves stands for one particular word. A secret's mark does
    not, so a call with one grants nothing.
    """
    tool = redaction.mask_text(call.tool) if call.tool else None
    return call_text(replace(call, tool=tool, args=redaction.mask_json(call.args)))


def find_grant(run: Run, call: str, *, at: datetime) -> Literal["once", "session"] | None:
    """Tell whether people allowed exactly this call in this run, and how long that is valid.

    A glob never permits anything. An entry that expires is checked at every call. What an
    agent reports as chosen at its terminal is not an answer of people.
    """
    grants = [
        entry
        for entry in active_entries(run, at=at)
        if (entry.match, entry.pattern) == ("exact", call)
        and entry.created_by not in SPOKE.values()
    ]
    # Nobody allowed it: the agent asks the person at its terminal, as without this server.
    if not grants:
        return None
    return "session" if any(entry.expires_at is None for entry in grants) else "once"


def add_entry(project: UUID, asked: NewAllowlistEntry, *, by: str, at: datetime) -> AllowlistEntry:
    """Add an entry by hand and write it to the project's chain.

    Raises:
        NotFound: the project has no such run.
        InvalidRequest: the pattern is empty, `expires_at` is past, or the run or agent of the
            scope is not named.
    """
    # An empty glob would match every call there is.
    if not asked.pattern.strip():
        raise InvalidRequest("pattern: expected a call or a pattern of calls.", field="pattern")
    if asked.run and not Run.objects.filter(pk=asked.run, project_id=project).exists():
        raise NotFound("The run")
    # The narrowest scope that was named: an entry for a whole project must be intended.
    scope = asked.scope or ("run" if asked.run else "agent" if asked.agent else "project")
    # Such an entry would be listed but never match.
    if scope != "project" and getattr(asked, scope) is None:
        raise InvalidRequest(f"{scope}: say for which {scope} it holds.", field=scope)
    check_in_future(asked.expires_at, at=at)
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
    """Remove an entry; the journal keeps that it existed."""
    # Recorded first: a deleted entry has no id.
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


def active_entries(run: Run, *, at: datetime) -> Collection[AllowlistEntry]:
    """Return the entries that apply to a run."""
    # An entry for an agent applies to every run of that agent; one for a run to that run alone.
    in_scope = Q(scope="project") | Q(scope="run", run=run) | Q(scope="agent", agent=run.agent)
    # Compared with the time, not cleaned by a sweep: an entry expires at its very second.
    unexpired = Q(expires_at__isnull=True) | Q(expires_at__gt=at)
    return AllowlistEntry.objects.filter(in_scope, unexpired, project_id=run.project_id)


def record_let_go(run: Run, decision: Decision, *, by: str, at: datetime) -> None:
    """Record the calls of a card that a person let go on; a budget's card has none."""
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
        # A card that shows a call twice counts once.
        for call in dict.fromkeys(decision.evidence.get("calls") or [])
    )


def offer_entry(calls: Collection[str], *, project: UUID, at: datetime) -> AllowlistOffer | None:
    """Offer to allow the calls of a card, once people let each of them go on three times."""
    if not calls:
        return None
    digests = {_digest(call) for call in calls}
    found = LetGo.objects.filter(project_id=project, digest__in=digests, at__gt=at - OFFER_WINDOW)
    times = dict(found.values_list("digest").annotate(Count("id")))
    # An entry for a card allows all its calls: the least often allowed one decides.
    least = min(times.get(digest, 0) for digest in digests)
    return AllowlistOffer(patterns=tuple(calls), times=least) if least >= MIN_TIMES else None


def list_suggestions(*, projects: Collection[UUID], at: datetime) -> list[AllowlistSuggestion]:
    """Return the calls that people let go on three times and no entry covers, most often first."""
    recent = LetGo.objects.filter(project_id__in=projects, at__gt=at - OFFER_WINDOW)
    often = (
        recent.values_list("project_id", "digest")
        .annotate(times=Count("id"))
        .filter(times__gte=MIN_TIMES)
        .order_by("-times")[:MAX_SUGGESTIONS]
    )
    wanted = {(project, digest) for project, digest, _ in often}
    calls: dict[tuple[UUID, str], list[LetGo]] = defaultdict(list)
    for row in recent.filter(digest__in={digest for _, digest in wanted}).order_by("id"):
        # The same call may be rare in another project.
        if (key := (row.project_id, row.digest)) in wanted:
            calls[key].append(row)
    # Entries for one run or one agent do not count: a suggestion may widen them.
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
            by=_distinct(row.by for row in rows),
            agents=_distinct(row.agent for row in rows),
        )
        for rows in calls.values()
        if not any(pattern.covers(rows[0].pattern) for pattern in covered[rows[0].project_id])
    ]
    return sorted(found, key=lambda one: (-one.times, one.pattern))


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


def _digest(call: str) -> str:
    # Older releases may have stored a lone surrogate in a call.
    return sha256(call.encode(errors="surrogatepass")).hexdigest()


MAX_CARDS = 1_000
MAX_EXAMPLES = 5


def preview_entry(project: UUID, asked: NewAllowlistEntry, *, at: datetime) -> AllowlistPreview:
    """Match an entry against what its run, its agent or its project recorded recently."""
    # Read as the entry would be, so that a pattern refused there is refused here too.
    pattern = AllowPattern(pattern=asked.pattern, match=asked.match)
    runs_in_scope = Run.objects.filter(project_id=project)
    if asked.run is not None:
        runs_in_scope = runs_in_scope.filter(pk=asked.run)
    elif asked.agent is not None:
        runs_in_scope = runs_in_scope.filter(agent=asked.agent)
    latest = LatestTurns(runs_in_scope, at=at)
    matched, others, runs = Counter[str](), Counter[str](), set[UUID]()
    wanted = Turn.objects.filter(tool__isnull=False).values_list("run_id", "tool", "args")
    for run, tool, args in latest.find(wanted):
        call = format_call(tool, strip_remarks(args))
        if pattern.covers(call):
            matched[call] += 1
            runs.add(run)
        else:
            others[call] += 1
    opened = Decision.objects.filter(run__in=latest.runs, opened_at__gt=latest.since)
    # Only loops: a pattern covers no budget, and a permission needs an exact entry (`find_grant`).
    about_calls = opened.exclude(kind__in=NOT_LOOPS).select_related("run")
    cards = [
        (card, card.evidence.get("calls") or ())
        for card in about_calls.order_by("-opened_at")[:MAX_CARDS]
    ]
    spared = [card for card, calls in cards if calls and all(map(pattern.covers, calls))]
    shown = matched
    if not shown:
        # Show calls that contain what was typed, as a search would.
        parts = [part.casefold() for part in pattern.pattern.split("*") if part.strip()]
        alike = [c for c in others if all(part in c.casefold() for part in parts)]
        shown = Counter({call: others[call] for call in alike})
    return AllowlistPreview(
        since=latest.since,
        looked_at=latest.looked_at,
        is_whole=latest.is_whole,
        calls=matched.total(),
        runs=len(runs),
        examples=tuple(
            TimesCalled(call=call, times=n) for call, n in shown.most_common(MAX_EXAMPLES)
        ),
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
            for card in spared[:MAX_EXAMPLES]
        ),
    )
