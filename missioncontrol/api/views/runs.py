"""Runs: search, totals and exports, saved views; open, read, end, change the mode, intervene."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from rest_framework.request import Request

from guard.budget import Budget
from guard.contrib.embedding import check_installed
from guard.policy import Policy
from guard.wire import Mode
from missioncontrol.accounts.models import Project
from missioncontrol.accounts.selectors import KeyHolder
from missioncontrol.api import auth
from missioncontrol.api.auth import Agent, By, FoundRun, Person, Projects, ReadableProjects
from missioncontrol.api.rest import (
    Depends,
    Limit,
    Page,
    address_of,
    json_response,
    next_page_url,
    page_of,
    page_of_batch,
    page_size,
    stream_file,
)
from missioncontrol.api.routing import Router
from missioncontrol.clock import now, read_zone
from missioncontrol.costs import trees
from missioncontrol.decisions import conversation, interventions, sessions, terminal_choices
from missioncontrol.decisions.actions import Tap
from missioncontrol.decisions.rows import board_snapshot
from missioncontrol.decisions.rows import run_snapshot as run_page
from missioncontrol.decisions.terminal_choices import LateChoice
from missioncontrol.detection import policies
from missioncontrol.detection.old_policies import upgrade_policy
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.history import comparing, saved_views, search
from missioncontrol.history.language import Query, parse_query
from missioncontrol.history.summary import summarize
from missioncontrol.runs import selectors
from missioncontrol.runs.lifecycle import Source
from missioncontrol.runs.lineage import Relation
from missioncontrol.runs.models import Run
from missioncontrol.runs.rows import run_row
from missioncontrol.runs.services import REPORTING_CAPABILITIES, OpenRun, open_run
from missioncontrol.runs.statements import pages_of
from missioncontrol.wire.decisions import Conversation, InterventionRow
from missioncontrol.wire.events import Board, Snapshot
from missioncontrol.wire.history import (
    HistoryRow,
    HistoryTotals,
    RunComparison,
    RunSummary,
    SavedViewRow,
)
from missioncontrol.wire.policies import RunRules
from missioncontrol.wire.rows import row_of
from missioncontrol.wire.runs import RunRow, RunStatus, TelemetryRow, TreeRow

api = Router()
EXPORT_FORMATS = {"csv": search.csv_lines, "jsonl": search.jsonl_lines}
# The sockets send those of further projects: each board may hold a thousand runs.
MAX_BOARDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPatch:
    """An agent reports the end of its run or new capabilities; a person sets the mode."""

    status: Literal["completed", "failed"] | None = None
    mode: Mode | None = None
    capabilities: dict[str, Any] | None = None
    """Replaces the reported values of the capabilities it names (docs/protocol.md)."""
    parent: UUID | None = None
    """The run it belongs to, if the agent did not report it when it opened the run."""
    relation: Relation = "child"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewView:
    """A line of search to keep; give `project` if you are in several."""

    name: str
    q: str
    project: UUID | None = None


class RunSearch(NamedTuple):
    """The runs that match the filters, the parsed search line, and when it was asked."""

    runs: QuerySet[Run]
    query: Query
    at: datetime


def find_runs(
    projects: Projects,
    q: str,
    zone: str,
    agent: str,
    status: list[RunStatus],
    since: datetime | None,
    until: datetime | None,
    parent: UUID | None,
    tree: UUID | None,
) -> RunSearch:
    """Find the caller's runs; `zone` is the time zone of the days in `q`."""
    at = now()
    query = parse_query(q, at=at, zone=read_zone(zone, field="zone") if zone else UTC)
    found = selectors.list_runs(
        projects=projects,
        agent=agent,
        status=status,
        since=since,
        until=until,
        parent=parent,
        tree=tree,
    )
    return RunSearch(search.filter_runs(found, query), query, at)


FoundRunSearch = Annotated[RunSearch, Depends(find_runs)]


@api.get("runs/")
def runs_list(request: Request, found: FoundRunSearch, sort: str | None) -> Page[HistoryRow]:
    """List runs, newest first or by `sort` (a column, `-` before it: highest first);
    `q` is a line of search (docs/history.md).
    """
    runs, query, at = found
    # Newest first pages by id; any other order has its own kind of cursor.
    if not sort:
        return page_of_batch(request, runs, lambda page: search.history_rows(page, query, at=at))
    limit, cursor = page_size(request), request.query_params.get("cursor")
    # One more than is shown says whether there is another page.
    page = list(search.sort_runs(runs, sort, cursor=cursor)[: limit + 1])
    end = search.cursor_of(page[limit - 1]) if len(page) > limit else None
    return Page(search.history_rows(page[:limit], query, at=at), next_page_url(request, end))


