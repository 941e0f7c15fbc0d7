"""Runs: open, list, look, end, change the mode, tap; what a socket says first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from guard.budget import Budget
from guard.contrib.embedding import check_installed
from guard.policy import Policy
from guard.wire import Mode
from missioncontrol.accounts.models import Project
from missioncontrol.api import auth
from missioncontrol.api.rest import Page, address_of, json_response, page_size, read_body, whole
from missioncontrol.api.schema import described
from missioncontrol.api.views import history
from missioncontrol.clock import now
from missioncontrol.costs import linking
from missioncontrol.decisions import choices, conversation, interventions, sessions
from missioncontrol.decisions.acts import Tap
from missioncontrol.decisions.choices import LateChoice
from missioncontrol.decisions.selectors import board
from missioncontrol.decisions.selectors import page as run_page
from missioncontrol.detection import agent_rules
from missioncontrol.errors import Forbidden, InvalidRequest
from missioncontrol.runs import selectors
from missioncontrol.runs.lineage import Relation
from missioncontrol.runs.rows import run_row
from missioncontrol.runs.services import REPORTS_ONLY, OpenRun, open_run
from missioncontrol.wire.decisions import Conversation as ConversationRow
from missioncontrol.wire.decisions import InterventionRow
from missioncontrol.wire.frames import Board, Snapshot
from missioncontrol.wire.history import HistoryRow
from missioncontrol.wire.policies import RunRules
from missioncontrol.wire.runs import RunRow, TreeRow
from missioncontrol.wire.turns import TelemetryRow

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


class Runs(APIView):
    permission_classes = [auth.IsCaller]

    @described("runs_list", query=(*history.FILTERS, "sort"))
    def get(self, request: Request) -> Page[HistoryRow]:
        """List runs, newest first or by `sort` (a column, `-` before it: highest first);
        `q` is a line of search (docs/history.md).
        """
        if isinstance(request.user, auth.AgentCaller):
            raise Forbidden("This is for people; an agent key cannot read it.")
        return history.page_of_runs(request)

    @described("runs_open", takes=OpenRun)
    def post(self, request: Request) -> tuple[RunRow, bool]:
        """Open a run; the same key again answers 200 with the same run."""
        # A person has no agent that would report to it.
        if not isinstance(request.user, auth.AgentCaller):
            raise Forbidden("Agents open runs; send the project's agent key.")
        asked, at = read_body(request, OpenRun), now()
        # Refuse a policy or a budget that could not be obeyed, before it is stored.
        if asked.policy is not None:
            Policy.from_mapping(asked.policy)
            check_installed(asked.policy)
        Budget.from_mapping(asked.budget)
        project = Project.objects.get(pk=request.user.project)
        run, is_new = open_run(
            project, asked, by=auth.name_of(request), at=at, opener=request.user.key
        )
        # Only now: its key reaches it, which opening has checked.
        auth.note_run(request, run.id)
        key = request.user.key
        # Telemetry may have opened it before its agent did, or an agent says more the second time.
        if run.observed_only or (asked.capabilities and not is_new and not key.reports_only):
            capabilities = REPORTS_ONLY.as_mapping() if key.reports_only else asked.capabilities
            run = sessions.learn_capabilities(run.id, capabilities, at=at)
        return run_row(run, at=at), is_new


class OneRun(APIView):
    permission_classes = [auth.IsCaller]

    @described("runs_read")
    def get(self, request: Request, run_id: UUID) -> RunRow:
        """Show a run."""
        auth.check_reach(request, run_id)
        return selectors.show_run(run_id, projects=auth.projects_of(request), at=now())

    @described("runs_change", takes=RunPatch)
    def patch(self, request: Request, run_id: UUID) -> RunRow:
        """Report the end or new capabilities (agent), or set the mode (person)."""
        asked, at = read_body(request, RunPatch), now()
        auth.check_reach(request, run_id)
        projects = auth.projects_of(request)
        if isinstance(request.user, auth.AgentCaller):
            if asked.capabilities is not None:
                auth.check_obeys(request)
            # An empty change would read as done.
            if asked.capabilities is None and asked.status is None and asked.parent is None:
                raise InvalidRequest("status: an agent sends completed or failed.", field="status")
            run = selectors.find_run(run_id, projects=projects)
            if asked.capabilities is not None:
                run = sessions.learn_capabilities(run.id, asked.capabilities, at=at)
            if asked.parent is not None:
                run = linking.link_run(
                    run_id,
                    asked.parent,
                    relation=asked.relation,
                    projects=projects,
                    by="agent",
                    at=at,
                )
            # The end last: a run that has ended learns nothing more, and gets no parent.
            if asked.status is not None:
                run = interventions.report_end(
                    run_id, asked.status, projects=projects, by="agent", at=at
                )
        else:
            # A person ends no run here: that is a tap, which names the version that they saw.
            if asked.mode is None:
                raise InvalidRequest("mode: expected warn, flag, pause or auto.", field="mode")
            auth.check_may_act(request, selectors.find_run(run_id, projects=projects).project_id)
            acting, by = auth.acting_in(request), auth.name_of(request)
            run = interventions.set_mode(run_id, asked.mode, projects=acting, by=by, at=at)
        return run_row(run, at=at)


class Tree(APIView):
    @described("runs_tree")
    def get(self, request: Request, run_id: UUID) -> TreeRow:
        """Show the tree a run belongs to, and what all of it used."""
        run = auth.find_run(request, run_id)
        return selectors.show_tree(run, at=now())


class Telemetry(APIView):
    @described("runs_telemetry", query=("after", "limit"))
    def get(self, request: Request, run_id: UUID) -> Page[TelemetryRow]:
        """List the spans and log records of a run, with every attribute that was kept."""
        run = auth.find_run(request, run_id)
        limit, after = page_size(request), whole(request, "after")
        page = selectors.list_telemetry(run, limit=limit, after=after)
        # A full page may be the last: an empty one after it costs less than counting.
        more = f"?limit={limit}&after={page[-1].id}" if len(page) == limit else None
        return Page(page, more and f"{address_of(request)}{more}")


class Interventions(APIView):
    @described("interventions_make", takes=Tap)
    def post(self, request: Request, run_id: UUID) -> tuple[InterventionRow, bool]:
        """Do what a person tapped; the same key and body again answers 200."""
        tap = read_body(request, Tap)
        projects = auth.projects_of(request)
        # Asked again under the run's lock, by `acting_in`: a role may go while this waits.
        auth.check_may_act(request, selectors.project_of(run_id, projects=projects))
        made, is_new = interventions.intervene(
            run_id,
            tap,
            projects=auth.acting_in(request),
            by=auth.name_of(request),
            at=now(),
            # Looked up only if it matters: for a tap that raises everybody's ceiling.
            owns_one=lambda: bool(auth.owned_projects(request)),
        )
        return made, is_new


class Conversation(APIView):
    @described("runs_conversation")
    def get(self, request: Request, run_id: UUID) -> ConversationRow:
        """Show what people and the agent said, how far each text came, settled permissions."""
        run = auth.find_run(request, run_id)
        return conversation.show_conversation(run)


class Boards(APIView):
    @described("boards")
    def get(self, request: Request) -> list[Board]:
        """Show the boards of your first eight projects, as `/ws/projects/ID/` would begin."""
        projects, at = auth.projects_of(request, even_archived=False)[:MOST_BOARDS], now()
        return [Board(project=one, snapshot=board(one, at=at)) for one in projects]


class RunSnapshot(APIView):
    @described("runs_snapshot")
    def get(self, request: Request, run_id: UUID) -> Snapshot:
        """Show a run with its cards and answers, as `/ws/runs/ID/` would begin."""
        run = auth.find_run(request, run_id)
        return run_page(run, at=now())


class Rules(APIView):
    permission_classes = [auth.IsAgent]

    @described("runs_rules")
    def get(self, request: Request, run_id: UUID) -> RunRules:
        """Tell an agent the rules of its run, for when it cannot ask."""
        auth.check_reach(request, run_id)
        (project,) = auth.projects_of(request)
        return agent_rules.rules_for(run_id, project=project, at=now())


class Choices(APIView):
    permission_classes = [auth.IsAgent]

    @described("choices_tell", takes=LateChoice)
    def post(self, request: Request, run_id: UUID) -> tuple[InterventionRow, bool]:
        """Tell what was chosen at the agent's terminal while the server was away."""
        auth.check_obeys(request)
        auth.check_reach(request, run_id)
        (project,) = auth.projects_of(request)
        asked = read_body(request, LateChoice)
        made, is_new = choices.take_choice(run_id, asked, project=project, at=now())
        return made, is_new


class Delivered(APIView):
    permission_classes = [auth.IsAgent]

    @described("messages_delivered")
    def post(self, request: Request, run_id: UUID, message_id: UUID) -> HttpResponse:
        """Note that an injected message reached the model."""
        auth.check_obeys(request)
        auth.check_reach(request, run_id)
        (project,) = auth.projects_of(request)
        sessions.deliver_message(run_id, message_id, project=project, at=now())
        return json_response({})
