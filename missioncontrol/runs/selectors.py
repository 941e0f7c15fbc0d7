"""Read runs and their history, as wire rows. `projects` are those that the reader may see."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from time import monotonic
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Left

from guard.turn import Phase
from missioncontrol.accounts.selectors import KeyHolder
from missioncontrol.errors import NotFound, ensure_found
from missioncontrol.redaction import Redaction
from missioncontrol.runs import rows
from missioncontrol.runs.lifecycle import ENDED, Status
from missioncontrol.runs.models import RECORDED, JournalRow, Run, TelemetryRecord, Turn
from missioncontrol.runs.sanitizing import texts_in
from missioncontrol.wire.instance import AuditRow
from missioncontrol.wire.projects import RedactedPlace, RedactionPreview, RuleUse
from missioncontrol.wire.rows import row_of
from missioncontrol.wire.runs import TelemetryRow, TreeRow

MAX_TREE_RUNS = 200
SUMMED_METERS = ("cost_usd", "judge_cost_usd", "unpriced_calls", "done_turns", "tool_calls")
JUST_ENDED = timedelta(hours=1)


def find_run(run_id: UUID, *, projects: Collection[UUID]) -> Run:
    """Return one run.

    Raises:
        NotFound: no such run in these projects.
    """
    # Filtered, not refused: a stranger must not learn that the run exists.
    return ensure_found(_runs_to_show(projects).filter(pk=run_id).first(), "The run")


def _runs_to_show(projects: Collection[UUID]) -> QuerySet[Run]:
    """Return the runs of these projects with all that their rows need."""
    return Run.objects.select_related("project", "meters", "hold").filter(project_id__in=projects)


def find_run_for_key(run_id: UUID, key: KeyHolder) -> Run:
    """Return a run that an agent key reaches, with only the columns that callers need.

    Raises:
        NotFound: the run is another key's, or there is none.
    """
    found = Run.objects.filter(pk=run_id, project_id=key.project)
    # A recording has ended: no agent reaches it.
    live = found.exclude(RECORDED).select_related("meters")
    run = live.only("meters__last_seq", "opened_by", "agent").first()
    if run is None or not key.reaches(opened_by=run.opened_by, agent=run.agent):
        raise NotFound("The run")
    return run


def matching_ids(which: Q) -> list[UUID]:
    """Return the ids of runs that match `which`, in locking order.

    Nothing is locked: the caller locks them one by one, checks again, and never holds many.
    """
    return list(Run.objects.filter(which).order_by("id").values_list("id", flat=True))


def find_open_call(run_id: UUID, key_prefix: str) -> str | None:
    """Return the key of the last call whose key begins with `key_prefix` and that has not ended.

    The last one: an agent that never said how an earlier call ended will not do so now.
    """
    return _last_key(run_id, key_prefix, phase=Phase.PROPOSED, skipped=False)


def find_last_call(run_id: UUID, key_prefix: str) -> str | None:
    """Return the key of the last call whose key begins with `key_prefix`, ended or not."""
    return _last_key(run_id, key_prefix)


def _last_key(run_id: UUID, key_prefix: str, **conditions: Any) -> str | None:
    keys = Turn.objects.filter(run_id=run_id, key__startswith=key_prefix, **conditions)
    return keys.order_by("-seq").values_list("key", flat=True).first()


def non_empty(**conditions: Any) -> dict[str, Any]:
    """Return only the conditions that the reader named; those left out are empty."""
    return {name: value for name, value in conditions.items() if value}


def list_runs(
    *,
    projects: Collection[UUID],
    status: Sequence[str] = (),
    agent: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    parent: UUID | None = None,
    tree: UUID | None = None,
) -> QuerySet[Run]:
    """Return runs, newest first; `tree` is the id of any run of a tree."""
    found = _runs_to_show(projects)
    # Ids are UUIDv7, in order of time: no other index is needed for newest first.
    found = found.order_by("-id")
    # `until` is exclusive: with adjacent time spans, each run is in exactly one.
    asked = non_empty(status__in=status, started_at__gte=since, started_at__lt=until, parent=parent)
    found = found.filter(**asked)
    if agent:
        # An agent may have spoken in a run that another one opened.
        spoke = Exists(Turn.objects.filter(run=OuterRef("pk"), agent=agent))
        found = found.filter(Q(agent=agent) | spoke)
    if tree:
        found = found.filter(_in_tree(tree, projects))
    return found


def show_tree(run: Run, *, at: datetime) -> TreeRow:
    """Return the tree of a run: its newest runs, and the sums over all of them."""
    projects = [run.project_id]
    relatives = _runs_to_show(projects).filter(_in_tree(run.id, projects))
    summed = {name: Sum(f"meters__{name}") for name in SUMMED_METERS}
    # Over all of them, including those that are not shown.
    sums = relatives.aggregate(**summed, runs=Count("id"))
    # The newest if there are too many, in the order in which they began.
    shown = sorted(relatives.order_by("-id")[:MAX_TREE_RUNS], key=lambda one: one.id)
    shown_rows = tuple(rows.run_row(one, at=at) for one in shown)
    return TreeRow(
        root=run.root or run.id,
        runs=shown_rows,
        count=sums["runs"],
        turns=sums["done_turns"],
        calls=sums["tool_calls"],
        cost_usd=rows.round_dollars(sums["cost_usd"]),
        judge_cost_usd=rows.round_dollars(sums["judge_cost_usd"]),
        unpriced_calls=sums["unpriced_calls"],
    )


def _in_tree(member: UUID, projects: Collection[UUID]) -> Q:
    # In the reader's projects only: a run of another project must not lead to its tree.
    runs = Run.objects.filter(pk=member, project_id__in=projects)
    root = runs.values_list("root", flat=True).first()
    return Q(root=root) if root else Q(pk=member)


def list_telemetry(run: Run, *, limit: int, after: int | None = None) -> list[TelemetryRow]:
    """Return a page of a run's telemetry records, in order of arrival."""
    # By ids, which increase: the clocks of several exporters give no order.
    found = TelemetryRecord.objects.filter(run=run, id__gt=after or 0).order_by("id")
    return [row_of(TelemetryRow, one, project=run.project_id) for one in found[:limit]]


