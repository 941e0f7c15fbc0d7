"""Who calls: an agent by its project's key, a person by session or token."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from missioncontrol.accounts import people, ways
from missioncontrol.accounts.models import AgentKey, Membership, PersonalToken, Project, Role, Scope
from missioncontrol.accounts.selectors import KeyHolder, find_personal_token
from missioncontrol.accounts.services import note_use
from missioncontrol.accounts.tokens import AGENT_PREFIX, PERSON_PREFIX, bearer_of, digest
from missioncontrol.api import keys
from missioncontrol.api.keys import find_holder
from missioncontrol.api.rest import Depends
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
KEYS_ARE_OWNERS = "Only an owner makes and revokes keys."


# Each looks at its own prefix alone: DRF asks one after the other, and who sends a key of one
# kind must not be told about another.
class AgentKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer mc_…`."""

    def authenticate(self, request: Request) -> tuple[KeyHolder, str] | None:
        token = bearer_of(request.headers.get("Authorization", ""))
        if not token.startswith(AGENT_PREFIX):
            return None
        # By the hash: what the database holds of a key is of no use to who reads it.
        key = find_holder(digest(token))
        if key is None:
            raise NotSignedIn("This agent key is unknown, revoked or expired.")
        keys.note_request(request, AgentKey, key.key)
        return key, token

    # Without it DRF answers 403 where 401 is meant: an SDK would take its key for a right one.
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
        # Here, before any view: one that is added later cannot forget it.
        if known.scope == Scope.READ and request.method not in SAFE_METHODS:
            raise Forbidden("This token is read-only; make one that may act.")
        note_use(known, at=now())
        keys.note_request(request, PersonalToken, known.pk)
        return known.user, known


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


class IsCaller(BasePermission):
    """A person or an agent."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.user, User | KeyHolder)


def projects_of(request: Request, *, even_archived: bool = True) -> list[UUID]:
    """Return the projects the caller may read, narrowed by `?project=`.

    `even_archived`: those that are archived too, which can always be asked for by name.

    Raises:
        NotFound: `?project=` names one that is not theirs.
    """
    caller = request.user
    # A key has one project, whatever the address asks for.
    if isinstance(caller, KeyHolder):
        return [caller.project]
    wanted = request.query_params.get("project")
    # By name an archived one is found: its page can still be read.
    mine = _memberships(request, even_archived=even_archived or bool(wanted))
    if not wanted:
        return mine
    # Compared as texts: what is no id at all is none of theirs either.
    named = [project for project in mine if str(project) == wanted]
    if not named:
        raise NotFound("The project")
    return named


def find_project(request: Request, project_id: UUID) -> Project:
    """Return a project that the caller may read, in whatever role.

    Raises:
        NotFound: there is none, for them.
    """
    if project_id not in projects_of(request):
        raise NotFound("The project")
    return Project.objects.get(pk=project_id)


def find_run(request: Request, run_id: UUID) -> Run:
    """Return a run that the caller may see.

    Raises:
        NotFound: there is none, for them.
    """
    return runs.find_run(run_id, projects=projects_of(request))


# What operations depend on. Of a list the schema says that `?project=` narrows it.
Projects = Annotated[list[UUID], Depends(projects_of, query=("project",))]
Readable = Annotated[list[UUID], Depends(projects_of)]
FoundProject = Annotated[Project, Depends(find_project)]
FoundRun = Annotated[Run, Depends(find_run)]


def check_reach(request: Request, run_id: UUID) -> None:
    """Refuse an agent whose key does not reach this run; to it, there is none.

    Raises:
        NotFound: it is another key's run, or there is none.
    """
    if isinstance(request.user, KeyHolder):
        runs.check_reach(run_id, request.user)
        note_run(request, run_id)


def note_run(request: Request, run_id: UUID) -> None:
    """Note that an agent's key was used on a run that it reaches."""
    if isinstance(request.user, KeyHolder):
        keys.note_request(request, AgentKey, request.user.key, run=run_id)


def check_obeys(request: Request) -> None:
    """Refuse an agent whose key only reports: nobody answers it, so it brings no answer.

    Raises:
        Forbidden: it is such a key.
    """
    if isinstance(request.user, KeyHolder) and request.user.reports_only:
        raise Forbidden("This agent key can only report.")


def the_project(request: Request, named: UUID | None) -> UUID:
    """Return the project a write is for: the named one, or the only one that is not archived.

    Raises:
        NotFound: it is not theirs.
        InvalidRequest: they have several and named none.
    """
    if named is not None:
        return check_belongs(request, named)
    # An archived one takes no writes: somebody's only live project needs no naming.
    live = _memberships(request, even_archived=False)
    if len(live) != 1:
        raise InvalidRequest("project: required, since you are in several.", field="project")
    return live[0]


def writable_project(request: Request, named: UUID | None) -> UUID:
    """Return the project a write is for, as `the_project` does, if the person may act there.

    Raises:
        Forbidden: they may look but not act, or it is archived.
    """
    project = the_project(request, named)
    check_may_act(request, project)
    return project


