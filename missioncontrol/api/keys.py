"""Who an agent key belongs to, remembered for a few seconds in memory."""

from __future__ import annotations

import time
from uuid import UUID

from missioncontrol.accounts.models import AgentKey
from missioncontrol.accounts.services import note_use
from missioncontrol.accounts.tokens import digest
from missioncontrol.api.bell import doorbell
from missioncontrol.clock import now
from missioncontrol.errors import NotSignedIn

KEPT_S = 5.0
KEPT_KEYS = 10_000

_known: dict[str, tuple[UUID, float]] = {}


async def project_of(token: str) -> UUID:
    """Return the project of an agent key.

    Raises:
        NotSignedIn: the key is unknown or revoked.
    """
    hashed, moment = digest(token), time.monotonic()
    known = _known.get(hashed)
    if known is not None and known[1] > moment:
        return known[0]
    project = await doorbell.run(lambda: find_project(hashed))
    if project is None:
        _known.pop(hashed, None)
        raise NotSignedIn("This agent key is unknown or revoked.")
    if len(_known) >= KEPT_KEYS:
        _known.clear()
    _known[hashed] = (project, moment + KEPT_S)
    return project


def find_project(hashed: str) -> UUID | None:
    """Look a key up by its hash."""
    key = AgentKey.objects.filter(digest=hashed, revoked_at__isnull=True).first()
    if key is None:
        return None
    note_use(key, at=now())
    return key.project_id


def forget(hashed: str) -> None:
    """Drop a revoked key here; other processes know it for `KEPT_S` at most."""
    _known.pop(hashed, None)
