"""Make people, projects, keys, and one-time links and codes. No secret is stored as text.

A one-time link or code is valid for ten minutes. A phone is let in by a link to scan or a code to
type. An agent is set up by a code that a command line contains instead of a key. For keys and
tokens, the places and runs of their use are recorded: that is what one asks after a leak.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max, Min, Model, Q

from guard.wire import Mode
from missioncontrol.accounts.models import (
    AgentKey,
    Browser,
    LoginLink,
    Membership,
    PersonalToken,
    Project,
    Reach,
    Role,
    SecretUse,
    SetupCode,
)
from missioncontrol.accounts.selectors import live
from missioncontrol.accounts.tokens import AGENT_PREFIX, PERSON_PREFIX, digest

Row = TypeVar("Row", bound=Model)
LOCAL_OWNER = "you"
LINK_LIFE = timedelta(minutes=10)
# Each request uses a key: one write for each would be wasted.
RECORDED_EVERY = timedelta(minutes=1)
# No characters that look alike: no 0 and O, no 1, I and L, no U.
CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
CODE_GROUPS, GROUP_LENGTH = 3, 4
# Places recorded for one secret. Its holder chooses the program, and some choose their address.
MAX_PLACES = 200
OTHER_PLACES = ""
_PERIOD_OF_USE: dict[str, Any] = {"since": Min("first_at"), "until": Max("last_at")}


@dataclass(frozen=True, slots=True, kw_only=True)
class MintedSecret(Generic[Row]):
    """A new row and its secret, which is readable here and never again."""

    row: Row
    secret: str


def mint(
    model: type[Row], prefix: str = "", *, secret: str = "", **columns: Any
) -> MintedSecret[Row]:
    """Store a row under the hash of a new secret of 256 bits, or of a `secret` made before.

    `prefix`: what the secret is, if it is kept; a link's is part of an address and has none.
    """
    secret = secret or prefix + secrets.token_urlsafe(32)
    if prefix:
        # It tells a person's own keys apart; the rest cannot be guessed from it.
        columns["prefix"] = secret[:8]
    row = model(digest=digest(secret), **columns)
    row.save(force_insert=True)
    return MintedSecret(row=row, secret=secret)


def ensure_local_owner() -> User:
    """Return the person who started this installation; one-time links sign them in.

    They have no usable password: the way in is the terminal that runs `up`.
    """
    user, is_new = User.objects.get_or_create(username=LOCAL_OWNER)
    if is_new:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


@transaction.atomic
def create_project(*, name: str, owner: User, at: datetime, mode: Mode = Mode.PAUSE) -> Project:
    """Open a project with its first owner."""
    project = Project.objects.create(name=name, mode=mode, created_at=at)
    # In the same transaction: nobody could give an owner to a project without one.
    Membership.objects.create(project=project, user=owner, role=Role.OWNER, joined_at=at)
    return project


def mint_agent_key(
    *,
    project: Project,
    name: str,
    at: datetime,
    reach: Reach = Reach.OWN,
    **columns: Any,
) -> MintedSecret[AgentKey]:
    """Make a key that lets an agent report to this project, on the runs it reaches."""
    columns |= {"project": project, "name": name, "created_at": at, "reach": reach}
    return mint(AgentKey, AGENT_PREFIX, **columns)


def revoke(row: AgentKey | PersonalToken, *, at: datetime) -> bool:
    """Revoke a key or a token; False if it was revoked already."""
    # Conditional: a second revocation must not change the time of the first.
    return bool(type(row).objects.filter(pk=row.pk, revoked_at=None).update(revoked_at=at))


def mint_personal_token(
    *, user: User, name: str, at: datetime, **columns: Any
) -> MintedSecret[PersonalToken]:
    """Make a token for a script to act as this person, or only read; in one project, or all."""
    return mint(PersonalToken, PERSON_PREFIX, user=user, name=name, created_at=at, **columns)


def record_last_use(row: AgentKey | PersonalToken, *, at: datetime) -> None:
    """Record when a secret was last used, at most once a minute."""
    # An update, not `save`: other columns may have changed since the row was read.
    if row.last_used_at is None or at - row.last_used_at >= RECORDED_EVERY:
        type(row).objects.filter(pk=row.pk).update(last_used_at=at)


def mint_login_link(*, user: User, at: datetime, on_get: bool = False) -> MintedSecret[LoginLink]:
    """Make a login link that works once, for ten minutes.

    `on_get`: opening it signs in without the button, from loopback peers only.
    """
    # A used pairing link stays until it expires, because the page asks for its outcome.
    spent = Q(used_at__isnull=False, code_digest=None) | Q(expires_at__lte=at)
    # Done here, so that no task is needed for it.
    LoginLink.objects.filter(spent).delete()
    return mint(LoginLink, user=user, on_get=on_get, expires_at=at + LINK_LIFE)


def redeem_link(link: LoginLink, *, at: datetime) -> bool:
    """Use a link up; False: it is used or expired, or its person is deactivated.

    One conditional UPDATE decides: of two taps at once, one wins.
    """
    mine = LoginLink.objects.filter(pk=link.pk)
    return link.user.is_active and bool(live(mine, at=at).update(used_at=at))


def record_link_browser(link: LoginLink, browser: Browser) -> None:
    """Record which browser came in by a link, for the page that showed it."""
    LoginLink.objects.filter(pk=link.pk).update(browser=browser)


def find_login_link(*, secret: str, at: datetime) -> LoginLink | None:
    """Return a link that would still sign in, without using it up."""
    links = LoginLink.objects.select_related("user")
    return live(links, at=at).filter(digest=digest(secret)).first()


def create_pairing(*, user: User, at: datetime) -> tuple[MintedSecret[LoginLink], str]:
    """Make a way in for a phone: a link, and a code to type if there is no camera.

    What this person was offered before stops working.
    """
    # One at a time: a code that is forgotten on some screen must not let anybody in.
    cancel_pairings(user)
    code = new_code()
    hashed = digest(normalize_code(code))
    return mint(LoginLink, user=user, code_digest=hashed, expires_at=at + LINK_LIFE), code


def cancel_pairings(user: User) -> None:
    """Delete a person's unused pairing links and codes."""
    LoginLink.objects.filter(user=user, used_at=None).exclude(code_digest=None).delete()


