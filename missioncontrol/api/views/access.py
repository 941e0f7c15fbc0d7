"""Agent keys, the codes that fetch one, personal tokens, and signing out elsewhere."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from guard.adapters.found import found_agents
from guard.connect.command import forwarder, source
from missioncontrol.accounts import pairing, selectors, uses
from missioncontrol.accounts.models import AgentKey, PersonalToken, Project, Reach, Scope, SetupCode
from missioncontrol.accounts.pace import Pace
from missioncontrol.api import auth, keys, peers
from missioncontrol.api.rest import Page, page_of, read_body, row_of
from missioncontrol.api.schema import described
from missioncontrol.clock import now
from missioncontrol.errors import NotFound
from missioncontrol.projects import access
from missioncontrol.projects.access import OVERLAP
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

T = TypeVar("T")
MOST_RUNS = 200
CODES_OFFERED = Pace("set-up codes offered", most=10, in_all=100)
# Of 58 bits: at this pace nobody finds one in its ten minutes.
CODES_TRIED = Pace("set-up codes", most=20, in_all=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAgentKey:
    """A key to make; `project` where the person has several.

    It speaks for the runs it opens, or for those of `agent`, or for the whole project.
    Without `expires_at` it lives until it is revoked.
    """

    name: str
    project: UUID | None = None
    reach: Reach = Reach.OWN
    agent: str = ""
    reports_only: bool = False
    """Its agent is watched and told nothing."""
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """`overlap_hours`: how long the old key goes on; 0: it is over at once."""

    overlap_hours: int = OVERLAP // timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token to make, for one project or for all of its person's; without `expires_at` it
    lives until it is revoked.
    """

    name: str
    scope: Scope = Scope.READ
    project: UUID | None = None
    expires_at: datetime | None = None


class AgentKeys(APIView):
    @described("keys_list", query=("project",))
    def get(self, request: Request) -> Page[AgentKeyRow]:
        """List agent keys, newest first; a secret is never shown again."""
        found = selectors.agent_keys(projects=auth.projects_of(request))
        return page_of(request, found, lambda key: _row(AgentKeyRow, key))

    @described("keys_make", takes=NewAgentKey, status=201)
    def post(self, request: Request) -> MadeAgentKey:
        """Make an agent key; owners only. Its secret is in this answer alone."""
        asked = read_body(request, NewAgentKey)
        return _make_key(request, auth.owned_project(request, asked.project), asked)


class ProjectKeys(APIView):
    @described("projects_keys_list")
    def get(self, request: Request, project_id: UUID) -> Page[AgentKeyRow]:
        """List a project's agent keys, newest first."""
        found = selectors.agent_keys(projects=[auth.check_belongs(request, project_id)])
        return page_of(request, found, lambda key: _row(AgentKeyRow, key))

    @described("projects_keys_make", takes=NewAgentKey, status=201)
    def post(self, request: Request, project_id: UUID) -> MadeAgentKey:
        """Make an agent key of this project; owners only. Its secret is in this answer alone."""
        asked = read_body(request, NewAgentKey)
        return _make_key(request, auth.owned_project(request, project_id), asked)


class OneAgentKey(APIView):
    @described("keys_revoke")
    def delete(self, request: Request, key_id: UUID) -> None:
        """Revoke an agent key; owners only."""
        # Without a fresh proof: who sees that a key has leaked ends it at once.
        key = access.revoke_agent_key(
            key_id,
            projects=auth.owned_with_keys(request),
            by=auth.name_of(request),
            at=now(),
        )
        # At once in this process; the others know it for some seconds.
        keys.forget(key.digest)


class RotatedAgentKey(APIView):
    @described("keys_rotate", takes=Rotation, status=201)
    def post(self, request: Request, key_id: UUID) -> MadeAgentKey:
        """Make the key that takes this one's place; owners only. Both live for a while."""
        auth.check_by_hand(request)
        auth.check_recent(request)
        hours = read_body(request, Rotation).overlap_hours
        made = access.rotate_agent_key(
            key_id,
            projects=auth.owned_with_keys(request),
            overlap=timedelta(hours=hours),
            by=auth.name_of(request),
            at=now(),
        )
        # Its end is another now: at once, with an overlap of 0.
        keys.forget(AgentKey.objects.values_list("digest", flat=True).get(pk=key_id))
        return _row(MadeAgentKey, made.row, secret=made.secret)


class AgentKeyUses(APIView):
    @described("keys_uses")
    def get(self, request: Request, key_id: UUID) -> SecretUses:
        """Tell from where and on which runs an agent key was used; owners only."""
        # Addresses and programs of agents are the owners' business.
        found = selectors.agent_keys(projects=auth.projects_of(request))
        key = found.filter(pk=key_id).first()
        if key is None:
            raise NotFound("The key")
        auth.check_owns(request, key.project_id, auth.KEYS_ARE_OWNERS, even_archived=True)
        used = uses.runs(key, most=MOST_RUNS)
        # Of its own project, and of those that are still there.
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
        return SecretUses(places=_places(key), runs=used_on)


