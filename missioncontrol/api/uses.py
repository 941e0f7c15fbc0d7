"""Notes where a key or a token is used: each place and run once a minute, in this process."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from rest_framework.request import Request

from missioncontrol import origin
from missioncontrol.accounts import uses
from missioncontrol.accounts.models import AgentKey, PersonalToken
from missioncontrol.accounts.services import NOTED_EVERY
from missioncontrol.accounts.uses import Use
from missioncontrol.clock import now

KEPT_USES = 20_000
LONGEST_PROGRAM = 100

_noted: dict[Use, float] = {}


def is_due(use: Use) -> bool:
    """Say whether a use is to be noted; of several at once, one is told so."""
    moment = time.monotonic()
    # A monotonic clock may begin near 0: what was never noted was long ago.
    if _noted.get(use, -1e9) > moment - NOTED_EVERY.total_seconds():
        return False
    # Forgetting costs one note more for each; a flood of addresses must not fill the memory.
    if len(_noted) >= KEPT_USES:
        _noted.clear()
    _noted[use] = moment
    return True


def note(use: Use) -> None:
    """Note a use, if it is due. Blocks on the database."""
    if is_due(use):
        uses.note(use, at=now())


def note_request(
    request: Request | HttpRequest,
    secret: type[AgentKey | PersonalToken],
    pk: UUID,
    *,
    run: UUID | None = None,
) -> None:
    """Note a use that Django answers."""
    program = program_of(request.META.get("HTTP_USER_AGENT", ""))
    address = origin.asked_from(request)
    note(Use(secret=secret, id=pk, address=address, program=program, run=run))


def program_of(user_agent: Any) -> str:
    """Return what a caller calls itself, as it is kept."""
    # It is shown to people: no line breaks, and nothing that turns a text around.
    return "".join(sign for sign in str(user_agent) if sign.isprintable())[:LONGEST_PROGRAM]
