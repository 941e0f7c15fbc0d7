"""The credentials with which a person proves who they are, and how long ago they last did.

A password, an identity provider, or a second factor: an authenticator app, passkeys, recovery
codes. django-allauth stores factors and implements their ceremonies. Added here: secrets are
sealed, and a code of an app is accepted once, whichever process gets it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt, encrypt
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet

from missioncontrol import sealing
from missioncontrol.accounts import people
from missioncontrol.accounts.models import Identity, Membership
from missioncontrol.accounts.people import clean_name
from missioncontrol.accounts.selectors import memberships_of
from missioncontrol.errors import InvalidRequest

PROVED_AT = "proved_at"
# The secret of an app that is being set up; sealed, because sessions are in the database.
PENDING_APP = "totp"
# All of them are sent to the browser whenever one is asked for.
MAX_PASSKEYS = 20
MAX_NAME_LENGTH = 60
PRODUCT_NAME = "Mission Control"
# What a ceremony raises for an answer that is wrong or malformed.
_CEREMONY_ERRORS = (ValidationError, ValueError, TypeError, KeyError, AttributeError, IndexError)


def methods_of(user: User) -> tuple[str, ...]:
    """Return a person's sign-in methods: `password`, `passkey`, `code`, `oidc`.

    Empty: they sign in by links only, which no dialog can ask for.
    """
    if not settings.SIGN_IN:
        return ()
    # Recovery codes are not listed: they only replace a factor that exists.
    kinds = {row.type for row in factors_of(user)}
    has = {
        "password": "password" in settings.SIGN_IN and user.has_usable_password(),
        "passkey": FactorKind.PASSKEY in kinds,
        "code": FactorKind.APP in kinds,
        "oidc": identity_of(user) is not None,
    }
    return tuple(method for method, is_there in has.items() if is_there)


def identity_of(user: User) -> Identity | None:
    """Return a person's identity at the current provider; None: they have none there."""
    if settings.OIDC is None:
        return None
    # Identities of another issuer cannot be checked any more.
    return Identity.objects.filter(user=user, issuer=settings.OIDC.issuer).first()


def record_proof(session: Any, *, at: datetime) -> None:
    """Record that a person has just proved who they are."""
    session[PROVED_AT] = at.timestamp()


def methods_to_prove_again(user: User, session: Any, *, at: datetime) -> tuple[str, ...]:
    """Return how a person must prove again who they are; empty: they need not.

    Required for changes to keys, members and secrets.
    """
    # A session without a proof counts as proved in 1970.
    age_s = at.timestamp() - float(session.get(PROVED_AT, 0.0))
    return () if age_s <= settings.SIGN_IN_AGAIN.total_seconds() else methods_of(user)


def open_memberships() -> QuerySet[Membership]:
    """Return the memberships that let their person in: with a second factor, if one is required."""
    return Membership.objects.filter(_open_condition())


def open_memberships_of(user: User, *, token: object = None) -> QuerySet[Membership]:
    """Return a person's open memberships, with projects; `token`: what authenticated them."""
    return memberships_of(user, token=token).filter(_open_condition())


def closed_memberships(user: User) -> QuerySet[Membership]:
    """Return a person's memberships that stay closed until they have a second factor."""
    mine = Membership.objects.filter(user=user)
    return mine.exclude(pk__in=mine.filter(_open_condition()).values("pk"))


def _open_condition() -> Q:
    if not settings.SIGN_IN:  # nobody can set one up
        return Q()
    return Q(project__second_factor=False) | Q(user__in=factor_holders())


class FactorKind(StrEnum):
    """The kinds of factors, by allauth's names."""

    APP = "totp"
    PASSKEY = "webauthn"
    RECOVERY_CODES = "recovery_codes"


class SealedFactors(DefaultMFAAdapter):  # type: ignore[misc]  # it has no types
    """What allauth asks this program: how secrets are stored, what authenticators show."""

    def encrypt(self, text: str) -> str:
        return sealing.seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        return sealing.unseal(encrypted_text)

    def get_totp_issuer(self) -> str:
        return PRODUCT_NAME

    def _get_user_identifier(self, user: Any) -> str:
        return people.name_of(user)

    def _get_site_name(self) -> str:
        return PRODUCT_NAME


def factor_holders() -> QuerySet[Any]:
    """Return who has a second factor, as a subquery; recovery codes alone do not count."""
    found: QuerySet[Any] = Authenticator.objects.filter(
        type__in=(FactorKind.APP, FactorKind.PASSKEY)
    )
    return found.values("user_id")


def has_factor(user: User) -> bool:
    """Tell whether a person has a second factor."""
    return factor_holders().filter(user_id=user.pk).exists()


def factors_of(user: User) -> list[Authenticator]:
    """Return a person's factors, including recovery codes, oldest first."""
    return list(Authenticator.objects.filter(user_id=user.pk).order_by("pk"))


def begin_app_setup(session: Any, user: User) -> tuple[str, str]:
    """Return the secret of an app that is being set up, and its address for a QR code."""
    # Stored only after its first code: an app that was never set up would lock the person out.
    secret = totp.generate_totp_secret()
    session[PENDING_APP] = encrypt(secret)
    return secret, SealedFactors().build_totp_url(user, secret)


