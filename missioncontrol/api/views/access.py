"""Agent keys, the set-up codes that fetch them, personal tokens, and signing out elsewhere."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from guard.adapters.installed import installed_agents
from guard.connect.command import forwarder, install_source
from missioncontrol import origin
from missioncontrol.accounts import selectors, services
from missioncontrol.accounts.models import AgentKey, PersonalToken, Project, SetupCode
from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.api import auth, keys
from missioncontrol.api.auth import By, Person, Projects, ReadableProjects
from missioncontrol.api.rest import Page, get_or_404, page_of
from missioncontrol.api.routing import Router
from missioncontrol.clock import now
from missioncontrol.projects import access
from missioncontrol.projects.access import DEFAULT_OVERLAP, NewAgentKey, NewToken
from missioncontrol.runs.models import Run
from missioncontrol.wire.access import (
    AgentKeyRow,
    ExchangedKey,
    FoundAgentRow,
    MadeAgentKey,
    MadeSetupCode,
    MadeToken,
    SecretUses,
    SetupCodeRow,
    TokenRow,
    UsedFrom,
    UsedOn,
)
from missioncontrol.wire.rows import StrictInt, row_of

api = Router()

T = TypeVar("T")
MAX_RUNS = 200
KEYS_NEED_OWNER = "Only an owner makes and revokes keys."
CODE_OFFER_LIMIT = RateLimit("set-up codes offered", per_caller=10, total=100)
# Codes have 58 bits: at this rate nobody guesses one in the ten minutes it is valid.
CODE_EXCHANGE_LIMIT = RateLimit("set-up codes", per_caller=20, total=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """`overlap_hours`: how long the old key goes on working; 0: it stops at once."""

    overlap_hours: StrictInt = DEFAULT_OVERLAP // timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSetupCode:
    """Give `project` if you are in several."""

    project: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A set-up code, the name for the new key, and the machine that asks."""

    code: str
    name: str
    on: str


@api.get("keys/")
def keys_list(request: Request, projects: Projects) -> Page[AgentKeyRow]:
    """List agent keys, newest first; a secret is never shown again."""
    found = selectors.agent_keys(projects=projects)
    return page_of(request, found, lambda key: _secret_row(AgentKeyRow, key))


@api.post("keys/", status=201)
def keys_make(request: Request, body: NewAgentKey) -> MadeAgentKey:
    """Make an agent key; owners only. Its secret is shown in this answer only."""
    return _make_key(request, _resolve_owned_project(request, body.project), body)


@api.get("projects/<uuid:project_id>/keys/")
def projects_keys_list(request: Request, project_id: UUID) -> Page[AgentKeyRow]:
    """List a project's agent keys, newest first."""
    found = selectors.agent_keys(projects=[auth.check_member(request, project_id)])
    return page_of(request, found, lambda key: _secret_row(AgentKeyRow, key))


@api.post("projects/<uuid:project_id>/keys/", status=201)
def projects_keys_make(request: Request, project_id: UUID, body: NewAgentKey) -> MadeAgentKey:
    """Make an agent key for this project; owners only. Its secret is shown in this answer only."""
    return _make_key(request, _resolve_owned_project(request, project_id), body)


@api.delete("keys/<uuid:key_id>/")
def keys_revoke(request: Request, key_id: UUID, by: By) -> None:
    """Revoke an agent key; owners only."""
    # Without a fresh proof: a person who sees that a key has leaked must be able to revoke it at
    # once.
    key = access.revoke_agent_key(key_id, projects=key_owner_projects(request), by=by, at=now())
    # At once in this process; the others still know it for some seconds.
    keys.forget(key.digest)


@api.post("keys/<uuid:key_id>/rotate/", status=201, checks=auth.FRESH_PROOF)
def keys_rotate(request: Request, key_id: UUID, body: Rotation, by: By) -> MadeAgentKey:
    """Rotate a key: make its replacement; owners only. Both work for a while."""
    made = access.rotate_agent_key(
        key_id,
        projects=key_owner_projects(request),
        overlap=timedelta(hours=body.overlap_hours),
        by=by,
        at=now(),
    )
    # Its expiry has changed: with an overlap of 0 it ends now.
    keys.forget(AgentKey.objects.values_list("digest", flat=True).get(pk=key_id))
    return _secret_row(MadeAgentKey, made.row, secret=made.secret)


@api.get("keys/<uuid:key_id>/uses/")
def keys_uses(request: Request, key_id: UUID, projects: ReadableProjects) -> SecretUses:
    """List where and on which runs an agent key was used; owners only."""
    key = get_or_404(selectors.agent_keys(projects=projects), key_id, "The key")
    # Only owners may see the addresses and programs of agents.
    auth.check_owner(request, key.project_id, KEYS_NEED_OWNER, even_archived=True)
    used = services.usage_by_run(key, limit=MAX_RUNS)
    # Runs of the key's own project that still exist.
    ours = Run.objects.filter(project=key.project_id).select_related("meters")
    runs = ours.in_bulk([use["run"] for use in used])
    used_on = tuple(
        UsedOn(
            **use,
            name=run.name,
            status=run.status,
            turns=run.meters.last_seq + 1,
            is_its_own=run.opened_by == key.pk,
        )
        for use in used
        if (run := runs.get(use["run"]))
    )
    return SecretUses(places=_places_used(key), runs=used_on)