def audit_row(row: JournalRow) -> AuditRow:
    """Return one journal row with its place in the chain."""
    payload = json.loads(row.payload) if row.payload is not None else None
    return row_of(AuditRow, row, payload=payload, run_name=getattr(row, "run_name", None))


def list_journal(
    *,
    projects: Collection[UUID],
    run: UUID | None = None,
    types: Sequence[str] = (),
    by: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    oldest_first: bool = False,
) -> QuerySet[JournalRow]:
    """Return journal rows: a run's in order; others newest first, unless `oldest_first`."""
    asked = non_empty(by=by, at__gte=since, at__lt=until, type__in=types)
    found = JournalRow.objects.filter(**asked, project__in=projects)
    found = found.annotate(run_name=F("run__name"))
    if run:
        # By `seq`: ids of rows written in the same millisecond may be out of order.
        return found.filter(run_id=run).order_by("seq")
    return found.order_by("id" if oldest_first else "-id")


def unjudged_runs(*, moved_before: datetime, among_all: bool = False) -> list[UUID]:
    """Return runs with unjudged observations whose last turn came before `moved_before`.

    Those that ended more than an hour earlier are included only if `among_all`: no index finds
    them, as every turn would have to write it. An ended run that still sends turns is one.
    """
    behind = Run.objects.filter(meters__detected_obs__lt=F("meters__last_obs"))
    behind = behind.exclude(meters__last_turn_at__gte=moved_before)
    if not among_all:
        live = Q(status__in=set(Status) - ENDED)
        behind = behind.filter(live | Q(ended_at__gte=moved_before - JUST_ENDED))
    # Sorted here: with an ORDER BY, SQLite would scan all runs in that order.
    return sorted(behind.values_list("id", flat=True))


