"""Who calls: an agent by its project's key, a person by session or token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from missioncontrol.accounts.models import Membership, PersonalToken, Role
from missioncontrol.accounts.tokens import AGENT_PREFIX, PERSON_PREFIX, digest
from missioncontrol.api.keys import find_project
from missioncontrol.errors import Forbidden, NotFound, NotSignedIn

WRITERS = frozenset({Role.OWNER, Role.OPERATOR})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCaller:
    """An agent: it has one project and no name of its own."""

    project: UUID
    is_authenticated: bool = True


class AgentKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer mc_…`."""

    def authenticate(self, request: Request) -> tuple[AgentCaller, str] | None:
        token = _bearer(request)
        if not token.startswith(AGENT_PREFIX):
            return None
        project = find_project(digest(token))
        if project is None:
            raise NotSignedIn("This agent key is unknown or revoked.")
        return AgentCaller(project=project), token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class PersonalTokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer mcu_…`."""

    def authenticate(self, request: Request) -> tuple[Any, str] | None:
        token = _bearer(request)
        if not token.startswith(PERSON_PREFIX):
            return None
        known = (
            PersonalToken.objects.select_related("user")
            .filter(digest=digest(token), revoked_at__isnull=True, user__is_active=True)
            .first()
        )
        if known is None:
            raise NotSignedIn("This token is unknown or revoked.")
        return known.user, token


class BrowserSession(SessionAuthentication):
    """A signed-in session; writes send X-CSRFToken."""


class IsPerson(BasePermission):
    """People only: a session or a personal token."""

    message = "This is for people; an agent key cannot read it."

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.user, User)


class IsAgent(BasePermission):
    """Agents only."""

    message = "This is for agents; send the project's agent key."

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.user, AgentCaller)


class IsCaller(BasePermission):
    """A person or an agent."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.user, User | AgentCaller)


def projects_of(request: Request) -> list[UUID]:
    """Return the projects the caller may read, narrowed by `?project=`.

    Raises:
        NotFound: `?project=` names one that is not theirs.
    """
    caller = request.user
    if isinstance(caller, AgentCaller):
        return [caller.project]
    return _narrowed(_memberships(caller), request.query_params.get("project"))


def writable_projects_of(request: Request) -> list[UUID]:
    """Return the projects in which a person may act."""
    return _memberships(request.user, roles=WRITERS)


def check_may_act(request: Request, project: UUID) -> None:
    """Refuse a viewer.

    Raises:
        NotFound: the project is not theirs at all.
        Forbidden: they may look but not act.
    """
    if project not in _memberships(request.user):
        raise NotFound("The project")
    if project not in writable_projects_of(request):
        raise Forbidden("A viewer can look but not act.")


def name_of(request: Request) -> str:
    """Return the caller's name as the journal writes it."""
    caller = request.user
    if isinstance(caller, User):
        return caller.get_full_name() or caller.get_username()
    return "agent"


def _memberships(user: Any, roles: frozenset[Role] | None = None) -> list[UUID]:
    found = Membership.objects.filter(user=user)
    if roles is not None:
        found = found.filter(role__in=roles)
    return list(found.values_list("project_id", flat=True))


def _narrowed(projects: list[UUID], wanted: str | None) -> list[UUID]:
    if not wanted:
        return projects
    for project in projects:
        if str(project) == wanted:
            return [project]
    raise NotFound("The project")


def _bearer(request: Request) -> str:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""
