"""History: runs by a line of search, their sums, exports, saved views."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol.api import auth
from missioncontrol.api.rest import (
    Page,
    following,
    identity,
    moment,
    page_of,
    page_shown_together,
    page_size,
    read_body,
    word,
    words,
)
from missioncontrol.api.schema import described
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

FILTERS = ("q", "status", "agent", "since", "until", "parent", "tree", "project", "zone")
FORMATS = {"csv": exporting.csv_lines, "jsonl": exporting.jsonl}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewView:
    """A line of search to keep; `project` where the person has several."""

    name: str
    q: str
    project: UUID | None = None


class Totals(APIView):
    @described("runs_totals", query=FILTERS)
    def get(self, request: Request) -> HistoryTotals:
        """Add up every run the filters leave."""
        found, _ = _found(request, at=now())
        # By the database, of all of them: a page's rows would add up to the page.
        return finding.totals(found)


class Summary(APIView):
    @described("runs_summary")
    def get(self, request: Request, run_id: UUID) -> RunSummary:
        """Say what a run was asked, did, changed, tested and spent, made without a model."""
        run = auth.find_run(request, run_id)
        return summarize(run)


class Compare(APIView):
    @described("runs_compare", query=("with",))
    def get(self, request: Request, run_id: UUID) -> RunComparison:
        """Align a run's turns with those of another run (`with`) of the same project."""
        projects = auth.projects_of(request)
        run = find_run(run_id, projects=projects)
        other_id = identity(request, "with")
        if other_id is None:
            raise InvalidRequest("with: expected the id of another run.", field="with")
        other = find_run(other_id, projects=projects)
        # As if it were not there: two projects of one person may be two customers.
        if run.project_id != other.project_id:
            raise NotFound("The run")
        return comparing.compare(run, other)


class Export(APIView):
    @described("runs_export", files=("application/jsonl", "text/csv"), query=(*FILTERS, "as"))
    def get(self, request: Request) -> StreamingHttpResponse:
        """Export every run the filters leave, as `as=csv` or `jsonl`."""
        kind = request.query_params.get("as", "jsonl")
        if kind not in FORMATS:
            raise InvalidRequest(f"as: expected csv or jsonl, got {kind!r}.", field="as")
        at = now()
        found, _ = _found(request, at=at)
        # Page by page: the whys of a page are read together, and of all runs nothing is held.
        # With no line of search: a file shows no matches, which would be looked for run by run.
        rows = (row for page in pages_of(found) for row in finding.show(page, Query(), at=at))
        return stream(request, FORMATS[kind](rows), kind=kind, name="runs")


class SavedViews(APIView):
    @described("views_list", query=("project",))
    def get(self, request: Request) -> Page[SavedViewRow]:
        """List your own views."""
        mine = saved_views.views_of(auth.person_of(request), projects=auth.projects_of(request))
        return page_of(request, mine, saved_views.view_row)

    @described("views_save", takes=NewView, status=201)
    def post(self, request: Request) -> SavedViewRow:
        """Keep a line of search; the same name again replaces it."""
        asked = read_body(request, NewView)
        kept = saved_views.save_view(
            user=auth.person_of(request),
            project=auth.the_project(request, asked.project),
            name=asked.name,
            q=asked.q,
            by=auth.name_of(request),
            at=now(),
        )
        return saved_views.view_row(kept)


class OneSavedView(APIView):
    @described("views_remove")
    def delete(self, request: Request, view_id: UUID) -> None:
        """Forget one of your views."""
        person, by = auth.person_of(request), auth.name_of(request)
        saved_views.remove_view(view_id, user=person, by=by, at=now())


def page_of_runs(request: Request) -> Page[HistoryRow]:
    """Return one page of the runs that the filters leave, in the order that was asked for."""
    at = now()
    found, query = _found(request, at=at)
    sort = word(request, "sort")
    # Newest first pages by id; any other order has a cursor of its own.
    if not sort:
        return page_shown_together(request, found, lambda runs: finding.show(runs, query, at=at))
    limit = page_size(request)
    ordered = sorting.sort_runs(found, sort, cursor=word(request, "cursor"))
    # One more than is shown tells whether there is another page.
    runs = list(ordered[: limit + 1])
    end = sorting.cursor_of(runs[limit - 1]) if len(runs) > limit else None
    return Page(finding.show(runs[:limit], query, at=at), following(request, end))


def _found(request: Request, *, at: datetime) -> tuple[QuerySet[Run], Query]:
    given = request.query_params
    name = given.get("zone", "")
    zone = read_zone(name, field="zone") if name else UTC
    query = read_query(given.get("q", ""), at=at, zone=zone)
    found = list_runs(
        projects=auth.projects_of(request),
        # PostgreSQL refuses to be asked for a NUL.
        agent=given.get("agent", "").replace("\0", ""),
        status=words(request, "status"),
        since=moment(request, "since"),
        until=moment(request, "until"),
        parent=identity(request, "parent"),
        tree=identity(request, "tree"),
    )
    return finding.narrow(found, query), query
