"""Who calls: an agent with its project's key, or a person with a session or token."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, cast
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from rest_framework import authentication
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from missioncontrol import origin
from missioncontrol.accounts import credentials, people
from missioncontrol.accounts.models import AgentKey, Membership, PersonalToken, Project, Role, Scope
from missioncontrol.accounts.selectors import KeyHolder, find_personal_token
from missioncontrol.accounts.services import record_last_use
from missioncontrol.accounts.tokens import AGENT_PREFIX, PERSON_PREFIX, bearer_of, digest
from missioncontrol.api import keys
from missioncontrol.api.keys import find_holder
from missioncontrol.api.rest import Depends, get_or_404
from missioncontrol.clock import now
from missioncontrol.errors import (
    Forbidden,
    InvalidRequest,
    NotFound,
    NotSignedIn,
    ProjectArchived,
    SecondFactorNeeded,
    SignInAgain,
)
from missioncontrol.runs import journal
from missioncontrol.runs import selectors as runs
from missioncontrol.runs.models import Run

WRITERS = frozenset({Role.OWNER, Role.OPERATOR})


# Each checks only its own prefix: DRF tries one after the other, and a caller with a key of one
# kind must not get an error about another.
class AgentKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer mc_…`."""

    def authenticate(self, request: Request) -> tuple[KeyHolder, str] | None:
        token = bearer_of(request.headers.get("Authorization", ""))
        if not token.startswith(AGENT_PREFIX):
            return None
        # By the hash: whoever reads the database cannot use what it holds of a key.
        key = find_holder(digest(token))
        if key is None:
            raise NotSignedIn("This agent key is unknown, revoked or expired.")
        keys.record_request(request, AgentKey, key.key)
        return key, token

    # Without it DRF answers 403 instead of 401, and an SDK would take its key for a valid one.
    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class PersonalTokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer mcu_…`."""

    def authenticate(self, request: Request) -> tuple[Any, PersonalToken] | None:
        token = bearer_of(request.headers.get("Authorization", ""))
        if not token.startswith(PERSON_PREFIX):
            return None
        known = find_personal_token(token, at=now())
        if known is None:
            raise NotSignedIn("This token is unknown, revoked or expired.")
        # Checked here, before any view, so that a view that is added later cannot forget it.
        if known.scope == Scope.READ and request.method not in SAFE_METHODS:
            raise Forbidden("This token is read-only; make one that may act.")
        record_last_use(known, at=now())
        keys.record_request(request, PersonalToken, known.pk)
        return known.user, known


class SessionAuthentication(authentication.SessionAuthentication):
    """A browser's session; a write also needs its CSRF token."""

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied as refused:
            cookie = origin.cookie_name(settings.CSRF_COOKIE_NAME, str(request.scheme))
            raise Forbidden(
                f"{refused.detail} A write by session needs the value of its cookie {cookie} "
                "(or csrftoken) in the header X-CSRFToken."
            ) from None


class IsPerson(BasePermission):
    """People only: a session or a personal token."""

    message = "This is for people; an agent key cannot read it."

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.user, User)


class IsAgent(BasePermission):
    """Agents only."""

    message = "This is for agents; send the project's agent key."

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.user, KeyHolder)


class IsPersonOrAgent(BasePermission):
    """A person or an agent."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.user, User | KeyHolder)


def projects_of(request: Request, *, even_archived: bool = True) -> list[UUID]:
    """Return the projects the caller may read, narrowed by `?project=`.

    `even_archived`: include archived projects, which can always be requested by name.

    Raises:
        NotFound: `?project=` names one that is not theirs.
    """
    caller = request.user
    # A key has one project, whatever the URL asks for.
    if isinstance(caller, KeyHolder):
        return [caller.project]
    wanted = request.query_params.get("project")
    # An archived project is found by name: its page can still be read.
    mine = _memberships(request, even_archived=even_archived or bool(wanted))
    if not wanted:
        return mine
    # Compared as text: a value that is not an id is none of theirs either.
    named = [project for project in mine if str(project) == wanted]
    if not named:
        raise NotFound("The project")
    return named


def find_project(request: Request, project_id: UUID) -> Project:
    """Return a project that the caller may read, in whatever role.

    Raises:
        NotFound: it does not exist, or they may not see it.
    """
    return get_or_404(
        Project.objects.filter(pk__in=projects_of(request)), project_id, "The project"
    )


def find_run(request: Request, run_id: UUID) -> Run:
    """Return a run that the caller may see.

    Raises:
        NotFound: it does not exist, or they may not see it.
    """
    return runs.find_run(run_id, projects=projects_of(request))


# What operations depend on. For a list, the schema says that `?project=` narrows it.
Projects = Annotated[list[UUID], Depends(projects_of, query=("project",))]
ReadableProjects = Annotated[list[UUID], Depends(projects_of)]
FoundProject = Annotated[Project, Depends(find_project)]
FoundRun = Annotated[Run, Depends(find_run)]


def check_reach(request: Request, run_id: UUID) -> None:
    """Refuse an agent whose key does not reach this run; to that agent the run does not exist.

    Raises:
        NotFound: it is another key's run, or there is none.
    """
    if isinstance(request.user, KeyHolder):
        runs.find_run_for_key(run_id, request.user)
        record_key_use(request, run_id)


def record_key_use(request: Request, run_id: UUID) -> None:
    """Note that an agent's key was used on a run that it reaches."""
    if isinstance(request.user, KeyHolder):
        keys.record_request(request, AgentKey, request.user.key, run=run_id)


def check_not_reports_only(request: Request) -> None:
    """Refuse an agent whose key only reports: it gets no answers, so it cannot report one.

    Raises:
        Forbidden: it is such a key.
    """
    if isinstance(request.user, KeyHolder) and request.user.reports_only:
        raise Forbidden("This agent key can only report.")


def resolve_project(request: Request, named: UUID | None) -> UUID:
    """Return the project a write is for: the named one, or the only one that is not archived.

    Raises:
        NotFound: it is not theirs.
        InvalidRequest: they have several and named none.
    """
    if named is not None:
        return check_member(request, named)
    # An archived project takes no writes, so the only live one need not be named.
    live = _memberships(request, even_archived=False)
    if len(live) != 1:
        raise InvalidRequest("project: required, since you are in several.", field="project")
    return live[0]


def resolve_writable_project(request: Request, named: UUID | None) -> UUID:
    """Return the project a write is for, as `resolve_project` does, if the person may act there.

    Raises:
        Forbidden: they may look but not act, or it is archived.
    """
    project = resolve_project(request, named)
    check_may_act(request, project)
    return project


def check_member(request: Request, project: UUID) -> UUID:
    """Return a project the person belongs to, in whatever role.

    Raises:
        NotFound: it is not theirs.
    """
    return _membership(request, project).project_id


def check_may_act(request: Request, project: UUID) -> None:
    """Refuse a viewer.

    Raises:
        NotFound: the project is not theirs at all.
        Forbidden: they may look but not act.
        ProjectArchived: nobody may act until it is restored.
    """
    _check_role(request, project, WRITERS, "A viewer can look but not act.")


def check_owner(
    request: Request, project: UUID, refusal: str, *, even_archived: bool = False
) -> None:
    """Refuse whoever does not own a project, in the words of `refusal`.

    Raises:
        NotFound: the project is not theirs at all.
        Forbidden: they do not own it.
        ProjectArchived: it is archived, unless `even_archived`.
    """
    _check_role(request, project, frozenset({Role.OWNER}), refusal, even_archived=even_archived)


def require_owner(refusal: str, *, even_archived: bool = False) -> Callable[..., None]:
    """Return the check that only owners of the project in the URL may call an operation."""

    def check(request: Request, project_id: UUID) -> None:
        check_owner(request, project_id, refusal, even_archived=even_archived)

    return check


def require_owner_of_any(refusal: str) -> Callable[..., None]:
    """Return the check that only people who own some project may call an operation."""

    def check(request: Request) -> None:
        if not owned_projects(request):
            raise Forbidden(refusal)

    return check


def _check_role(
    request: Request,
    project: UUID,
    roles: frozenset[Role],
    refusal: str,
    *,
    even_archived: bool = False,
) -> None:
    # The role first, then the archive: a viewer learns nothing about what an owner could do.
    mine = _membership(request, project)
    if mine.role not in roles:
        raise Forbidden(refusal)
    if mine.project.archived_at is not None and not even_archived:
        raise ProjectArchived


@contextmanager
def locked_as_owner(
    request: Request, project: UUID, refusal: str, *, even_archived: bool = False
) -> Iterator[None]:
    """Lock a project's row while its owner changes it; refuse one who lost the role meanwhile.

    Raises:
        NotFound: the project is not theirs at all.
        Forbidden: they do not own it.
        ProjectArchived: it is archived, unless `even_archived`.
    """
    # Checked before the lock too: nobody may lock the row of a project that is not theirs.
    check_owner(request, project, refusal, even_archived=even_archived)
    with journal.lock_project(project):
        check_owner(request, project, refusal, even_archived=even_archived)
        yield


class LazyProjects(Container[UUID]):
    """Projects that are looked up only when `in` is evaluated, under the lock of the code that
    asks.

    So a person who lost their role while waiting for the lock does nothing. A refusal other than
    NotFound is raised as it is.
    """

    def __init__(self, check: Callable[[UUID], None]) -> None:
        self._check = check

    def __contains__(self, project: object) -> bool:
        try:
            self._check(cast(UUID, project))
        # A refusal that gives a reason is passed on to the caller.
        except NotFound:
            return False
        return True


def writable_projects(request: Request) -> Container[UUID]:
    """Return the projects that the caller may act in."""
    # Not a list, which would be read before the lock is taken.
    return LazyProjects(partial(check_may_act, request))


def check_signed_in_session(request: Request) -> None:
    """Refuse a token: a leaked one must not create another credential, nor lock its person out.

    Raises:
        Forbidden: the caller uses a token, not a browser session.
    """
    if request.auth is not None:
        raise Forbidden("This needs a signed-in session; a token is not enough.")


def check_fresh_proof(request: Request) -> None:
    """Ask a person who signed in a while ago for a fresh proof, before what would outlast a theft.

    Not asked for a proof: people who sign in only by links, and tokens.

    Raises:
        SignInAgain: names the methods they have.
    """
    if request.auth is not None:
        return
    # What outlasts a session takes a fresh proof: a stolen session cannot make a key.
    if mine := credentials.methods_to_prove_again(person_of(request), request.session, at=now()):
        raise SignInAgain(mine)


# What creates a credential or lets somebody in takes a person at a browser and a fresh proof.
FRESH_PROOF = (check_signed_in_session, check_fresh_proof)


def owned_projects(request: Request) -> list[UUID]:
    """Return the projects a person owns."""
    return _memberships(request, roles=frozenset({Role.OWNER}))


def person_of(request: Request) -> User:
    """Return the person who calls; for views where `IsPerson` admits only people."""
    return cast(User, request.user)


def name_of(request: Request | HttpRequest) -> str:
    """Return the caller's name as the journal writes it."""
    caller = request.user
    return people.name_of(caller) if isinstance(caller, User) else "agent"


def agent_of(request: Request) -> KeyHolder:
    """Return the agent that calls; for views where `IsAgent` admits only agents."""
    return cast(KeyHolder, request.user)


Agent = Annotated[KeyHolder, Depends(agent_of)]
Person = Annotated[User, Depends(person_of)]
By = Annotated[str, Depends(name_of)]


def _membership(request: Request, project: UUID) -> Membership:
    """Return the membership that lets the caller into a project."""
    user = person_of(request)
    mine = credentials.open_memberships_of(user, token=request.auth).filter(project=project).first()
    if mine is None:
        # Said only to a member: to anybody else the project does not exist.
        if credentials.closed_memberships(user).filter(project=project).exists():
            raise SecondFactorNeeded
        raise NotFound("The project")
    return mine


def _memberships(
    request: Request, roles: frozenset[Role] = frozenset(Role), *, even_archived: bool = True
) -> list[UUID]:
    mine = credentials.open_memberships_of(person_of(request), token=request.auth)
    found = mine.filter(role__in=roles)
    if not even_archived:
        found = found.filter(project__archived_at=None)
    return list(found.values_list("project_id", flat=True))
