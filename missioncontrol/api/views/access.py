"""Agent keys, personal tokens, and signing out elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol.accounts import selectors
from missioncontrol.accounts.models import AgentKey, PersonalToken, Reach, Scope
from missioncontrol.api import auth, keys
from missioncontrol.api.rest import json_response, page_response, read_body
from missioncontrol.api.schema import described
from missioncontrol.clock import now
from missioncontrol.projects import access
from missioncontrol.wire.access import AgentKeyRow, MadeAgentKey, MadeToken, TokenRow

KEY_FIELDS = (
    "id",
    "name",
    "prefix",
    "reach",
    "agent",
    "created_at",
    "created_by",
    "last_used_at",
    "revoked_at",
)
TOKEN_FIELDS = (
    "id",
    "name",
    "prefix",
    "scope",
    "created_at",
    "expires_at",
    "last_used_at",
    "revoked_at",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAgentKey:
    """A key to make; `project` where the person has several.

    It speaks for the runs it opens, or for those of `agent`, or for the whole project.
    """

    name: str
    project: UUID | None = None
    reach: Reach = Reach.OWN
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token to make; without `expires_at` it lives until it is revoked."""

    name: str
    scope: Scope = Scope.READ
    expires_at: datetime | None = None


class AgentKeys(APIView):
    permission_classes = [auth.IsPerson]

    @described("keys_list", returns=AgentKeyRow, many=True, query=("project",))
    def get(self, request: Request) -> HttpResponse:
        """List agent keys, newest first; a secret is never shown again."""
        found = selectors.agent_keys(projects=auth.projects_of(request))
        return page_response(request, found, lambda key: AgentKeyRow(**_key(key)))

    @described("keys_make", takes=NewAgentKey, returns=MadeAgentKey, status=201)
    def post(self, request: Request) -> HttpResponse:
        """Make an agent key; owners only. Its secret is in this answer alone."""
        asked = read_body(request, NewAgentKey)
        return _make_key(request, auth.owned_project(request, asked.project), asked)


class ProjectKeys(APIView):
    permission_classes = [auth.IsPerson]

    @described("projects_keys_list", returns=AgentKeyRow, many=True)
    def get(self, request: Request, project_id: UUID) -> HttpResponse:
        """List a project's agent keys, newest first."""
        found = selectors.agent_keys(projects=[auth.check_belongs(request, project_id)])
        return page_response(request, found, lambda key: AgentKeyRow(**_key(key)))

    @described("projects_keys_make", takes=NewAgentKey, returns=MadeAgentKey, status=201)
    def post(self, request: Request, project_id: UUID) -> HttpResponse:
        """Make an agent key of this project; owners only. Its secret is in this answer alone."""
        asked = read_body(request, NewAgentKey)
        return _make_key(request, auth.owned_project(request, project_id), asked)


class OneAgentKey(APIView):
    permission_classes = [auth.IsPerson]

    @described("keys_revoke", status=204)
    def delete(self, request: Request, key_id: UUID) -> HttpResponse:
        """Revoke an agent key; owners only."""
        key = access.revoke_agent_key(
            key_id,
            projects=auth.owned_projects(request, key_id=key_id),
            by=auth.name_of(request),
            at=now(),
        )
        keys.forget(key.digest)
        return HttpResponse(status=204)


class Tokens(APIView):
    permission_classes = [auth.IsPerson]

    @described("tokens_list", returns=TokenRow, many=True)
    def get(self, request: Request) -> HttpResponse:
        """List your personal tokens, newest first."""
        mine = selectors.personal_tokens(_person(request))
        return page_response(request, mine, lambda token: TokenRow(**_token(token)))

    @described("tokens_make", takes=NewToken, returns=MadeToken, status=201)
    def post(self, request: Request) -> HttpResponse:
        """Make a personal token, signed in. Its secret is in this answer alone."""
        auth.check_by_hand(request)
        asked = read_body(request, NewToken)
        made = access.make_token(
            _person(request),
            name=asked.name,
            scope=asked.scope,
            expires_at=asked.expires_at,
            by=auth.name_of(request),
            at=now(),
        )
        return json_response(MadeToken(**_token(made.row), secret=made.secret), status=201)


class OneToken(APIView):
    permission_classes = [auth.IsPerson]

    @described("tokens_revoke", status=204)
    def delete(self, request: Request, token_id: UUID) -> HttpResponse:
        """Revoke one of your tokens; the sockets it opened are closed."""
        access.revoke_token(token_id, user=_person(request), by=auth.name_of(request), at=now())
        return HttpResponse(status=204)


class Sessions(APIView):
    permission_classes = [auth.IsPerson]

    @described("sessions_end_others", status=204)
    def delete(self, request: Request) -> HttpResponse:
        """Sign out everywhere but here."""
        auth.check_by_hand(request)
        access.end_other_sessions(
            user=_person(request),
            kept=request.session.session_key,
            by=auth.name_of(request),
            at=now(),
        )
        return HttpResponse(status=204)


def _make_key(request: Request, project: UUID, asked: NewAgentKey) -> HttpResponse:
    made = access.make_agent_key(
        project,
        name=asked.name,
        by=auth.name_of(request),
        at=now(),
        reach=asked.reach,
        agent=asked.agent,
    )
    return json_response(MadeAgentKey(**_key(made.row), secret=made.secret), status=201)


def _key(key: AgentKey) -> dict[str, Any]:
    return {"project": key.project_id, **{name: getattr(key, name) for name in KEY_FIELDS}}


def _token(token: PersonalToken) -> dict[str, Any]:
    return {name: getattr(token, name) for name in TOKEN_FIELDS}


def _person(request: Request) -> User:
    return cast(User, request.user)