def check_belongs(request: Request, project: UUID) -> UUID:
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
        ProjectArchived: nobody may, until it is brought back.
    """
    _check_role(request, project, WRITERS, "A viewer can look but not act.")


def check_owns(
    request: Request, project: UUID, refusal: str, *, even_archived: bool = False
) -> None:
    """Refuse whoever does not own a project, in the words of `refusal`.

    Raises:
        NotFound: the project is not theirs at all.
        Forbidden: they do not own it.
        ProjectArchived: nothing in it changes; unless `even_archived`.
    """
    _check_role(request, project, frozenset({Role.OWNER}), refusal, even_archived=even_archived)


def owners(refusal: str, *, even_archived: bool = False) -> Callable[..., None]:
    """Return the check that lets owners of the project in the address do an operation."""

    def check(request: Request, project_id: UUID) -> None:
        check_owns(request, project_id, refusal, even_archived=even_archived)

    return check


def owners_of_any(refusal: str) -> Callable[..., None]:
    """Return the check that lets who owns a project, whichever, do an operation."""

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
    # The role first, then the archive: a viewer learns nothing of what an owner might do.
    mine = _membership(request, project)
    if mine.role not in roles:
        raise Forbidden(refusal)
    if mine.project.archived_at is not None and not even_archived:
        raise ProjectArchived


@contextmanager
def owning(
    request: Request, project: UUID, refusal: str, *, even_archived: bool = False
) -> Iterator[None]:
    """Hold a project's row while its owner changes it; who was lowered meanwhile does not.

    Raises:
        NotFound: the project is not theirs at all.
        Forbidden: they do not own it.
        ProjectArchived: nothing in it changes; unless `even_archived`.
    """
    # Looked at first too: nobody holds the row of a project that is not theirs.
    check_owns(request, project, refusal, even_archived=even_archived)
    with journal.holding_project(project):
        check_owns(request, project, refusal, even_archived=even_archived)
        yield


class LookedUp(Container[UUID]):
    """Projects that are looked up when one is asked for: under the lock of who asks.

    So who lost their role while waiting for it does nothing. A refusal is raised as it is.
    """

    def __init__(self, check: Callable[[UUID], None]) -> None:
        self._check = check

    def __contains__(self, project: object) -> bool:
        try:
            self._check(cast(UUID, project))
        # `in` is asked under the lock; refusals that say why go on to whoever asked.
        except NotFound:
            return False
        return True


def acting_in(request: Request) -> Container[UUID]:
    """Return the projects that the caller may act in."""
    # Not a list: it would be of before the lock.
    return LookedUp(partial(check_may_act, request))


def owned_with_keys(request: Request) -> Container[UUID]:
    """Return the projects whose keys the caller may end, archived ones too."""
    return LookedUp(partial(check_owns, request, refusal=KEYS_ARE_OWNERS, even_archived=True))


def check_by_hand(request: Request) -> None:
    """Refuse a token: one that leaked must make no other way in, nor lock its person out.

    Raises:
        Forbidden: a token asks, not a signed-in browser.
    """
    if request.auth is not None:
        raise Forbidden("This needs a signed-in session; a token is not enough.")


def check_recent(request: Request) -> None:
    """Ask who signed in a while ago to prove who they are, before what would outlast a theft.

    Nobody is asked who has no way but links, nor a token, which says only that it is one.

    Raises:
        SignInAgain: names the ways they have.
    """
    if request.auth is not None:
        return
    # What outlasts a session takes a fresh proof: a stolen browser makes no key.
    if mine := ways.to_prove(person_of(request), request.session, at=now()):
        raise SignInAgain(mine)


# What makes another way in, or lets somebody in, takes a person at a browser, and a fresh proof.
PROVED = (check_by_hand, check_recent)


def owned_projects(request: Request) -> list[UUID]:
    """Return the projects a person owns."""
    return _memberships(request, roles=frozenset({Role.OWNER}))


def owned_project(request: Request, named: UUID | None) -> UUID:
    """Return the project a write of an owner is for: the named one, or the only one.

    Raises:
        NotFound: it is not theirs at all.
        Forbidden: they do not own it, or it is archived.
        InvalidRequest: they have several and named none.
    """
    project = the_project(request, named)
    check_owns(request, project, KEYS_ARE_OWNERS)
    return project


def person_of(request: Request) -> User:
    """Return the person who calls, where `IsPerson` let nobody else in."""
    return cast(User, request.user)


def name_of(request: Request | HttpRequest) -> str:
    """Return the caller's name as the journal writes it."""
    caller = request.user
    return people.name_of(caller) if isinstance(caller, User) else "agent"


def agent_of(request: Request) -> KeyHolder:
    """Return the agent that calls, where `IsAgent` let nobody else in."""
    return cast(KeyHolder, request.user)


Agent = Annotated[KeyHolder, Depends(agent_of)]
Person = Annotated[User, Depends(person_of)]
By = Annotated[str, Depends(name_of)]


def _membership(request: Request, project: UUID) -> Membership:
    """Return what lets the caller into a project."""
    user = person_of(request)
    mine = ways.open_memberships_of(user, token=request.auth).filter(project=project).first()
    if mine is None:
        # Said only to a member: to anybody else the project does not exist.
        if ways.closed_memberships(user).filter(project=project).exists():
            raise SecondFactorNeeded
        raise NotFound("The project")
    return mine


def _memberships(
    request: Request, roles: frozenset[Role] = frozenset(Role), *, even_archived: bool = True
) -> list[UUID]:
    found = ways.open_memberships_of(person_of(request), token=request.auth).filter(role__in=roles)
    if not even_archived:
        found = found.filter(project__archived_at=None)
    return list(found.values_list("project_id", flat=True))