@api.get("tokens/<uuid:token_id>/uses/")
def tokens_uses(token_id: UUID, person: Person) -> SecretUses:
    """List where one of your tokens was used."""
    token = get_or_404(selectors.personal_tokens(person), token_id, "The token")
    return SecretUses(places=_places_used(token), runs=())


@api.get("tokens/")
def tokens_list(request: Request, person: Person) -> Page[TokenRow]:
    """List your personal tokens, newest first."""
    # Only the person's own, even for an owner: what their scripts do concerns nobody else.
    mine = selectors.personal_tokens(person)
    return page_of(request, mine, lambda token: _secret_row(TokenRow, token))


@api.post("tokens/", status=201, checks=auth.FRESH_PROOF)
def tokens_make(request: Request, body: NewToken, person: Person, by: By) -> MadeToken:
    """Make a personal token; needs a signed-in session. Its secret is shown in this answer only."""
    if body.project:
        auth.check_member(request, body.project)
    made = access.make_token(person, body, by=by, at=now())
    return _secret_row(MadeToken, made.row, secret=made.secret)


@api.delete("tokens/<uuid:token_id>/")
def tokens_revoke(token_id: UUID, person: Person, by: By) -> None:
    """Revoke one of your tokens; the sockets it opened are closed."""
    # Without a fresh proof, as with agent keys: a leaked token must end at once.
    access.revoke_token(token_id, user=person, by=by, at=now())


@api.delete("sessions/", checks=(auth.check_signed_in_session,))
def sessions_end_others(request: Request, person: Person, by: By) -> None:
    """Sign out all your other sessions."""
    # A token cannot do this: only a browser has a session to keep.
    kept = request.session.session_key
    access.end_other_sessions(user=person, current_key=kept, by=by, at=now())


@api.post("setup-codes/", status=201, checks=(auth.check_signed_in_session,))
def setup_codes_offer(request: Request, body: NewSetupCode, by: By) -> MadeSetupCode:
    """Make a set-up code for one agent key, usable once within ten minutes; owners only."""
    project = _resolve_owned_project(request, body.project)
    auth.check_fresh_proof(request)
    CODE_OFFER_LIMIT.acquire(str(request.user.pk), at=now())
    made = services.create_setup_code(Project.objects.get(pk=project), by=by, at=now())
    return row_of(
        MadeSetupCode,
        made.row,
        code=made.secret,
        # The command as this machine would type it: agents beside the server are offered first.
        guard=shlex.join(forwarder()),
        agents=tuple(FoundAgentRow(**asdict(one)) for one in installed_agents(Path.home())),
        install=shlex.join(("pip", "install", install_source())),
    )


@api.get("setup-codes/<uuid:code_id>/")
def setup_codes_read(code_id: UUID, projects: ReadableProjects) -> SetupCodeRow:
    """Get whether a set-up code was used, when and on which machine."""
    mine = SetupCode.objects.filter(project_id__in=projects)
    return row_of(SetupCodeRow, get_or_404(mine, code_id, "The set-up code"))


def _limit_code_exchange(request: Request) -> None:
    CODE_EXCHANGE_LIMIT.acquire(origin.client_address_of(request), at=now())


# Without a session or a key: the code itself proves who asks. The rate is checked before the body
# is read, so that it holds back guesses whatever they send.
@api.post("setup-codes/exchange/", status=201, caller=AllowAny, checks=(_limit_code_exchange,))
def setup_codes_exchange(body: Exchange) -> ExchangedKey:
    """Exchange a code for an agent key; its secret is shown in this answer only."""
    made = access.exchange_setup_code(body.code, name=body.name, machine=body.on, at=now())
    return ExchangedKey(key=made.secret, project=made.row.project_id)


def _resolve_owned_project(request: Request, named: UUID | None) -> UUID:
    project = auth.resolve_project(request, named)
    auth.check_owner(request, project, KEYS_NEED_OWNER)
    return project


def key_owner_projects(request: Request) -> auth.LazyProjects:
    """Return the projects whose keys the caller may revoke, including archived ones."""
    check = partial(auth.check_owner, request, refusal=KEYS_NEED_OWNER, even_archived=True)
    return auth.LazyProjects(check)


def _make_key(request: Request, project: UUID, body: NewAgentKey) -> MadeAgentKey:
    auth.check_signed_in_session(request)
    auth.check_fresh_proof(request)
    # Checked again under the project's lock: an owner who lost the role meanwhile makes no key.
    with auth.locked_as_owner(request, project, KEYS_NEED_OWNER):
        made = access.make_agent_key(project, body, by=auth.name_of(request), at=now())
    return _secret_row(MadeAgentKey, made.row, secret=made.secret)


def _secret_row(kind: type[T], secret: AgentKey | PersonalToken, /, **more: Any) -> T:
    """Return a secret's row; only listed secrets carry a `last_used_from`."""
    return row_of(kind, secret, last_used_from=getattr(secret, "last_used_from", None), **more)


def _places_used(secret: AgentKey | PersonalToken) -> tuple[UsedFrom, ...]:
    return tuple(UsedFrom(**place) for place in services.usage_by_place(secret))
