"""By which ways a person can prove who they are, and how long ago they last did."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from missioncontrol.accounts import factors
from missioncontrol.accounts.models import Identity, Membership
from missioncontrol.accounts.selectors import memberships_of

PROVED_AT = "proved_at"


def of(user: User) -> tuple[str, ...]:
    """Return a person's ways: `password`, `passkey`, `code`, `oidc`.

    None: they come by links alone, which no dialog can ask for.
    """
    if not settings.SIGN_IN:
        return ()
    # Recovery codes are no way of their own: they stand in for a factor that is there.
    kinds = {row.type for row in factors.of(user)}
    has = {
        "password": "password" in settings.SIGN_IN and user.has_usable_password(),
        "passkey": factors.Kind.PASSKEY in kinds,
        "code": factors.Kind.APP in kinds,
        "oidc": identity_of(user) is not None,
    }
    return tuple(way for way, is_there in has.items() if is_there)


def identity_of(user: User) -> Identity | None:
    """Return a person at the identity provider of today; None: they are not known there."""
    if settings.OIDC is None:
        return None
    # Of another issuer than today's nobody can be asked any more.
    return Identity.objects.filter(user=user, issuer=settings.OIDC.issuer).first()


def note_proof(session: Any, *, at: datetime) -> None:
    """Note that somebody has just proved who they are."""
    session[PROVED_AT] = at.timestamp()


def is_proof_recent(session: Any, *, at: datetime) -> bool:
    """Say whether they did so lately enough to change keys, members and secrets."""
    # A session that never proved anything is as old as 1970.
    age_s = at.timestamp() - float(session.get(PROVED_AT, 0.0))
    return age_s <= settings.SIGN_IN_AGAIN.total_seconds()


def to_prove(user: User, session: Any, *, at: datetime) -> tuple[str, ...]:
    """Return the ways by which somebody is to prove anew who they are; none: they need not."""
    return () if is_proof_recent(session, at=at) else of(user)


def open_memberships() -> QuerySet[Membership]:
    """Return the memberships that let somebody in: where a second factor is asked, with one."""
    return Membership.objects.filter(_is_open())


def open_memberships_of(user: User, *, token: object = None) -> QuerySet[Membership]:
    """Return one person's, with their projects; `token`: what they proved who they are by."""
    return memberships_of(user, token=token).filter(_is_open())


def closed_memberships(user: User) -> QuerySet[Membership]:
    """Return a person's memberships that stay closed until they have a second factor."""
    mine = Membership.objects.filter(user=user)
    return mine.exclude(pk__in=mine.filter(_is_open()).values("pk"))


def _is_open() -> Q:
    if not settings.SIGN_IN:  # nobody can set one up
        return Q()
    return Q(project__second_factor=False) | Q(user__in=factors.holders())
