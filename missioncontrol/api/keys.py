"""Who an agent key belongs to, and where keys and tokens are used from.

Both are remembered in this process: the first for a few seconds, the second so that each address
and run is noted once a minute.
"""

from __future__ import annotations

import asyncio
import time
from uuid import UUID

from django.http import HttpRequest
from rest_framework.request import Request

from missioncontrol import origin
from missioncontrol.accounts import selectors
from missioncontrol.accounts.models import AgentKey, PersonalToken
from missioncontrol.accounts.selectors import KeyHolder, live_keys
from missioncontrol.accounts.services import NOTED_EVERY, Use, note_place, note_use
from missioncontrol.accounts.tokens import digest
from missioncontrol.api.web_process import dispatcher
from missioncontrol.clock import now
from missioncontrol.errors import NotSignedIn, ProjectArchived

# How long a revoked key may go on working in a process that did not revoke it.
KEPT_S = 5.0
KEPT_KEYS = 10_000

_known: dict[str, tuple[KeyHolder, float]] = {}
# One look-up per key, however many requests arrive after it was forgotten.
_looking: dict[str, asyncio.Task[KeyHolder | None]] = {}


async def holder_of(token: str) -> KeyHolder:
    """Return the holder of this agent key.

    Raises:
        NotSignedIn: the key is unknown, revoked or expired.
        ProjectArchived: its project takes nothing in.
    """
    hashed, moment = digest(token), time.monotonic()
    known = _known.get(hashed)
    # This saves a query per turn; a revoked key goes on for a few seconds in other processes.
    if known is not None and known[1] > moment:
        return known[0]
    looking = _looking.get(hashed)
    # A task of another event loop can never be awaited here.
    if looking is None or looking.get_loop() is not asyncio.get_running_loop():
        looking = _looking[hashed] = asyncio.ensure_future(_look_up(hashed, moment + KEPT_S))
    holder = await asyncio.shield(looking)  # a caller that hangs up leaves it to the others
    if holder is None:
        raise NotSignedIn("This agent key is unknown, revoked or expired.")
    return holder


async def _look_up(hashed: str, until: float) -> KeyHolder | None:
    mine = asyncio.current_task()
    try:
        holder = await dispatcher.run(lambda: find_holder(hashed))
        if holder is None:
            _known.pop(hashed, None)
        elif _looking.get(hashed) is mine:  # not revoked meanwhile
            # When full, drop all: keys in use are found again at once.
            if len(_known) >= KEPT_KEYS:
                _known.clear()
            _known[hashed] = (holder, until)
        return holder
    finally:
        if _looking.get(hashed) is mine:
            del _looking[hashed]


def find_holder(hashed: str) -> KeyHolder | None:
    """Look a key up by its hash.

    Raises:
        ProjectArchived: its project takes nothing in.
    """
    at = now()
    key = live_keys(at=at).select_related("project").filter(digest=hashed).first()
    if key is None:
        return None
    # Not reported as unknown: its owner must learn why nothing arrives any more.
    if key.project.archived_at is not None:
        raise ProjectArchived
    note_use(key, at=at)
    return selectors.holder_of(key)


def forget_all() -> None:
    """Look every key up again, because what its project sets has changed."""
    _known.clear()
    # Look-ups under way too: they may have read the old state.
    _looking.clear()


def forget(hashed: str) -> None:
    """Drop a key that was revoked or rotated here; others know it for `KEPT_S` at most."""
    _known.pop(hashed, None)
    _looking.pop(hashed, None)


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
    """Return a use if it is due to be noted; of several at once, only one caller gets it."""
    # People see it: no line breaks, and no characters that reverse a text's direction.
    program = "".join(sign for sign in user_agent if sign.isprintable())[:LONGEST_PROGRAM]
    use = Use(secret=secret, id=pk, address=address, program=program, run=run)
    moment = time.monotonic()
    # A monotonic clock may begin near 0, so a use never noted counts as noted long ago.
    if _noted.get(use, -1e9) > moment - NOTED_EVERY.total_seconds():
        return None
    # Forgetting costs one more note for each; a flood of addresses must not fill the memory.
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
    """Note a use in a request that Django answers, if it is due. Blocks on the database."""
    user_agent = str(request.META.get("HTTP_USER_AGENT", ""))
    address = origin.asked_from(request)
    if use := due(secret, pk, address=address, user_agent=user_agent, run=run):
        note_place(use, at=now())
