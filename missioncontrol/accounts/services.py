"""Make people, projects, keys, and one-time links and codes. No secret is stored as text.

A one-time link or code is valid for ten minutes. A phone is let in by a link to scan or a code to
type. An agent is set up by a code that a command line contains instead of a key. For keys and
tokens, the places and runs of their use are noted: that is what one asks after a leak.
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
from django.db.models import Max, Min, Q, QuerySet

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
    Scope,
    SecretUse,
    SetupCode,
)
from missioncontrol.accounts.tokens import AGENT_PREFIX, PERSON_PREFIX, digest, kept, new_token

Row = TypeVar("Row")
LOCAL_OWNER = "you"
LINK_LIFE = timedelta(minutes=10)
# Each request uses a key: one write for each would be wasted.
NOTED_EVERY = timedelta(minutes=1)
# No characters that look alike: no 0 and O, no 1, I and L, no U.
ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
GROUPS, GROUP = 3, 4
# Places noted for one secret. Its holder chooses the program, and some choose their address.
MOST_PLACES = 200
ELSEWHERE = ""
_WHEN: dict[str, Any] = {"since": Min("first_at"), "until": Max("last_at")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Minted(Generic[Row]):
    """A new row and its secret, which is readable here and never again."""

    row: Row
    secret: str


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
    by: str = "",
    reach: Reach = Reach.OWN,
    agent: str = "",
    reports_only: bool = False,
    expires_at: datetime | None = None,
    line: UUID | None = None,
) -> Minted[AgentKey]:
    """Make a key that lets an agent report to this project, on the runs it reaches.

    `line`: the first of the keys that it continues, if it was made by rotation.
    """
    token = new_token(AGENT_PREFIX)
    row = AgentKey.objects.create(
        project=project,
        name=name,
        digest=token.digest,
        prefix=token.prefix,
        reach=reach,
        agent=agent,
        reports_only=reports_only,
        line=line,
        created_at=at,
        created_by=by,
        expires_at=expires_at,
    )
    return Minted(row=row, secret=token.text)


def adopt_agent_key(*, project: Project, name: str, secret: str, at: datetime) -> AgentKey:
    """Accept a key made earlier and stored in a file; known keys stay as they are.

    It speaks for the whole project, like the one that each start prints.
    """
    token = kept(secret)
    known = AgentKey.objects.select_related("project").filter(digest=token.digest).first()
    # No second row: a start that finds its key in the file must not undo a revocation.
    return known or AgentKey.objects.create(
        project=project,
        name=name,
        digest=token.digest,
        prefix=token.prefix,
        reach=Reach.PROJECT,
        created_at=at,
    )


def revoke(row: AgentKey | PersonalToken, *, at: datetime) -> bool:
    """Revoke a key or a token; False if it was revoked already."""
    # Conditional: a second revocation must not change the time of the first.
    return bool(type(row).objects.filter(pk=row.pk, revoked_at=None).update(revoked_at=at))


def mint_personal_token(
    *,
    user: User,
    name: str,
    at: datetime,
    scope: Scope = Scope.WRITE,
    project: UUID | None = None,
    expires_at: datetime | None = None,
) -> Minted[PersonalToken]:
    """Make a token for a script to act as this person, or only read; in one project, or all."""
    token = new_token(PERSON_PREFIX)
    row = PersonalToken.objects.create(
        user=user,
        name=name,
        digest=token.digest,
        prefix=token.prefix,
        scope=scope,
        project_id=project,
        created_at=at,
        expires_at=expires_at,
    )
    return Minted(row=row, secret=token.text)


def note_use(row: AgentKey | PersonalToken, *, at: datetime) -> None:
    """Note when a secret was last used, at most once a minute."""
    # An update, not `save`: other columns may have changed since the row was read.
    if row.last_used_at is None or at - row.last_used_at >= NOTED_EVERY:
        type(row).objects.filter(pk=row.pk).update(last_used_at=at)


def mint_login_link(*, user: User, at: datetime, on_get: bool = False) -> Minted[LoginLink]:
    """Make a login link that works once, for ten minutes.

    `on_get`: opening it signs in without the button, from loopback peers only.
    """
    # A used pairing link stays until it expires, because the page asks for its outcome.
    spent = Q(used_at__isnull=False, code_digest=None) | Q(expires_at__lte=at)
    # Done here, so that no task is needed for it.
    LoginLink.objects.filter(spent).delete()
    token = new_token("")
    row = LoginLink.objects.create(
        user=user, digest=token.digest, on_get=on_get, expires_at=at + LINK_LIFE
    )
    return Minted(row=row, secret=token.text)


def redeem(link: LoginLink, *, at: datetime) -> bool:
    """Use a link up; False: it is used or expired, or its person is deactivated.

    One conditional UPDATE decides: of two taps at once, one wins.
    """
    return link.user.is_active and bool(usable(at).filter(pk=link.pk).update(used_at=at))


def note_browser(link: LoginLink, browser: Browser) -> None:
    """Note which browser came in by a link, for the page that showed it."""
    LoginLink.objects.filter(pk=link.pk).update(browser=browser)


def find_login_link(*, secret: str, at: datetime) -> LoginLink | None:
    """Return a link that would still sign in, without using it up."""
    return usable(at).select_related("user").filter(digest=digest(secret)).first()


def usable(at: datetime) -> QuerySet[LoginLink]:
    """Return the links that can still sign somebody in."""
    return LoginLink.objects.filter(used_at=None, expires_at__gt=at)


def offer_pairing(*, user: User, at: datetime) -> tuple[Minted[LoginLink], str]:
    """Make a way in for a phone: a link, and a code to type if there is no camera.

    What this person was offered before stops working.
    """
    # One at a time: a code that is forgotten on some screen must not let anybody in.
    withdraw_pairings(user)
    token, code = new_token(""), new_code()
    row = LoginLink.objects.create(
        user=user,
        digest=token.digest,
        code_digest=digest(plain_code(code)),
        expires_at=at + LINK_LIFE,
    )
    return Minted(row=row, secret=token.text), code


def withdraw_pairings(user: User) -> None:
    """Delete a person's unused pairing links and codes."""
    LoginLink.objects.filter(user=user, used_at=None).exclude(code_digest=None).delete()


