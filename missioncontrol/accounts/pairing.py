"""What lets in once, within ten minutes.

A phone comes in by a link to scan or a code to type. An agent is set up by a code that stands in
a command line in a key's place.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User

from missioncontrol.accounts.models import LoginLink, Project, SetupCode
from missioncontrol.accounts.services import LINK_LIFE, Minted, redeem, usable
from missioncontrol.accounts.tokens import digest, new_token

# Nothing that looks like something else: no 0 and O, no 1, I and L, no U.
ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
GROUPS, GROUP = 3, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """What is shown once: the link's secret, and the code for a phone without a camera."""

    id: UUID
    secret: str
    code: str
    expires_at: datetime


def offer(*, user: User, at: datetime) -> Pairing:
    """Make a way in for a phone. What this person was offered before stops working."""
    # One at a time: a code that was shown, and forgotten on a screen, must not let anybody in.
    withdraw(user)
    token, code = new_token(""), new_code()
    row = LoginLink.objects.create(
        user=user, digest=token.digest, code_digest=digest(plain(code)), expires_at=at + LINK_LIFE
    )
    return Pairing(id=row.id, secret=token.text, code=code, expires_at=row.expires_at)


def withdraw(user: User) -> None:
    """Take back what this person was offered and nobody came by yet."""
    LoginLink.objects.filter(user=user, used_at=None).exclude(code_digest=None).delete()


def redeem_code(*, code: str, at: datetime) -> LoginLink | None:
    """Use up the link behind a typed code; None: it is spent or unknown."""
    link = usable(at).select_related("user").filter(code_digest=digest(plain(code))).first()
    return redeem(link, at=at) if link else None


def find(*, pairing: UUID, user: User) -> LoginLink | None:
    """Return what a person offered, whatever became of it."""
    offered = LoginLink.objects.filter(pk=pairing, user=user).exclude(code_digest=None)
    return offered.select_related("browser").first()


def offer_setup(project: Project, *, by: str, at: datetime) -> Minted[SetupCode]:
    """Make a code for a project's next agent; those that are over go."""
    # Here, so that no task is needed for it: a code lives for ten minutes.
    SetupCode.objects.filter(expires_at__lte=at).delete()
    code = new_code()
    row = SetupCode.objects.create(
        project=project, digest=digest(plain(code)), created_by=by, expires_at=at + LINK_LIFE
    )
    return Minted(row=row, secret=code)


def redeem_setup(code: str, *, on: str, at: datetime) -> SetupCode | None:
    """Use a code up; None: it is spent or unknown.

    One conditional UPDATE decides: of two at once, one wins.
    """
    found = SetupCode.objects.filter(digest=digest(plain(code)))
    live = found.filter(used_at=None, expires_at__gt=at)
    # Read after the update: whose code it was is told to the one who used it up.
    return found.get() if live.update(used_at=at, used_on=on) else None


def new_code() -> str:
    """Return twelve signs of chance (58 bits) in three groups.

    >>> plain(new_code()).isalnum(), len(new_code())
    (True, 14)
    """
    # In groups, as people read them off and type them.
    groups = ("".join(secrets.choice(ALPHABET) for _ in range(GROUP)) for _ in range(GROUPS))
    return "-".join(groups)


def plain(code: str) -> str:
    """Return a code as it is compared: however it was typed.

    >>> plain(" k7qm 42xd-9rtf")
    'K7QM42XD9RTF'
    """
    # Cut before it is hashed: a megabyte of letters is no code.
    return re.sub(r"[^0-9A-Z]", "", code.upper())[:40]