class TokenUses(APIView):
    @described("tokens_uses")
    def get(self, request: Request, token_id: UUID) -> SecretUses:
        """Tell from where one of your tokens was used."""
        token = selectors.personal_tokens(auth.person_of(request)).filter(pk=token_id).first()
        if token is None:
            raise NotFound("The token")
        return SecretUses(places=_places(token), runs=())


class Tokens(APIView):
    @described("tokens_list")
    def get(self, request: Request) -> Page[TokenRow]:
        """List your personal tokens, newest first."""
        # A person's own, also for an owner: what scripts of theirs do is nobody else's business.
        mine = selectors.personal_tokens(auth.person_of(request))
        return page_of(request, mine, lambda token: _row(TokenRow, token))

    @described("tokens_make", takes=NewToken, status=201)
    def post(self, request: Request) -> MadeToken:
        """Make a personal token, signed in. Its secret is in this answer alone."""
        auth.check_by_hand(request)
        auth.check_recent(request)
        # After the checks: who may not make one learns nothing of what a body should look like.
        asked = read_body(request, NewToken)
        made = access.make_token(
            auth.person_of(request),
            name=asked.name,
            scope=asked.scope,
            project=asked.project and auth.check_belongs(request, asked.project),
            expires_at=asked.expires_at,
            by=auth.name_of(request),
            at=now(),
        )
        return _row(MadeToken, made.row, secret=made.secret)


class OneToken(APIView):
    @described("tokens_revoke")
    def delete(self, request: Request, token_id: UUID) -> None:
        """Revoke one of your tokens; the sockets it opened are closed."""
        # Without a fresh proof, as with agent keys: one that has leaked ends at once.
        access.revoke_token(
            token_id, user=auth.person_of(request), by=auth.name_of(request), at=now()
        )


class Sessions(APIView):
    @described("sessions_end_others")
    def delete(self, request: Request) -> None:
        """Sign out everywhere but here."""
        auth.check_by_hand(request)
        # A token cannot: only who sits at a browser has a session that is kept.
        access.end_other_sessions(
            user=auth.person_of(request),
            kept=request.session.session_key,
            by=auth.name_of(request),
            at=now(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSetupCode:
    """`project` where the person has several."""

    project: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A code, what its key is to be called, and which machine asks."""

    code: str
    name: str
    on: str


class SetupCodes(APIView):
    @described("setup_codes_offer", takes=NewSetupCode, status=201)
    def post(self, request: Request) -> MadeSetupCode:
        """Offer a code that is good for one agent key, once, for ten minutes; owners only."""
        auth.check_by_hand(request)
        project = auth.owned_project(request, read_body(request, NewSetupCode).project)
        auth.check_recent(request)
        CODES_OFFERED.check(str(request.user.pk), at=now())
        made = pairing.offer_setup(
            Project.objects.get(pk=project), by=auth.name_of(request), at=now()
        )
        return row_of(
            MadeSetupCode,
            made.row,
            code=made.secret,
            # As this machine would call it: agents beside the server are offered first.
            guard=shlex.join(forwarder()),
            agents=tuple(FoundAgentRow(**asdict(one)) for one in found_agents(Path.home())),
            install=shlex.join(("pip", "install", source())),
        )


class OneSetupCode(APIView):
    @described("setup_codes_read")
    def get(self, request: Request, code_id: UUID) -> SetupCodeRow:
        """Say whether a code was used, when and on which machine."""
        mine = SetupCode.objects.filter(pk=code_id, project_id__in=auth.projects_of(request))
        found = mine.first()
        if found is None:
            raise NotFound("The set-up code")
        return row_of(SetupCodeRow, found)


class ExchangeCode(APIView):
    authentication_classes: list[Any] = []  # the code is the authority
    permission_classes = [AllowAny]

    @described("setup_codes_exchange", takes=Exchange, status=201)
    def post(self, request: Request) -> ExchangedKey:
        """Exchange a code for an agent key; its secret is in this answer alone."""
        # Before the body is read: whoever guesses is held back whatever they send.
        CODES_TRIED.check(peers.asked_from(request), at=now())
        asked = read_body(request, Exchange)
        made = access.exchange_code(asked.code, name=asked.name, on=asked.on, at=now())
        return ExchangedKey(key=made.secret, project=made.row.project_id)


def _make_key(request: Request, project: UUID, asked: NewAgentKey) -> MadeAgentKey:
    auth.check_by_hand(request)
    auth.check_recent(request)
    # Asked again under the project's lock: who was lowered meanwhile makes no key.
    with auth.owning(request, project, auth.KEYS_ARE_OWNERS):
        made = access.make_agent_key(
            project,
            name=asked.name,
            by=auth.name_of(request),
            at=now(),
            reach=asked.reach,
            agent=asked.agent,
            reports_only=asked.reports_only,
            expires_at=asked.expires_at,
        )
    return _row(MadeAgentKey, made.row, secret=made.secret)


def _row(kind: type[T], secret: AgentKey | PersonalToken, /, **more: Any) -> T:
    """Show a secret's row; `last_used_from` is read with those that are listed."""
    return row_of(kind, secret, last_used_from=getattr(secret, "last_used_from", None), **more)


def _places(secret: AgentKey | PersonalToken) -> tuple[UsedFrom, ...]:
    return tuple(UsedFrom(**place) for place in uses.places(secret))