def find_link_by_code(*, code: str, at: datetime) -> LoginLink | None:
    """Return the link behind a typed code, without using it up."""
    links = LoginLink.objects.select_related("user")
    return live(links, at=at).filter(code_digest=digest(normalize_code(code))).first()


def find_pairing(*, pairing: UUID, user: User) -> LoginLink | None:
    """Return what a person offered, whether used or not."""
    offered = LoginLink.objects.filter(pk=pairing, user=user).exclude(code_digest=None)
    return offered.select_related("browser").first()


def create_setup_code(project: Project, *, by: str, at: datetime) -> MintedSecret[SetupCode]:
    """Make a set-up code for a project's next agent, and delete expired ones."""
    # Done here, so that no task is needed for it: a code lives for ten minutes.
    SetupCode.objects.filter(expires_at__lte=at).delete()
    code = new_code()
    hashed = digest(normalize_code(code))
    row = SetupCode.objects.create(
        project=project, digest=hashed, created_by=by, expires_at=at + LINK_LIFE
    )
    return MintedSecret(row=row, secret=code)


def redeem_setup_code(code: str, *, machine: str, at: datetime) -> SetupCode | None:
    """Use a code up; None: it is used, expired or unknown.

    One conditional UPDATE decides: of two at once, one wins.
    """
    found = SetupCode.objects.filter(digest=digest(normalize_code(code)))
    # Read after the update: only the request that used it up learns whose code it was.
    return found.get() if live(found, at=at).update(used_at=at, used_on=machine) else None


def new_code() -> str:
    """Return twelve random characters (58 bits) in three groups.

    >>> normalize_code(new_code()).isalnum(), len(new_code())
    (True, 14)
    """
    # In groups, because people read them off and type them.
    groups = (
        "".join(secrets.choice(CODE_ALPHABET) for _ in range(GROUP_LENGTH))
        for _ in range(CODE_GROUPS)
    )
    return "-".join(groups)


def normalize_code(code: str) -> str:
    """Return a code in the form that is compared, however it was typed.

    >>> normalize_code(" k7qm 42xd-9rtf")
    'K7QM42XD9RTF'
    """
    # Cut before it is hashed: a megabyte of letters is no code.
    return re.sub(r"[^0-9A-Z]", "", code.upper())[:40]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One use of a key or a token: from which address, by which program, on which run."""

    secret: type[AgentKey | PersonalToken]
    id: UUID
    address: str
    program: str
    run: UUID | None = None


def record_usage(usage: Usage, *, at: datetime) -> None:
    """Record a use; beyond `MAX_PLACES`, with an empty address and program."""
    whose = {"key_id" if usage.secret is AgentKey else "token_id": usage.id}
    uses = SecretUse.objects.filter(**whose)
    # Usually an update: a key in use comes from a known place.
    here = uses.filter(address=usage.address, program=usage.program)
    if here.filter(run=usage.run).update(last_at=at):
        return
    is_known = here.exists() or uses.values("address", "program").distinct().count() < MAX_PLACES
    # One shared place for all others: a secret's holder cannot fill the table with names.
    place = {"address": usage.address, "program": usage.program}
    if not is_known:
        place = dict.fromkeys(place, OTHER_PLACES)
        if uses.filter(run=usage.run, **place).update(last_at=at):
            return
    SecretUse.objects.create(run=usage.run, first_at=at, last_at=at, **whose, **place)


def usage_by_place(secret: AgentKey | PersonalToken) -> list[dict[str, Any]]:
    """Return the addresses and programs that used a secret, the latest first."""
    found: Any = secret.uses.values("address", "program")
    return list(found.annotate(**_PERIOD_OF_USE).order_by("-until", "address", "program"))


def usage_by_run(secret: AgentKey, *, limit: int) -> list[dict[str, Any]]:
    """Return the runs that a key was used on, the latest first."""
    found: Any = secret.uses.exclude(run=None).values("run")
    return list(found.annotate(**_PERIOD_OF_USE).order_by("-until", "run")[:limit])