def find_link_of_code(*, code: str, at: datetime) -> LoginLink | None:
    """Return the link behind a typed code, without using it up."""
    return usable(at).select_related("user").filter(code_digest=digest(plain_code(code))).first()


def find_pairing(*, pairing: UUID, user: User) -> LoginLink | None:
    """Return what a person offered, whether used or not."""
    offered = LoginLink.objects.filter(pk=pairing, user=user).exclude(code_digest=None)
    return offered.select_related("browser").first()


def offer_setup(project: Project, *, by: str, at: datetime) -> Minted[SetupCode]:
    """Make a set-up code for a project's next agent, and delete expired ones."""
    # Done here, so that no task is needed for it: a code lives for ten minutes.
    SetupCode.objects.filter(expires_at__lte=at).delete()
    code = new_code()
    row = SetupCode.objects.create(
        project=project, digest=digest(plain_code(code)), created_by=by, expires_at=at + LINK_LIFE
    )
    return Minted(row=row, secret=code)


def redeem_setup(code: str, *, on: str, at: datetime) -> SetupCode | None:
    """Use a code up; None: it is used, expired or unknown.

    One conditional UPDATE decides: of two at once, one wins.
    """
    found = SetupCode.objects.filter(digest=digest(plain_code(code)))
    live = found.filter(used_at=None, expires_at__gt=at)
    # Read after the update: only the request that used it up learns whose code it was.
    return found.get() if live.update(used_at=at, used_on=on) else None


def new_code() -> str:
    """Return twelve random characters (58 bits) in three groups.

    >>> plain_code(new_code()).isalnum(), len(new_code())
    (True, 14)
    """
    # In groups, because people read them off and type them.
    groups = ("".join(secrets.choice(ALPHABET) for _ in range(GROUP)) for _ in range(GROUPS))
    return "-".join(groups)


def plain_code(code: str) -> str:
    """Return a code in the form that is compared, however it was typed.

    >>> plain_code(" k7qm 42xd-9rtf")
    'K7QM42XD9RTF'
    """
    # Cut before it is hashed: a megabyte of letters is no code.
    return re.sub(r"[^0-9A-Z]", "", code.upper())[:40]


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of a key or a token: from which address, by which program, on which run."""

    secret: type[AgentKey | PersonalToken]
    id: UUID
    address: str
    program: str
    run: UUID | None = None


def note_place(use: Use, *, at: datetime) -> None:
    """Record a use; beyond `MOST_PLACES`, with an empty address and program."""
    mine = _uses_of(use.secret, use.id)
    # Usually an update: a key in use comes from a known place.
    here = mine.filter(address=use.address, program=use.program)
    if here.filter(run=use.run).update(last_at=at):
        return
    is_known = here.exists() or mine.values("address", "program").distinct().count() < MOST_PLACES
    # One shared place for all others: a secret's holder cannot fill the table with names.
    place = {"address": use.address, "program": use.program}
    if not is_known:
        place = dict.fromkeys(place, ELSEWHERE)
        if mine.filter(run=use.run, **place).update(last_at=at):
            return
    SecretUse.objects.create(
        **{_column(use.secret): use.id}, run=use.run, first_at=at, last_at=at, **place
    )


def places_used(secret: AgentKey | PersonalToken) -> list[dict[str, Any]]:
    """Return the addresses and programs that used a secret, the latest first."""
    found: Any = _uses_of(type(secret), secret.pk).values("address", "program")
    return list(found.annotate(**_WHEN).order_by("-until", "address", "program"))


def runs_used(secret: AgentKey, *, most: int) -> list[dict[str, Any]]:
    """Return the runs that a key was used on, the latest first."""
    found: Any = _uses_of(AgentKey, secret.pk).exclude(run=None).values("run")
    return list(found.annotate(**_WHEN).order_by("-until", "run")[:most])


def _uses_of(secret: type[AgentKey | PersonalToken], pk: UUID) -> QuerySet[SecretUse]:
    return SecretUse.objects.filter(**{_column(secret): pk})


def _column(secret: type[AgentKey | PersonalToken]) -> str:
    return "key_id" if secret is AgentKey else "token_id"
