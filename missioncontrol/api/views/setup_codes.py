"""Set-up codes: offered on the empty board, exchanged for a key by `guard connect --once`."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from guard.connect.command import forwarder, source
from guard.connect.found import found_agents
from missioncontrol.accounts import setup_codes
from missioncontrol.accounts.models import Project, SetupCode
from missioncontrol.accounts.pace import Pace
from missioncontrol.api import auth, peers
from missioncontrol.api.rest import read_body, row_of
from missioncontrol.api.schema import described
from missioncontrol.clock import now
from missioncontrol.errors import NotFound
from missioncontrol.projects import access
from missioncontrol.wire.access import ExchangedKey, FoundAgentRow, MadeSetupCode, SetupCodeRow

OFFERS = Pace("set-up codes offered", most=10, in_all=100)
# Of 58 bits: at this pace nobody finds one in its ten minutes.
TRIES = Pace("set-up codes", most=20, in_all=200)


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
        OFFERS.check(str(request.user.pk), at=now())
        made = setup_codes.offer(
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
        TRIES.check(peers.asked_from(request), at=now())
        asked = read_body(request, Exchange)
        made = access.exchange_code(asked.code, name=asked.name, on=asked.on, at=now())
        return ExchangedKey(key=made.secret, project=made.row.project_id)
