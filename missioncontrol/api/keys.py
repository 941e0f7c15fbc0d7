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
from missioncontrol.accounts.services import RECORDED_EVERY, Usage, record_last_use, record_usage
from missioncontrol.accounts.tokens import digest
from missioncontrol.api.web_process import dispatcher
from missioncontrol.clock import now
from missioncontrol.errors import NotSignedIn, ProjectArchived

# How long a revoked key may go on working in a process that did not revoke it.
CACHE_S = 5.0
MAX_CACHED_KEYS = 10_000

_lookups: dict[str, tuple[asyncio.Task[KeyHolder | None], float]] = {}
"""By a key's hash: its look-up, which may be under way, and until when the result is valid."""


async def holder_of(token: str) -> KeyHolder:
    """Return the holder of this agent key.

    Raises:
        NotSignedIn: the key is unknown, revoked or expired.
        ProjectArchived: its project takes nothing in.
    """
    hashed, moment, loop = digest(token), time.monotonic(), asyncio.get_running_loop()
    lookup, until = _lookups.get(hashed, (None, 0.0))
    # A result saves a query per turn; a revoked key goes on for a few seconds in other processes.
    # A task of another event loop can never be awaited here.
    if lookup is None or (until <= moment if lookup.done() else lookup.get_loop() is not loop):
        # When full, drop all: keys in use are found again at once.
        if len(_lookups) >= MAX_CACHED_KEYS:
            _lookups.clear()
        # One for all requests that arrive after it was forgotten.
        lookup = asyncio.ensure_future(_look_up_holder(hashed))
        _lookups[hashed] = lookup, moment + CACHE_S
    holder = await asyncio.shield(lookup)  # a caller that hangs up leaves it to the others
    if holder is None:
        raise NotSignedIn("This agent key is unknown, revoked or expired.")
    return holder


async def _look_up_holder(hashed: str) -> KeyHolder | None:
    holder = None
    try:
        holder = await dispatcher.run(lambda: find_holder(hashed))
        return holder
    finally:
        # Only a holder is remembered, and only if the key was not revoked meanwhile.
        if holder is None and _lookups.get(hashed, (None,))[0] is asyncio.current_task():
            _lookups.pop(hashed, None)  # a revoking thread may be first


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
    record_last_use(key, at=at)
    return selectors.holder_of(key)


def forget_all() -> None:
    """Look every key up again, because what its project sets has changed."""
    # Look-ups under way too: they may have read the old state.
    _lookups.clear()


def forget(hashed: str) -> None:
    """Drop a key that was revoked or rotated here; others know it for `CACHE_S` at most."""
    _lookups.pop(hashed, None)


MAX_RECENT_USES = 20_000
MAX_PROGRAM_CHARS = 100

_recorded_at: dict[Usage, float] = {}


def due_use(
    secret: type[AgentKey | PersonalToken],
    pk: UUID,
    *,
    address: str,
    user_agent: str,
    run: UUID | None = None,
) -> Usage | None:
    """Return a use if it is due to be noted; of several at once, only one caller gets it."""
    # People see it: no line breaks, and no characters that reverse a text's direction.
    program = "".join(sign for sign in user_agent if sign.isprintable())[:MAX_PROGRAM_CHARS]
    use = Usage(secret=secret, id=pk, address=address, program=program, run=run)
    moment = time.monotonic()
    # A monotonic clock may begin near 0, so a use never noted counts as noted long ago.
    if _recorded_at.get(use, -1e9) > moment - RECORDED_EVERY.total_seconds():
        return None
    # Forgetting costs one more note for each; a flood of addresses must not fill the memory.
    if len(_recorded_at) >= MAX_RECENT_USES:
        _recorded_at.clear()
    _recorded_at[use] = moment
    return use


def record_request(
    request: Request | HttpRequest,
    secret: type[AgentKey | PersonalToken],
    pk: UUID,
    *,
    run: UUID | None = None,
) -> None:
    """Note a use in a request that Django answers, if it is due. Blocks on the database."""
    user_agent = str(request.META.get("HTTP_USER_AGENT", ""))
    address = origin.client_address_of(request)
    if use := due_use(secret, pk, address=address, user_agent=user_agent, run=run):
        record_usage(use, at=now())
