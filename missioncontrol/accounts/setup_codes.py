"""Codes that stand in a command line in a key's place: short-lived, exchanged once."""

from __future__ import annotations

from datetime import datetime

from missioncontrol.accounts.models import Project, SetupCode
from missioncontrol.accounts.pairing import new_code, plain
from missioncontrol.accounts.services import LINK_LIFE, Minted
from missioncontrol.accounts.tokens import digest


def offer(project: Project, *, by: str, at: datetime) -> Minted[SetupCode]:
    """Make a code for a project's next agent; those that are over go."""
    # Here, so that no task is needed for it: a code lives for ten minutes.
    SetupCode.objects.filter(expires_at__lte=at).delete()
    code = new_code()
    row = SetupCode.objects.create(
        project=project, digest=digest(plain(code)), created_by=by, expires_at=at + LINK_LIFE
    )
    return Minted(row=row, secret=code)


def redeem(code: str, *, on: str, at: datetime) -> SetupCode | None:
    """Use a code up; None: it is spent or unknown.

    One conditional UPDATE decides: of two at once, one wins.
    """
    found = SetupCode.objects.filter(digest=digest(plain(code)))
    live = found.filter(used_at=None, expires_at__gt=at)
    # Read after the update: whose code it was is told to the one who used it up.
    return found.get() if live.update(used_at=at, used_on=on) else None