@api.get("runs/totals/")
def runs_totals(found: FoundRunSearch) -> HistoryTotals:
    """Get totals over all runs that match the filters."""
    # The database computes them over all runs; the rows of a page would give the page's totals.
    return search.history_totals(found.runs)


@api.get("runs/<uuid:run_id>/summary/")
def runs_summary(run: FoundRun) -> RunSummary:
    """Summarise what a run was asked, did, changed, tested and spent, without using a model."""
    return summarize(run)


@api.get("runs/<uuid:run_id>/compare/")
def runs_compare(run_id: UUID, projects: ReadableProjects, with_: UUID | None) -> RunComparison:
    """Compare a run's turns with those of another run (`with`) of the same project."""
    run = selectors.find_run(run_id, projects=projects)
    if with_ is None:
        raise InvalidRequest("with: expected the id of another run.", field="with")
    other = selectors.find_run(with_, projects=projects)
    # As if it did not exist: two projects of one person may belong to two customers.
    if run.project_id != other.project_id:
        raise NotFound("The run")
    return comparing.compare(run, other)


@api.get("runs/export/", files=("application/jsonl", "text/csv"))
def runs_export(
    request: Request, found: FoundRunSearch, as_: Literal["jsonl", "csv"]
) -> StreamingHttpResponse:
    """Export all runs that match the filters, as `as=csv` or `jsonl`."""
    # Page by page: the reasons for a page are read together, and not all runs are kept in memory.
    # An empty search line, because a file shows no matches, which would be looked up run by run.
    pages = pages_of(found.runs)
    rows = (row for page in pages for row in search.history_rows(page, Query(), at=found.at))
    return stream_file(request, EXPORT_FORMATS[as_](rows), kind=as_, name="runs")


@api.get("views/")
def views_list(request: Request, person: Person, projects: Projects) -> Page[SavedViewRow]:
    """List your saved views."""
    mine = saved_views.views_of(person, projects=projects)
    return page_of(request, mine, partial(row_of, SavedViewRow))


@api.post("views/", status=201)
def views_save(request: Request, body: NewView, person: Person, by: By) -> SavedViewRow:
    """Save a search; the same name replaces the earlier one."""
    project = auth.resolve_project(request, body.project)
    kept = saved_views.save_view(
        user=person, project=project, name=body.name, q=body.q, by=by, at=now()
    )
    return row_of(SavedViewRow, kept)


@api.delete("views/<uuid:view_id>/")
def views_remove(view_id: UUID, person: Person, by: By) -> None:
    """Delete one of your saved views."""
    saved_views.remove_view(view_id, user=person, by=by, at=now())


@api.post("runs/", caller=auth.IsAgent)
def runs_open(request: Request, caller: Agent, body: OpenRun, by: By) -> tuple[RunRow, bool]:
    """Open a run; repeating the same key answers 200 with the same run."""
    at = now()
    # A policy or a budget that could not be obeyed is refused before it is stored.
    if body.policy is not None:
        policy = upgrade_policy(body.policy)
        Policy.from_mapping(policy)
        check_installed(policy)
        body = replace(body, policy=policy)
    Budget.from_mapping(body.budget)
    project = Project.objects.get(pk=caller.project)
    run, is_new = open_run(project, body, by=by, at=at, opener=caller)
    # Only now, because opening has checked that the key reaches the run.
    auth.record_key_use(request, run.id)
    # Telemetry may have opened it before its agent did, or an agent reports more the second time.
    if run.source == Source.TELEMETRY or (
        body.capabilities and not is_new and not caller.reports_only
    ):
        capabilities = REPORTING_CAPABILITIES if caller.reports_only else body.capabilities
        run = sessions.store_capabilities(run.id, capabilities, at=at)
    return run_row(run, at=at), is_new


@api.get("runs/<uuid:run_id>/", caller=auth.IsPersonOrAgent, checks=(auth.check_reach,))
def runs_read(run: FoundRun) -> RunRow:
    """Show a run."""
    return run_row(run, at=now())


@api.patch("runs/<uuid:run_id>/", caller=auth.IsPersonOrAgent)
def runs_change(request: Request, body: RunPatch, run_id: UUID) -> RunRow:
    """Report the run's end or new capabilities (agent), or set its mode (person)."""
    auth.check_reach(request, run_id)
    is_agent = isinstance(request.user, KeyHolder)
    return (_report_change if is_agent else _set_mode)(request, run_id, body, at=now())