def confirm_app_setup(session: Any, user: User, code: str) -> bool:
    """Store the app whose first code this is, replacing the one before; False: it is not."""
    sealed = session.get(PENDING_APP)
    step = _step_of(decrypt(sealed), code) if sealed else None
    if step is None:
        return False
    with transaction.atomic():
        # One app at a time: codes of the former one must no longer be accepted.
        Authenticator.objects.filter(user_id=user.pk, type=FactorKind.APP).delete()
        data = {"secret": sealed, "step": step}
        Authenticator.objects.create(user_id=user.pk, type=FactorKind.APP, data=data)
    del session[PENDING_APP]
    return True


@transaction.atomic
def verify_code(user: User, code: str) -> FactorKind | None:
    """Use up a code of the app, or a recovery code; None: it is neither, or was used."""
    # Locked: of two requests with one code, the second reads that it was used.
    rows = Authenticator.objects.select_for_update().filter(user_id=user.pk)
    for row in rows.filter(type__in=(FactorKind.APP, FactorKind.RECOVERY_CODES)):
        kind = FactorKind(row.type)
        if kind == FactorKind.APP:
            # RFC 6238, 5.2: a code is accepted once, and afterwards no older one is.
            step = _step_of(decrypt(row.data["secret"]), code)
            is_right = step is not None and step > row.data["step"]
            if is_right:
                row.data["step"] = step
                row.save(update_fields=["data"])
        else:
            is_right = row.wrap().validate_code(code)
        if is_right:
            row.record_usage()
            return kind
    return None


def _step_of(secret: str, code: str) -> int | None:
    """Return the time step of this code, within the allowed clock difference; None: no match."""
    for step in totp.yield_hotp_counters_from_time():
        expected = totp.format_hotp_value(totp.hotp_value(secret, step))
        if compare_user_code(actual=code, expected=expected):
            return int(step)
    return None


@transaction.atomic
def renew_recovery_codes(user: User) -> list[str]:
    """Make ten new codes, each of which replaces a second factor once; old ones become void."""
    Authenticator.objects.filter(user_id=user.pk, type=FactorKind.RECOVERY_CODES).delete()
    return list(RecoveryCodes.activate(user).generate_codes())


def count_recovery_codes(user: User) -> int:
    """Return how many recovery codes are unused."""
    row = Authenticator.objects.filter(user_id=user.pk, type=FactorKind.RECOVERY_CODES).first()
    return len(row.wrap().get_unused_codes()) if row else 0


def begin_passkey_setup(user: User) -> dict[str, Any]:
    """Return what a browser needs to make a passkey."""
    passkeys = Authenticator.objects.filter(user_id=user.pk, type=FactorKind.PASSKEY)
    if passkeys.count() >= MAX_PASSKEYS:
        raise InvalidRequest(f"At most {MAX_PASSKEYS} passkeys; remove one first.")
    # Passwordless: with user verification, so that it can be both factors at once.
    return dict(_webauthn().begin_registration(user, passwordless=True))


def add_passkey(user: User, name: str, credential: Mapping[str, Any]) -> Authenticator:
    """Store the passkey that a browser made.

    Raises:
        InvalidRequest: it has no name, or does not answer the current challenge.
    """
    name, webauthn = clean_name(name, max_length=MAX_NAME_LENGTH), _webauthn()
    try:
        webauthn.complete_registration(dict(credential))
        added = webauthn.WebAuthn.add(user, name, dict(credential))
        added.authenticator_data  # noqa: B018 - what cannot be read again is not kept
    except (*_CEREMONY_ERRORS, struct.error):
        raise InvalidRequest("This passkey could not be verified. Try again.") from None
    return added.instance


def begin_passkey_check(user: User | None) -> dict[str, Any]:
    """Return what a browser needs to present a passkey: one of this person's, or anybody's."""
    return dict(_webauthn().begin_authentication(user))


def verify_passkey(credential: Mapping[str, Any], *, user: User | None) -> User | None:
    """Return whose passkey answered the current challenge; None: nobody's, or not `user`'s."""
    webauthn = _webauthn()
    try:
        found: Any = user or webauthn.extract_user_from_response(dict(credential))
        webauthn.complete_authentication(found, dict(credential)).record_usage()
    except (*_CEREMONY_ERRORS, struct.error):
        return None
    return found if found.is_active else None


def _webauthn() -> Any:
    # Not at the top: it imports FIDO2's libraries, which few processes need.
    from allauth.mfa.webauthn.internal import auth

    return auth


@transaction.atomic
def remove_factor(user: User, *, kind: FactorKind, pk: int | None = None) -> Authenticator | None:
    """Delete one factor, with the last one also the recovery codes; None: there is none."""
    found = Authenticator.objects.filter(user_id=user.pk, type=kind)
    row = (found.filter(pk=pk) if pk is not None else found).first()
    if row is not None:
        row.delete()
        if not has_factor(user):
            # Recovery codes that replace no factor would still be a way in.
            Authenticator.objects.filter(user_id=user.pk).delete()
    return row


def reseal_factors() -> tuple[int, int]:
    """Seal every secret with the current key; return how many were, and how many are unreadable."""
    resealed = []
    # A passkey's key is public: nothing of it is sealed.
    for row in Authenticator.objects.select_for_update().exclude(type=FactorKind.PASSKEY):
        name = "secret" if row.type == FactorKind.APP else "seed"
        try:
            row.data[name] = encrypt(decrypt(row.data[name]))
        except sealing.UnsealFailed:
            resealed.append(False)
            continue
        row.save(update_fields=["data"])
        resealed.append(True)
    return sum(resealed), len(resealed) - sum(resealed)
