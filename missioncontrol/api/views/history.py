"""History: runs by a line of search, their sums, exports, saved views."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from rest_framework.request import Request

from missioncontrol.api import auth
from missioncontrol.api.auth import By, FoundRun, Person, Projects, Readable
from missioncontrol.api.rest import (
    Depends,
    Page,
    following,
    page_of,
    page_shown_together,
    page_size,
    word,
)
from missioncontrol.api.routing import Router
from missioncontrol.api.streaming import pages_of, stream
from missioncontrol.clock import now
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.history import comparing, exporting, finding, saved_views, sorting
from missioncontrol.history.language import Query, read_query
from missioncontrol.history.summary import summarize
from missioncontrol.runs.models import Run
from missioncontrol.runs.selectors import find_run, list_runs
from missioncontrol.wire.history import (
    HistoryRow,
    HistoryTotals,
    RunComparison,
    RunSummary,
    SavedViewRow,
)
from missioncontrol.zones import read_zone

api = Router()

FORMATS = {"csv": exporting.csv_lines, "jsonl": exporting.jsonl}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewView:
    """A line of search to keep; `project` where the person has several."""

    name: str
    q: str
    project: UUID | None = None


class Found(NamedTuple):
    """The runs that the filters leave, by which line of search, and when it was asked."""

    runs: QuerySet[Run]
    query: Query
    at: datetime


def find_runs(
    projects: Projects,
    q: str,
    zone: str,
    agent: str,
    status: list[str],
    since: datetime | None,
    until: datetime | None,
    parent: UUID | None,
    tree: UUID | None,
) -> Found:
    """Find the caller's runs; `zone` is that of the days in `q`."""
    at = now()
    query = read_query(q, at=at, zone=read_zone(zone, field="zone") if zone else UTC)
    found = list_runs(
        projects=projects,
        agent=agent,
        status=status,
        since=since,
        until=until,
        parent=parent,
        tree=tree,
    )
    return Found(finding.narrow(found, query), query, at)


FoundRuns = Annotated[Found, Depends(find_runs)]


@api.get("runs/totals/")
def runs_totals(found: FoundRuns) -> HistoryTotals:
    """Add up every run the filters leave."""
    # By the database, of all of them: a page's rows would add up to the page.
    return finding.totals(found.runs)


@api.get("runs/<uuid:run_id>/summary/")
def runs_summary(run: FoundRun) -> RunSummary:
    """Say what a run was asked, did, changed, tested and spent, made without a model."""
    return summarize(run)


@api.get("runs/<uuid:run_id>/compare/")
def runs_compare(projects: Readable, run: FoundRun, with_: UUID | None) -> RunComparison:
    """Align a run's turns with those of another run (`with`) of the same project."""
    if with_ is None:
        raise InvalidRequest("with: expected the id of another run.", field="with")
    other = find_run(with_, projects=projects)
    # As if it were not there: two projects of one person may be two customers.
    if run.project_id != other.project_id:
        raise NotFound("The run")
    return comparing.compare(run, other)


@api.get("runs/export/", files=("application/jsonl", "text/csv"), query=("as",))
def runs_export(request: Request, found: FoundRuns) -> StreamingHttpResponse:
    """Export every run the filters leave, as `as=csv` or `jsonl`."""
    kind = request.query_params.get("as", "jsonl")
    if kind not in FORMATS:
        raise InvalidRequest(f"as: expected csv or jsonl, got {kind!r}.", field="as")
    # Page by page: the whys of a page are read together, and of all runs nothing is held.
    # With no line of search: a file shows no matches, which would be looked for run by run.
    pages = pages_of(found.runs)
    rows = (row for page in pages for row in finding.show(page, Query(), at=found.at))
    return stream(request, FORMATS[kind](rows), kind=kind, name="runs")


@api.get("views/")
def views_list(request: Request, person: Person, projects: Projects) -> Page[SavedViewRow]:
    """List your own views."""
    mine = saved_views.views_of(person, projects=projects)
    return page_of(request, mine, saved_views.view_row)


@api.post("views/", status=201)
def views_save(request: Request, asked: NewView, person: Person, by: By) -> SavedViewRow:
    """Keep a line of search; the same name again replaces it."""
    project = auth.the_project(request, asked.project)
    kept = saved_views.save_view(
        user=person, project=project, name=asked.name, q=asked.q, by=by, at=now()
    )
    return saved_views.view_row(kept)


@api.delete("views/<uuid:view_id>/")
def views_remove(view_id: UUID, person: Person, by: By) -> None:
    """Forget one of your views."""
    saved_views.remove_view(view_id, user=person, by=by, at=now())


def page_of_runs(request: Request, found: Found, *, sort: str | None) -> Page[HistoryRow]:
    """Return one page of the runs that the filters leave, in the order that was asked for."""
    runs, query, at = found
    # Newest first pages by id; any other order has a cursor of its own.
    if not sort:
        return page_shown_together(request, runs, lambda page: finding.show(page, query, at=at))
    limit = page_size(request)
    # One more than is shown tells whether there is another page.
    page = list(sorting.sort_runs(runs, sort, cursor=word(request, "cursor"))[: limit + 1])
    end = sorting.cursor_of(page[limit - 1]) if len(page) > limit else None
    return Page(finding.show(page[:limit], query, at=at), following(request, end))
