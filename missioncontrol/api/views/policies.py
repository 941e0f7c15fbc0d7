"""A project's policy: its versions, checking a new one, and what it would have done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from rest_framework.request import Request

from missioncontrol.accounts.models import Project
from missioncontrol.api import auth
from missioncontrol.api.auth import By, FoundProject, Projects, Readable
from missioncontrol.api.rest import Page, page_of
from missioncontrol.api.routing import Router
from missioncontrol.clock import now
from missioncontrol.decisions import allowlist
from missioncontrol.detection import backtests, policies, scores, tasks
from missioncontrol.detection.backtests import NewBacktest
from missioncontrol.wire.decisions import AllowlistSuggestion
from missioncontrol.wire.policies import BacktestRow, PolicyCheck, PolicyScores, PolicyVersionRow

api = Router()

DAYS = 30
MOST_DAYS = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyToCheck:
    """A policy: an object, or the text of a TOML or JSON file."""

    policy: dict[str, Any] | str


@api.get("projects/<uuid:project_id>/policies/")
def policies_list(request: Request, project: FoundProject) -> Page[PolicyVersionRow]:
    """List the versions of a project's policy, newest first."""
    found = policies.versions(project.id).order_by("-id")
    return page_of(request, found, policies.version_row)


@api.get("projects/<uuid:project_id>/policies/<int:number>/")
def policies_read(project: FoundProject, number: int) -> PolicyVersionRow:
    """Show one version as it stood."""
    return policies.version_row(policies.find_version(project.id, number))


@api.post("projects/<uuid:project_id>/policies/check/")
def policies_check(asked: PolicyToCheck, project: FoundProject) -> PolicyCheck:
    """Say what is wrong with a policy, or what it would change; nothing is kept."""
    return policies.check_policy(asked.policy, project=project)


@api.get("projects/<uuid:project_id>/policies/scores/")
def policies_scores(project: FoundProject, days: int | None) -> PolicyScores:
    """Show the highest stuck score of each run of the last days, and what people did."""
    # Brought within, not refused: of a span that is too long the newest part is shown.
    asked = DAYS if days is None else min(max(days, 1), MOST_DAYS)
    return scores.scores_of(project, days=asked, at=now())


@api.get("backtest/")
def backtests_list(request: Request, projects: Projects) -> Page[BacktestRow]:
    """List backtests, newest first, without their runs."""
    found = backtests.listed(projects=projects)
    # Each may have replayed hundreds of runs, which a list has no room for.
    return page_of(request, found, backtests.summary)


@api.post("backtest/", status=202)
def backtests_ask(request: Request, asked: NewBacktest, by: By) -> BacktestRow:
    """Replay recorded runs under a policy and under today's; answers at once."""
    project = Project.objects.get(pk=auth.writable_project(request, asked.project))
    backtest = backtests.ask(project, asked, by=by, at=now())
    # In a worker: recorded turns are judged twice, under both policies.
    tasks.ask_backtest(backtest.id)
    return backtests.row(backtest)


@api.get("backtest/<uuid:backtest_id>/")
def backtests_read(backtest_id: UUID, projects: Readable) -> BacktestRow:
    """Show a backtest as far as it has come."""
    return backtests.row(backtests.find(backtest_id, projects=projects))


@api.get("allowlist/suggestions/")
def allowlist_suggestions(projects: Projects) -> list[AllowlistSuggestion]:
    """List calls that people let go on three times or more; none is allowed by itself."""
    return allowlist.suggestions(projects=projects, at=now())