LOOK_BACK = timedelta(days=30)
MAX_RUNS = 500
MAX_TURNS = 5_000
# The web process must answer agents as well as the person who types.
MAX_SECONDS = 0.4


class LatestTurns:
    """Turns of the last 30 days, those of the latest runs first, read while a person types.

    The number of runs, of turns and the time are limited. `is_whole`: no limit was reached.
    """

    def __init__(self, runs: QuerySet[Run], *, at: datetime) -> None:
        self.since, self._ends = at - LOOK_BACK, monotonic() + MAX_SECONDS
        self.runs = runs.filter(meters__last_turn_at__gt=self.since)
        self.looked_at, self.is_whole = 0, True

    def find(self, wanted: QuerySet[Any]) -> Iterator[Any]:
        """Yield the `wanted` turns until a limit is reached."""
        runs = self.runs.order_by("-meters__last_turn_at").values_list("pk", flat=True)
        # One more than is looked at, of turns too: it tells whether there are others.
        found = list(runs[: MAX_RUNS + 1])
        self.is_whole = len(found) <= MAX_RUNS
        for run in found[:MAX_RUNS]:
            newest = wanted.filter(run=run).order_by("-seq")[: MAX_TURNS + 1]
            # A few at a time: a turn may be large, and the time may be up after the first.
            for turn in newest.iterator(chunk_size=50):
                if self.looked_at == MAX_TURNS or self.is_time_up():
                    self.is_whole = False
                    return
                self.looked_at += 1
                yield turn

    def is_time_up(self) -> bool:
        """Tell whether the time is up; if it is, the result is not whole."""
        is_time_up = monotonic() > self._ends
        self.is_whole = self.is_whole and not is_time_up
        return is_time_up


MAX_TEXT = 20_000
MAX_EXAMPLES = 6
EXAMPLES_PER_RULE = 2
# Characters shown on each side of what is masked.
CONTEXT = 40
TEXT_COLUMNS = ("content", "result", "error")


def preview_redaction(project: UUID, redaction: Redaction, *, at: datetime) -> RedactionPreview:
    """Return what the rules of `redaction` would have masked in a project's latest turns."""
    latest = LatestTurns(Run.objects.filter(project=project), at=at)
    found = Turn.objects.filter(ts__gt=latest.since).select_related("run")
    # One character more than is read: it tells that the text goes on.
    beginnings = {f"begin_of_{name}": Left(name, MAX_TEXT + 1) for name in TEXT_COLUMNS}
    wanted = found.only("seq", "args", "files", "run__name").annotate(**beginnings)
    met: list[UUID] = []
    uses: Counter[str] = Counter()
    places: list[RedactedPlace] = []
    for turn in latest.find(wanted):
        before = uses.total()
        texts = [getattr(turn, f"begin_of_{name}") for name in TEXT_COLUMNS]
        for text in texts_in([*texts, turn.args, turn.files]):
            # Checked between texts too: one turn may have many.
            if latest.is_time_up():
                break
            latest.is_whole = latest.is_whole and len(text) <= MAX_TEXT
            for rule, start, end in redaction.find_matches(text[:MAX_TEXT]):
                uses[rule] += 1
                if uses[rule] <= EXAMPLES_PER_RULE and len(places) < MAX_EXAMPLES:
                    place = RedactedPlace(
                        run=turn.run_id,
                        name=turn.run.name,
                        seq=turn.seq,
                        before=text[max(start - CONTEXT, 0) : start],
                        masked=text[start:end],
                        after=text[end : end + CONTEXT],
                    )
                    places.append(place)
        if uses.total() > before:
            met.append(turn.run_id)
    return RedactionPreview(
        since=latest.since,
        looked_at=latest.looked_at,
        is_whole=latest.is_whole,
        turns=len(met),
        runs=len(set(met)),
        rules=tuple(RuleUse(rule=rule, times=uses[rule]) for rule in redaction.rules),
        places=tuple(places),
    )
