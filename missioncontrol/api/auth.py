"""Who calls: an agent by its project's key, a person by session or token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from missioncontrol.accounts.models import AgentKey, Membership, Role, Scope
from missioncontrol.accounts.selectors import find_personal_token
from missioncontrol.accounts.services import note_use
from missioncontrol.accounts.tokens import AGENT_PREFIX, PERSON_PREFIX, digest
from missioncontrol.api.keys import find_project
from missioncontrol.clock import now
from missioncontrol.errors import Forbidden, InvalidRequest, NotFound, NotSignedIn

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
        known = find_personal_token(token, at=now())
        if known is None:
            raise NotSignedIn("This token is unknown, revoked or expired.")
        if known.scope == Scope.READ and request.method not in SAFE_METHODS:
            raise Forbidden("This token only reads; make one that may act.")
        note_use(known, at=now())
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


def check_belongs(request: Request, project: UUID) -> UUID:
    """Return a project the person belongs to, in whatever role.

    Raises:
        NotFound: it is not theirs.
    """
    if project not in _memberships(request.user):
        raise NotFound("The project")
    return project


def check_may_act(request: Request, project: UUID) -> None:
    """Refuse a viewer.

    Raises:
        NotFound: the project is not theirs at all.
        Forbidden: they may look but not act.
    """
    found = Membership.objects.filter(user=cast(Any, request.user), project=project)
    role = found.values_list("role", flat=True).first()
    if role is None:
        raise NotFound("The project")
    if role not in WRITERS:
        raise Forbidden("A viewer can look but not act.")


def check_by_hand(request: Request) -> None:
    """Refuse a token: one that leaked must make no other way in, nor lock its person out.

    Raises:
        Forbidden: a token asks, not a signed-in browser.
    """
    if request.auth is not None:
        raise Forbidden("Sign in for this; a token cannot do it.")


def owned_projects(request: Request, *, key_id: UUID | None = None) -> list[UUID]:
    """Return the projects a person owns; a key of one they do not own is refused.

    Raises:
        Forbidden: the key is of a project they belong to without owning it.
    """
    owned = _memberships(request.user, roles=frozenset({Role.OWNER}))
    mine = _memberships(request.user)
    if (
        key_id
        and AgentKey.objects.filter(pk=key_id, project_id__in=set(mine) - set(owned)).exists()
    ):
        raise Forbidden("Only an owner makes and revokes keys.")
    return owned


def owned_project(request: Request, named: UUID | None) -> UUID:
    """Return the project a write of an owner is for: the named one, or the only one.

    Raises:
        NotFound: it is not theirs at all.
        Forbidden: they do not own it.
        InvalidRequest: they have several and named none.
    """
    mine = _memberships(request.user)
    if named is None and len(mine) != 1:
        raise InvalidRequest("project: say which of your projects.", field="project")
    project = check_belongs(request, named or mine[0])
    if project not in owned_projects(request):
        raise Forbidden("Only an owner makes and revokes keys.")
    return project


def name_of(request: Request | HttpRequest) -> str:
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
