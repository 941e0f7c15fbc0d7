"""Runs: open, list, look, end, change the mode, tap; what a socket says first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from guard.budget import Budget
from guard.contrib.embedding import check_installed
from guard.policy import Policy
from guard.wire import Mode
from missioncontrol.accounts.models import Project
from missioncontrol.api import auth
from missioncontrol.api.auth import Agent, By, FoundRun, Readable
from missioncontrol.api.rest import Page, address_of, json_response, page_size
from missioncontrol.api.routing import Router
from missioncontrol.api.views import history
from missioncontrol.api.views.history import FoundRuns
from missioncontrol.clock import now
from missioncontrol.costs import linking
from missioncontrol.decisions import choices, conversation, interventions, sessions
from missioncontrol.decisions.choices import LateChoice
from missioncontrol.decisions.selectors import board
from missioncontrol.decisions.selectors import page as run_page
from missioncontrol.decisions.taps import Tap
from missioncontrol.detection import agent_rules
from missioncontrol.errors import InvalidRequest
from missioncontrol.runs import selectors
from missioncontrol.runs.lineage import Relation
from missioncontrol.runs.rows import run_row
from missioncontrol.runs.services import REPORTS_ONLY, OpenRun, open_run
from missioncontrol.wire.decisions import Conversation, InterventionRow
from missioncontrol.wire.frames import Board, Snapshot
from missioncontrol.wire.history import HistoryRow
from missioncontrol.wire.policies import RunRules
from missioncontrol.wire.runs import RunRow, TreeRow
from missioncontrol.wire.turns import TelemetryRow

api = Router()

# Of more projects the sockets bring theirs: each board may hold a thousand runs.
MOST_BOARDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPatch:
    """An agent reports an end, or what it learned it can do; a person sets the mode."""

    status: Literal["completed", "failed"] | None = None
    mode: Mode | None = None
    capabilities: dict[str, Any] | None = None
    """The named ones replace what was told before (docs/protocol.md)."""
    parent: UUID | None = None
    """An agent tells whom its run belongs to, where it did not at its opening."""
    relation: Relation = "child"


@api.get("runs/")
def runs_list(request: Request, found: FoundRuns, sort: str | None) -> Page[HistoryRow]:
    """List runs, newest first or by `sort` (a column, `-` before it: highest first);
    `q` is a line of search (docs/history.md).
    """
    return history.page_of_runs(request, found, sort=sort)


@api.post("runs/", caller=auth.IsAgent)
def runs_open(request: Request, caller: Agent, asked: OpenRun, by: By) -> tuple[RunRow, bool]:
    """Open a run; the same key again answers 200 with the same run."""
    at, key = now(), caller.key
    # Refuse a policy or a budget that could not be obeyed, before it is stored.
    if asked.policy is not None:
        Policy.from_mapping(asked.policy)
        check_installed(asked.policy)
    Budget.from_mapping(asked.budget)
    project = Project.objects.get(pk=caller.project)
    run, is_new = open_run(project, asked, by=by, at=at, opener=key)
    # Only now: its key reaches it, which opening has checked.
    auth.note_run(request, run.id)
    # Telemetry may have opened it before its agent did, or an agent says more the second time.
    if run.observed_only or (asked.capabilities and not is_new and not key.reports_only):
        capabilities = REPORTS_ONLY.as_mapping() if key.reports_only else asked.capabilities
        run = sessions.learn_capabilities(run.id, capabilities, at=at)
    return run_row(run, at=at), is_new


@api.get("runs/<uuid:run_id>/", caller=auth.IsCaller, checks=(auth.check_reach,))
def runs_read(run_id: UUID, projects: Readable) -> RunRow:
    """Show a run."""
    return selectors.show_run(run_id, projects=projects, at=now())


@api.patch("runs/<uuid:run_id>/", caller=auth.IsCaller)
def runs_change(request: Request, asked: RunPatch, run_id: UUID) -> RunRow:
    """Report the end or new capabilities (agent), or set the mode (person)."""
    auth.check_reach(request, run_id)
    is_agent = isinstance(request.user, auth.AgentCaller)
    return (_report if is_agent else _set_mode)(request, run_id, asked, at=now())


def _report(request: Request, run_id: UUID, asked: RunPatch, *, at: datetime) -> RunRow:
    if asked.capabilities is not None:
        auth.check_obeys(request)
    # An empty change would read as done.
    if asked.capabilities is None and asked.status is None and asked.parent is None:
        raise InvalidRequest("status: an agent sends completed or failed.", field="status")
    projects, by = auth.projects_of(request), auth.name_of(request)
    run = selectors.find_run(run_id, projects=projects)
    if asked.capabilities is not None:
        run = sessions.learn_capabilities(run.id, asked.capabilities, at=at)
    if asked.parent is not None:
        run = linking.link_run(
            run_id, asked.parent, relation=asked.relation, projects=projects, by=by, at=at
        )
    # The end last: a run that has ended learns nothing more, and gets no parent.
    if asked.status is not None:
        run = interventions.report_end(run_id, asked.status, projects=projects, by=by, at=at)
    return run_row(run, at=at)


def _set_mode(request: Request, run_id: UUID, asked: RunPatch, *, at: datetime) -> RunRow:
    projects = auth.projects_of(request)
    # A person ends no run here: that is a tap, which names the version that they saw.
    if asked.mode is None:
        raise InvalidRequest("mode: expected warn, flag, pause or auto.", field="mode")
    auth.check_may_act(request, selectors.find_run(run_id, projects=projects).project_id)
    acting, by = auth.acting_in(request), auth.name_of(request)
    run = interventions.set_mode(run_id, asked.mode, projects=acting, by=by, at=at)
    return run_row(run, at=at)


@api.get("runs/<uuid:run_id>/tree/")
def runs_tree(run: FoundRun) -> TreeRow:
    """Show the tree a run belongs to, and what all of it used."""
    return selectors.show_tree(run, at=now())


@api.get("runs/<uuid:run_id>/telemetry/", query=("limit",))
def runs_telemetry(request: Request, run: FoundRun, after: int | None) -> Page[TelemetryRow]:
    """List the spans and log records of a run, with every attribute that was kept."""
    limit = page_size(request)
    page = selectors.list_telemetry(run, limit=limit, after=after)
    # A full page may be the last: an empty one after it costs less than counting.
    more = f"?limit={limit}&after={page[-1].id}" if len(page) == limit else None
    return Page(page, more and f"{address_of(request)}{more}")


@api.post("runs/<uuid:run_id>/interventions/")
def interventions_make(
    request: Request, run_id: UUID, tap: Tap, projects: Readable, by: By
) -> tuple[InterventionRow, bool]:
    """Do what a person tapped; the same key and body again answers 200."""
    # Asked again under the run's lock, by `acting_in`: a role may go while this waits.
    auth.check_may_act(request, selectors.project_of(run_id, projects=projects))
    return interventions.intervene(
        run_id,
        tap,
        projects=auth.acting_in(request),
        by=by,
        at=now(),
        # Looked up only if it matters: for a tap that raises everybody's ceiling.
        owns_one=lambda: bool(auth.owned_projects(request)),
    )


@api.get("runs/<uuid:run_id>/conversation/")
def runs_conversation(run: FoundRun) -> Conversation:
    """Show what people and the agent said, how far each text came, settled permissions."""
    return conversation.show_conversation(run)


@api.get("boards/")
def boards(request: Request) -> list[Board]:
    """Show the boards of your first eight projects, as `/ws/projects/ID/` would begin."""
    projects, at = auth.projects_of(request, even_archived=False)[:MOST_BOARDS], now()
    return [Board(project=one, snapshot=board(one, at=at)) for one in projects]


@api.get("runs/<uuid:run_id>/snapshot/")
def runs_snapshot(run: FoundRun) -> Snapshot:
    """Show a run with its cards and answers, as `/ws/runs/ID/` would begin."""
    return run_page(run, at=now())


@api.get("runs/<uuid:run_id>/rules/", caller=auth.IsAgent, checks=(auth.check_reach,))
def runs_rules(run_id: UUID, caller: Agent) -> RunRules:
    """Tell an agent the rules of its run, for when it cannot ask."""
    return agent_rules.rules_for(run_id, project=caller.project, at=now())


OBEYS = (auth.check_obeys, auth.check_reach)


@api.post("runs/<uuid:run_id>/choices/", caller=auth.IsAgent, checks=OBEYS)
def choices_tell(run_id: UUID, caller: Agent, asked: LateChoice) -> tuple[InterventionRow, bool]:
    """Tell what was chosen at the agent's terminal while the server was away."""
    return choices.take_choice(run_id, asked, project=caller.project, at=now())


@api.post(
    "runs/<uuid:run_id>/messages/<uuid:message_id>/delivered/", caller=auth.IsAgent, checks=OBEYS
)
def messages_delivered(run_id: UUID, message_id: UUID, caller: Agent) -> HttpResponse:
    """Note that an injected message reached the model."""
    sessions.deliver_message(run_id, message_id, project=caller.project, at=now())
    return json_response({})
