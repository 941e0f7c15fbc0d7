"""Projects and the person who is signed in."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import ensure_csrf_cookie
from rest_framework.request import Request
from rest_framework.views import APIView

from guard.budget import Budget
from guard.wire import Mode
from missioncontrol.accounts.models import Membership, Role
from missioncontrol.api import auth
from missioncontrol.api.answers import answer, answer_list, read_body
from missioncontrol.api.schema import described
from missioncontrol.clock import now
from missioncontrol.errors import Forbidden, InvalidRequest, NotFound
from missioncontrol.notify import signing
from missioncontrol.oversight.budgets import extra_today, read_budgets
from missioncontrol.oversight.policies import read_policy
from missioncontrol.oversight.projects import NewPolicy, change_project
from missioncontrol.wire.notices import Secret
from missioncontrol.wire.projects import Me, ProjectRow, User

LONGEST_HOLD_S = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPatch:
    """What an owner changes; what is absent stays."""

    name: str | None = None
    mode: Mode | None = None
    policy: dict[str, Any] | str | None = None
    """An object, or the text of a TOML or JSON file; the text is kept as typed."""
    policy_note: str = ""
    """Why; kept with the version."""
    policy_version: int | None = None
    """The version you saw; another than the project's is a 409 `stale_policy`."""
    budget: dict[str, Any] | None = None
    budgets: dict[str, Any] | None = None
    """By scope; a scope that is absent stays, an empty one has no ceiling."""
    time_zone: str | None = None
    hold_limit: int | None = None
    unanswered: Literal["proceed", "stop"] | None = None
    fail: Literal["open", "closed"] | None = None
    agents_choose: bool | None = None
    daily_report: bool | None = None


class Projects(APIView):
    permission_classes = [auth.IsPerson]

    @described("projects_list", returns=ProjectRow, many=True)
    def get(self, request: Request) -> HttpResponse:
        """List your projects."""
        return answer_list(request, project_rows(request))


class OneProject(APIView):
    permission_classes = [auth.IsPerson]

    @described("projects_read", returns=ProjectRow)
    def get(self, request: Request, project_id: UUID) -> HttpResponse:
        """Show a project."""
        return answer(_find(request, project_id))

    @described("projects_change", takes=ProjectPatch, returns=ProjectRow)
    def patch(self, request: Request, project_id: UUID) -> HttpResponse:
        """Change a project's rules; owners only."""
        if _find(request, project_id).role != Role.OWNER:
            raise Forbidden("Only an owner changes a project's rules.")
        changes = _checked(read_body(request, ProjectPatch))
        change_project(project_id, changes, by=auth.name_of(request), at=now())
        return answer(_find(request, project_id))


class ControllerSecret(APIView):
    permission_classes = [auth.IsPerson]

    @described("projects_controller_secret", returns=Secret)
    def get(self, request: Request, project_id: UUID) -> HttpResponse:
        """Show what the webhooks of a project's controllers are signed with; owners only."""
        if _find(request, project_id).role != Role.OWNER:
            raise Forbidden("Only an owner sees the secret.")
        return answer(Secret(secret=signing.secret_of(project_id)))


class WhoAmI(APIView):
    permission_classes = [auth.IsPerson]

    @method_decorator(ensure_csrf_cookie)
    @described("me", returns=Me)
    def get(self, request: Request) -> HttpResponse:
        """Show who is signed in, and what they may see."""
        return answer(
            Me(
                user=User(id=str(request.user.pk), name=auth.name_of(request)),
                projects=tuple(project_rows(request)),
                version=settings.VERSION,
                agent_url=settings.PUBLIC_URL or request.build_absolute_uri("/").rstrip("/"),
            )
        )


def project_rows(request: Request) -> list[ProjectRow]:
    """Return the caller's projects, oldest first."""
    mine = Membership.objects.filter(user=cast(Any, request.user)).select_related("project")
    return [_row(membership) for membership in mine.order_by("project_id")]


def _row(membership: Membership) -> ProjectRow:
    project = membership.project
    return ProjectRow(
        id=project.id,
        name=project.name,
        role=membership.role,
        mode=Mode(project.mode),
        policy=project.policy,
        policy_version=project.policy_version,
        budget=project.budget,
        budgets={"run": project.budget, **project.budgets},
        day_extra=extra_today(project, at=now()),
        time_zone=project.time_zone,
        hold_limit=project.hold_limit,
        unanswered="proceed" if project.unanswered == "proceed" else "stop",
        fail="closed" if project.fail == "closed" else "open",
        agents_choose=project.agents_choose,
        daily_report=project.daily_report,
    )


def _find(request: Request, project_id: UUID) -> ProjectRow:
    for row in project_rows(request):
        if row.id == project_id:
            return row
    raise NotFound("The project")


def _checked(asked: ProjectPatch) -> dict[str, Any]:
    changes = {name: value for name, value in asdict(asked).items() if value is not None}
    note, seen = changes.pop("policy_note"), changes.pop("policy_version", None)
    if "policy" in changes:
        read_policy(changes["policy"])
        changes["policy"] = NewPolicy(policy=changes["policy"], note=note, seen=seen)
    if "budgets" in changes:
        shared = read_budgets(changes["budgets"])
        own = shared.pop("run", changes.get("budget"))
        changes |= {"budgets": shared} | ({} if own is None else {"budget": own})
    if "budget" in changes:
        Budget.from_mapping(changes["budget"])
    if "time_zone" in changes:
        _check_zone(changes["time_zone"])
    if not 1 <= changes.get("hold_limit", 1) <= LONGEST_HOLD_S:
        raise InvalidRequest(f"hold_limit: expected 1 to {LONGEST_HOLD_S} seconds.")
    return changes


def _check_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InvalidRequest(
            f"time_zone: expected an IANA name such as Europe/Berlin, got {name!r}.",
            field="time_zone",
        ) from None
