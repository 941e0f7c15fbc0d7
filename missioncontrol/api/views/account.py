"""Your own sign-in methods: password, authenticator app, passkeys, recovery codes, provider.

A token can do none of this, and a person who signed in a while ago needs a fresh proof first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from rest_framework.request import Request

from missioncontrol import origin
from missioncontrol.accounts import credentials, rate_limits
from missioncontrol.api import auth
from missioncontrol.api.auth import Person
from missioncontrol.api.rest import qr_code
from missioncontrol.api.routing import Router
from missioncontrol.clock import now
from missioncontrol.errors import Forbidden, NotFound
from missioncontrol.projects import sign_in_methods
from missioncontrol.wire.access import (
    AccountRow,
    BegunApp,
    PasskeyOptions,
    PasskeyRow,
    RecoveryCodes,
)
from missioncontrol.wire.rows import row_of

api = Router()

# In the order in which the page shows them.
SIGN_IN_METHODS = ("password", "passkey", "oidc")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPassword:
    password: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppCode:
    """The code that the app currently shows."""

    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPasskey:
    """The credential that the browser made, as JSON."""

    name: str
    credential: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A proof of your identity by one of your sign-in methods."""

    password: str | None = None
    code: str | None = None
    credential: dict[str, Any] | None = None
    """What a passkey answered, in the browser's JSON form."""


def check_sign_in_offered() -> None:
    """Refuse where links are the only way to sign in."""
    if not settings.SIGN_IN:
        raise NotFound("That way of signing in")


def check_passwords_offered() -> None:
    """Refuse where nobody signs in with a password."""
    if "password" not in settings.SIGN_IN:
        raise NotFound("That way of signing in")


SESSION_CHECKS = (auth.check_signed_in_session, check_sign_in_offered)
# The proof last: nobody is asked for one for what is not offered here. On the router, so that an
# operation that is added later cannot forget it.
fresh_proof_api = Router(*SESSION_CHECKS, auth.check_fresh_proof)


@api.get("account/")
def account_read(user: Person) -> AccountRow:
    """Show your sign-in methods."""
    # Where people sign in only by links, no second factor is ever asked for.
    rows = credentials.factors_of(user) if settings.SIGN_IN else []
    identity = credentials.identity_of(user)
    return AccountRow(
        offered=cast(
            Any, tuple(method for method in SIGN_IN_METHODS if method in settings.SIGN_IN)
        ),
        ways=cast(Any, credentials.methods_of(user)),
        has_password=user.has_usable_password(),
        has_app=any(row.type == credentials.FactorKind.APP for row in rows),
        passkeys=tuple(
            row_of(PasskeyRow, row, name=str(row))
            for row in rows
            if row.type == credentials.FactorKind.PASSKEY
        ),
        recovery_codes=credentials.count_recovery_codes(user),
        provider=settings.OIDC.name if settings.OIDC else "",
        identity=identity.label or identity.subject if identity else None,
        closed=tuple(
            credentials.closed_memberships(user)
            .order_by("project_id")
            .values_list("project__name", flat=True)
        ),
    )


@fresh_proof_api.post("account/password/", checks=(check_passwords_offered,))
def account_password_set(request: Request, user: Person, body: NewPassword) -> None:
    """Set or change your password; your other sessions end."""
    sign_in_methods.set_password(user, body.password, at=now())
    # Otherwise this session would end with the others: it holds the old password's hash.
    update_session_auth_hash(cast(Any, request), user)


@fresh_proof_api.delete("account/password/")
def account_password_remove(request: Request, user: Person) -> None:
    """Remove your password; your other sessions end."""
    sign_in_methods.remove_password(user, at=now())
    update_session_auth_hash(cast(Any, request), user)


@fresh_proof_api.post("account/app/begin/")
def account_app_begin(request: Request, user: Person) -> BegunApp:
    """Get the set-up data for an authenticator app; it is active once its first code is sent."""
    secret, url = credentials.begin_app_setup(request.session, user)
    return BegunApp(secret=secret, url=url, qr=qr_code(url))


