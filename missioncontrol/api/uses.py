"""Notes where a key or a token is used: each place and run once a minute, in this process."""

from __future__ import annotations

import time
from uuid import UUID

from django.http import HttpRequest
from rest_framework.request import Request

from missioncontrol import origin
from missioncontrol.accounts import services
from missioncontrol.accounts.models import AgentKey, PersonalToken
from missioncontrol.accounts.services import NOTED_EVERY, Use
from missioncontrol.clock import now

KEPT_USES = 20_000
LONGEST_PROGRAM = 100

_noted: dict[Use, float] = {}


def due(
    secret: type[AgentKey | PersonalToken],
    pk: UUID,
    *,
    address: str,
    user_agent: str,
    run: UUID | None = None,
) -> Use | None:
    """Return a use that is to be noted now, if it is; of several at once, one is told so."""
    # It is shown to people: no line breaks, and nothing that turns a text around.
    program = "".join(sign for sign in user_agent if sign.isprintable())[:LONGEST_PROGRAM]
    use = Use(secret=secret, id=pk, address=address, program=program, run=run)
    moment = time.monotonic()
    # A monotonic clock may begin near 0: what was never noted was long ago.
    if _noted.get(use, -1e9) > moment - NOTED_EVERY.total_seconds():
        return None
    # Forgetting costs one note more for each; a flood of addresses must not fill the memory.
    if len(_noted) >= KEPT_USES:
        _noted.clear()
    _noted[use] = moment
    return use


def note_request(
    request: Request | HttpRequest,
    secret: type[AgentKey | PersonalToken],
    pk: UUID,
    *,
    run: UUID | None = None,
) -> None:
    """Note a use that Django answers, if it is due. Blocks on the database."""
    user_agent = str(request.META.get("HTTP_USER_AGENT", ""))
    address = origin.asked_from(request)
    if use := due(secret, pk, address=address, user_agent=user_agent, run=run):
        services.note_place(use, at=now())
