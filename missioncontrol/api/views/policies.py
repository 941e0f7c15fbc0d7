"""A project's policy: its versions, checking a new one, and what it would have done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol.accounts.models import Project
from missioncontrol.api import auth
from missioncontrol.api.rest import Page, page_of, read_body, whole
from missioncontrol.api.schema import described
from missioncontrol.clock import now
from missioncontrol.decisions import allowlist
from missioncontrol.detection import backtest_rows, backtests, policies, run_scores, tasks
from missioncontrol.errors import NotFound
from missioncontrol.wire.allowlist import AllowlistSuggestion
from missioncontrol.wire.policies import PolicyCheck, PolicyScores, PolicyVersionRow
from missioncontrol.wire.recordings import BacktestRow

DAYS = 30
MOST_DAYS = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyToCheck:
    """A policy: an object, or the text of a TOML or JSON file."""

    policy: dict[str, Any] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBacktest:
    """A proposed policy, and which recorded runs it is tried on."""

    policy: dict[str, Any] | str
    since: datetime | None = None
    runs: tuple[UUID, ...] | None = None
    project: UUID | None = None


class PolicyVersions(APIView):
    @described("policies_list")
    def get(self, request: Request, project_id: UUID) -> Page[PolicyVersionRow]:
        """List the versions of a project's policy, newest first."""
        found = policies.versions(_readable(request, project_id).id).order_by("-id")
        return page_of(request, found, policies.version_row)


class OnePolicyVersion(APIView):
    @described("policies_read")
    def get(self, request: Request, project_id: UUID, number: int) -> PolicyVersionRow:
        """Show one version as it stood."""
        project = _readable(request, project_id)
        return policies.version_row(policies.find_version(project.id, number))


class CheckPolicy(APIView):
    @described("policies_check", takes=PolicyToCheck)
    def post(self, request: Request, project_id: UUID) -> PolicyCheck:
        """Say what is wrong with a policy, or what it would change; nothing is kept."""
        asked = read_body(request, PolicyToCheck)
        project = _readable(request, project_id)
        return policies.check_policy(asked.policy, project=project)


class RunScores(APIView):
    @described("policies_scores", query=("days",))
    def get(self, request: Request, project_id: UUID) -> PolicyScores:
        """Show the highest stuck score of each run of the last days, and what people did."""
        project, days = _readable(request, project_id), whole(request, "days")
        # Brought within, not refused: of a span that is too long the newest part is shown.
        asked = DAYS if days is None else min(max(days, 1), MOST_DAYS)
        return run_scores.scores_of(project, days=asked, at=now())


class Backtests(APIView):
    @described("backtests_list", query=("project",))
    def get(self, request: Request) -> Page[BacktestRow]:
        """List backtests, newest first, without their runs."""
        found = backtests.listed(projects=auth.projects_of(request))
        # Each may have replayed hundreds of runs, which a list has no room for.
        return page_of(request, found, backtest_rows.summary)

    @described("backtests_ask", takes=NewBacktest, status=202)
    def post(self, request: Request) -> BacktestRow:
        """Replay recorded runs under a policy and under today's; answers at once."""
        asked = read_body(request, NewBacktest)
        project = Project.objects.get(pk=auth.writable_project(request, asked.project))
        backtest = backtests.ask(
            project,
            asked.policy,
            since=asked.since,
            runs=asked.runs,
            by=auth.name_of(request),
            at=now(),
        )
        # In a worker: recorded turns are judged twice, under both policies.
        tasks.ask_backtest(backtest.id)
        return backtest_rows.row(backtest)


class OneBacktest(APIView):
    @described("backtests_read")
    def get(self, request: Request, backtest_id: UUID) -> BacktestRow:
        """Show a backtest as far as it has come."""
        found = backtests.find(backtest_id, projects=auth.projects_of(request))
        return backtest_rows.row(found)


class AllowlistSuggestions(APIView):
    @described("allowlist_suggestions", query=("project",))
    def get(self, request: Request) -> list[AllowlistSuggestion]:
        """List calls that people let go on three times or more; none is allowed by itself."""
        return allowlist.suggestions(projects=auth.projects_of(request), at=now())


def _readable(request: Request, project_id: UUID) -> Project:
    # In whatever role: who may look at a project may read by which rules it is judged.
    if project_id not in auth.projects_of(request):
        raise NotFound("The project")
    return Project.objects.get(pk=project_id)