@fresh_proof_api.post("account/app/", status=201)
def account_app_confirm(request: Request, user: Person, body: AppCode) -> RecoveryCodes:
    """Activate an authenticator app by its first code; it replaces an earlier one."""
    made = sign_in_methods.confirm_app_setup(request.session, user, body.code.strip(), at=now())
    # The session gets a new key whenever a sign-in method changes: a copy of the old cookie becomes
    # useless.
    request.session.cycle_key()
    return _recovery_codes(made)


@fresh_proof_api.delete("account/app/")
def account_app_remove(request: Request, user: Person) -> None:
    """Remove your authenticator app; recovery codes go with the last second factor."""
    sign_in_methods.remove_factor(user, kind=credentials.FactorKind.APP, at=now())
    request.session.cycle_key()


@fresh_proof_api.post("account/passkeys/begin/")
def account_passkeys_begin(user: Person) -> PasskeyOptions:
    """Get the options with which a browser makes a passkey."""
    return PasskeyOptions(options=credentials.begin_passkey_setup(user))


@fresh_proof_api.post("account/passkeys/", status=201)
def account_passkeys_add(request: Request, user: Person, body: NewPasskey) -> RecoveryCodes:
    """Register a passkey that your browser made."""
    made = sign_in_methods.add_passkey(user, body.name, body.credential, at=now())
    request.session.cycle_key()
    return _recovery_codes(made)


@fresh_proof_api.delete("account/passkeys/<int:passkey_id>/")
def account_passkeys_remove(request: Request, user: Person, passkey_id: int) -> None:
    """Remove one of your passkeys."""
    kind = credentials.FactorKind.PASSKEY
    sign_in_methods.remove_factor(user, kind=kind, pk=passkey_id, at=now())
    request.session.cycle_key()


@fresh_proof_api.post("account/recovery-codes/", status=201)
def account_recovery_codes_make(request: Request, user: Person) -> RecoveryCodes:
    """Make new recovery codes; the old ones stop working."""
    made = sign_in_methods.renew_recovery_codes(user, at=now())
    request.session.cycle_key()
    return _recovery_codes(made)


@fresh_proof_api.delete("account/identity/")
def account_identity_disconnect(request: Request, user: Person) -> None:
    """Remove your sign-in through the identity provider."""
    sign_in_methods.disconnect_identities(user, at=now())
    request.session.cycle_key()


# No fresh proof is required, because this gives one.
@api.post("account/again/begin/", checks=SESSION_CHECKS)
def account_again_begin(user: Person) -> PasskeyOptions:
    """Get the challenge that one of your passkeys must answer to confirm your identity."""
    return PasskeyOptions(options=credentials.begin_passkey_check(user))


# No fresh proof is required, because this gives one.
@api.post("account/again/", checks=SESSION_CHECKS)
def account_again(request: Request, user: Person, proof: Proof) -> None:
    """Confirm your identity; for some minutes you may then change keys and members."""
    # Counted apart from names typed at sign-in, which contain no NUL.
    account, here = f"\0proof {user.pk}", origin.client_address_of(request)
    # Counted before the check, so that simultaneous attempts are all counted.
    rate_limits.count_sign_in_attempt(account, here, at=now())
    if proof.credential is not None:
        is_proved = credentials.verify_passkey(proof.credential, user=user) is not None
    elif proof.code is not None:
        is_proved = credentials.verify_code(user, proof.code.strip()) is not None
    else:
        is_on = "password" in settings.SIGN_IN and proof.password is not None
        is_proved = is_on and user.check_password(proof.password or "")
    if not is_proved:
        # The same error for each method: nobody must learn which of them was wrong.
        raise Forbidden("This does not confirm your identity.")
    rate_limits.clear_sign_in_attempts(account, here)
    request.session.cycle_key()
    credentials.record_proof(request.session, at=now())


def _recovery_codes(codes: list[str]) -> RecoveryCodes:
    return RecoveryCodes(codes=tuple(codes))
