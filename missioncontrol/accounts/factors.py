"""Second factors: an authenticator app, passkeys, recovery codes.

django-allauth keeps them and knows the ceremonies; what it does not do is done here: secrets
are sealed, and a code of an app is taken once, in whichever process it comes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt, encrypt
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from missioncontrol import sealing
from missioncontrol.accounts import people
from missioncontrol.accounts.people import checked_name
from missioncontrol.errors import InvalidRequest


class Kind(StrEnum):
    """What allauth calls them."""

    APP = "totp"
    PASSKEY = "webauthn"
    RECOVERY_CODES = "recovery_codes"


# The secret of an app that is being set up, sealed: sessions lie in the database.
IN_SESSION = "totp"
# All of them are sent to the browser whenever one is asked for.
MOST_PASSKEYS = 20
LONGEST_NAME = 60
PRODUCT = "Mission Control"
# What a ceremony says to an answer that is wrong, or is none.
_GARBLED = (ValidationError, ValueError, TypeError, KeyError, AttributeError, IndexError)


class SealedFactors(DefaultMFAAdapter):  # type: ignore[misc]  # it has no types
    """What allauth asks about us: how secrets are kept, what authenticators show."""

    def encrypt(self, text: str) -> str:
        return sealing.seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        return sealing.unseal(encrypted_text)

    def get_totp_issuer(self) -> str:
        return PRODUCT

    def _get_user_identifier(self, user: Any) -> str:
        return people.name_of(user)

    def _get_site_name(self) -> str:
        return PRODUCT


def holders() -> QuerySet[Any]:
    """Return who has a second factor, as a subquery; recovery codes alone are none."""
    found: QuerySet[Any] = Authenticator.objects.filter(type__in=(Kind.APP, Kind.PASSKEY))
    return found.values("user_id")


def has_one(user: User) -> bool:
    """Say whether a person has a second factor."""
    return holders().filter(user_id=user.pk).exists()


def of(user: User) -> list[Authenticator]:
    """Return a person's factors, recovery codes among them, oldest first."""
    return list(Authenticator.objects.filter(user_id=user.pk).order_by("pk"))


def begin_app(session: Any, user: User) -> tuple[str, str]:
    """Return the secret of an app that is being set up, and its address for a QR code."""
    # Kept only once a first code of it has come: an app that was never set up would lock them out.
    secret = totp.generate_totp_secret()
    session[IN_SESSION] = encrypt(secret)
    return secret, SealedFactors().build_totp_url(user, secret)


def confirm_app(session: Any, user: User, code: str) -> bool:
    """Keep the app whose first code this is, in place of the one before; False: it is not."""
    sealed = session.get(IN_SESSION)
    step = _step_of(decrypt(sealed), code) if sealed else None
    if step is None:
        return False
    with transaction.atomic():
        # One app at a time: the former one's codes must not be taken any longer.
        Authenticator.objects.filter(user_id=user.pk, type=Kind.APP).delete()
        data = {"secret": sealed, "step": step}
        Authenticator.objects.create(user_id=user.pk, type=Kind.APP, data=data)
    del session[IN_SESSION]
    return True


@transaction.atomic
def check_code(user: User, code: str) -> Kind | None:
    """Use up a code of the app, or a recovery code; None: it is neither, or was used."""
    # Locked: of two requests with one code, the second reads that it was used.
    rows = Authenticator.objects.select_for_update().filter(user_id=user.pk)
    for row in rows.filter(type__in=(Kind.APP, Kind.RECOVERY_CODES)):
        kind = Kind(row.type)
        if kind == Kind.APP:
            # RFC 6238, 5.2: a code is accepted once; so is no older one after it.
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
    """Return the time step whose code this is, of those that a clock may be wrong by."""
    for step in totp.yield_hotp_counters_from_time():
        expected = totp.format_hotp_value(totp.hotp_value(secret, step))
        if compare_user_code(actual=code, expected=expected):
            return int(step)
    return None


@transaction.atomic
def renew_recovery_codes(user: User) -> list[str]:
    """Make ten new codes, each of which stands in for a second factor once; the old are void."""
    Authenticator.objects.filter(user_id=user.pk, type=Kind.RECOVERY_CODES).delete()
    return list(RecoveryCodes.activate(user).generate_codes())


def recovery_codes_left(user: User) -> int:
    """Return how many recovery codes were not used yet."""
    row = Authenticator.objects.filter(user_id=user.pk, type=Kind.RECOVERY_CODES).first()
    return len(row.wrap().get_unused_codes()) if row else 0


def begin_passkey(user: User) -> dict[str, Any]:
    """Return what a browser needs to make a passkey."""
    # Not at the top: it brings FIDO2's libraries, which few processes ever need.
    from allauth.mfa.webauthn.internal import auth as webauthn

    if Authenticator.objects.filter(user_id=user.pk, type=Kind.PASSKEY).count() >= MOST_PASSKEYS:
        raise InvalidRequest(f"At most {MOST_PASSKEYS} passkeys; remove one first.")
    # Passwordless: with user verification, so that it can be both factors at once.
    return dict(webauthn.begin_registration(user, passwordless=True))


def add_passkey(user: User, name: str, credential: Mapping[str, Any]) -> Authenticator:
    """Keep the passkey that a browser made.

    Raises:
        InvalidRequest: it has no name, or answers nothing that was asked just now.
    """
    from allauth.mfa.webauthn.internal import auth as webauthn

    name = checked_name(name, longest=LONGEST_NAME)
    try:
        webauthn.complete_registration(dict(credential))
        kept = webauthn.WebAuthn.add(user, name, dict(credential))
        kept.authenticator_data  # noqa: B018 - what cannot be read again is not kept
    except (*_GARBLED, struct.error):
        raise InvalidRequest("This passkey could not be verified. Try again.") from None
    return kept.instance


def ask_for_passkey(user: User | None) -> dict[str, Any]:
    """Return what a browser needs to show a passkey: one of this person's, or anybody's."""
    from allauth.mfa.webauthn.internal import auth as webauthn

    return dict(webauthn.begin_authentication(user))


def check_passkey(credential: Mapping[str, Any], *, user: User | None) -> User | None:
    """Return whose passkey answered what was asked just now; None: nobody's, or not `user`'s."""
    from allauth.mfa.webauthn.internal import auth as webauthn

    try:
        found: Any = user or webauthn.extract_user_from_response(dict(credential))
        webauthn.complete_authentication(found, dict(credential)).record_usage()
    except (*_GARBLED, struct.error):
        return None
    return found if found.is_active else None


@transaction.atomic
def remove(user: User, *, kind: Kind, pk: int | None = None) -> Authenticator | None:
    """Forget one factor; with the last one the recovery codes go too. None: there is none."""
    found = Authenticator.objects.filter(user_id=user.pk, type=kind)
    row = (found.filter(pk=pk) if pk is not None else found).first()
    if row is not None:
        row.delete()
        if not has_one(user):
            # Codes that stand in for nothing would still be a way in.
            Authenticator.objects.filter(user_id=user.pk).delete()
    return row


def reseal() -> tuple[int, int]:
    """Seal every secret with today's key; return how many were, and how many none reads."""
    done = []
    # A passkey's key is public: nothing of it is sealed.
    for row in Authenticator.objects.select_for_update().exclude(type=Kind.PASSKEY):
        name = "secret" if row.type == Kind.APP else "seed"
        try:
            row.data[name] = encrypt(decrypt(row.data[name]))
        except sealing.Unreadable:
            done.append(False)
            continue
        row.save(update_fields=["data"])
        done.append(True)
    return sum(done), len(done) - sum(done)