def _report_change(request: Request, run_id: UUID, body: RunPatch, *, at: datetime) -> RunRow:
    if body.capabilities is not None:
        auth.check_not_reports_only(request)
    # An empty change would look like a success.
    if body.capabilities is None and body.status is None and body.parent is None:
        raise InvalidRequest("status: an agent sends completed or failed.", field="status")
    projects, by = auth.projects_of(request), auth.name_of(request)
    run = selectors.find_run(run_id, projects=projects)
    if body.capabilities is not None:
        run = sessions.store_capabilities(run.id, body.capabilities, at=at)
    if body.parent is not None:
        run = trees.link_run(
            run_id, body.parent, relation=body.relation, projects=projects, by=by, at=at
        )
    # The end last: a run that has ended learns nothing more, and gets no parent.
    if body.status is not None:
        run = interventions.report_end(run_id, body.status, projects=projects, by=by, at=at)
    return run_row(run, at=at)


def _set_mode(request: Request, run_id: UUID, body: RunPatch, *, at: datetime) -> RunRow:
    projects = auth.projects_of(request)
    # A person does not end a run here, but by a tap, which names the version that they saw.
    if body.mode is None:
        raise InvalidRequest("mode: expected warn, flag, pause or auto.", field="mode")
    auth.check_may_act(request, selectors.find_run(run_id, projects=projects).project_id)
    acting, by = auth.writable_projects(request), auth.name_of(request)
    run = interventions.set_mode(run_id, body.mode, projects=acting, by=by, at=at)
    return run_row(run, at=at)


@api.get("runs/<uuid:run_id>/tree/")
def runs_tree(run: FoundRun) -> TreeRow:
    """Show the tree a run belongs to, and its total usage."""
    return selectors.show_tree(run, at=now())


@api.get("runs/<uuid:run_id>/telemetry/")
def runs_telemetry(
    request: Request, run: FoundRun, limit: Limit, after: int | None
) -> Page[TelemetryRow]:
    """List the spans and log records of a run, with every attribute that was kept."""
    page = selectors.list_telemetry(run, limit=limit, after=after)
    # A full page may be the last: an empty one after it costs less than counting.
    more = f"?limit={limit}&after={page[-1].id}" if len(page) == limit else None
    return Page(page, more and f"{address_of(request)}{more}")


@api.post("runs/<uuid:run_id>/interventions/")
def interventions_make(
    request: Request, run: FoundRun, tap: Tap, by: By
) -> tuple[InterventionRow, bool]:
    """Apply a person's answer; repeating the same key and body answers 200."""
    # Checked again under the run's lock, by `writable_projects`: the role may be lost meanwhile.
    auth.check_may_act(request, run.project_id)
    return interventions.intervene(
        run.id,
        tap,
        projects=auth.writable_projects(request),
        by=by,
        at=now(),
        # Looked up only when needed: for a tap that raises the budget of all projects.
        owns_project=lambda: bool(auth.owned_projects(request)),
    )


@api.get("runs/<uuid:run_id>/conversation/")
def runs_conversation(run: FoundRun) -> Conversation:
    """Show messages of people and the agent, their delivery, answered permissions."""
    return conversation.show_conversation(run)


@api.get("boards/")
def boards(request: Request) -> list[Board]:
    """Show the boards of your first eight projects, as `/ws/projects/ID/` sends them first."""
    projects, at = auth.projects_of(request, even_archived=False)[:MAX_BOARDS], now()
    return [Board(project=one, snapshot=board_snapshot(one, at=at)) for one in projects]


@api.get("runs/<uuid:run_id>/snapshot/")
def runs_snapshot(run: FoundRun) -> Snapshot:
    """Show a run with its cards and answers: the snapshot that `/ws/runs/ID/` sends first."""
    return run_page(run, at=now())


@api.get("runs/<uuid:run_id>/rules/", caller=auth.IsAgent, checks=(auth.check_reach,))
def runs_rules(run_id: UUID, caller: Agent) -> RunRules:
    """Get the rules of a run, which its agent applies while it cannot reach the server."""
    return policies.rules_of_run(run_id, project=caller.project, at=now())


CONTROLLED_AGENT_CHECKS = (auth.check_not_reports_only, auth.check_reach)


@api.post("runs/<uuid:run_id>/choices/", caller=auth.IsAgent, checks=CONTROLLED_AGENT_CHECKS)
def choices_tell(run_id: UUID, caller: Agent, body: LateChoice) -> tuple[InterventionRow, bool]:
    """Report what was chosen at the agent's terminal while the server could not be reached."""
    return terminal_choices.record_choice(run_id, body, project=caller.project, at=now())


@api.post(
    "runs/<uuid:run_id>/messages/<uuid:message_id>/delivered/",
    caller=auth.IsAgent,
    checks=CONTROLLED_AGENT_CHECKS,
)
def messages_delivered(run_id: UUID, message_id: UUID, caller: Agent) -> HttpResponse:
    """Confirm that an injected message reached the model."""
    sessions.record_message_read(run_id, message_id, project=caller.project, at=now())
    return json_response({})
