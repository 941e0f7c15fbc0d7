"""Your own ways in: password, authenticator app, passkeys, recovery codes, account elsewhere.

All of it by hand, never by a token; and who signed in a while ago proves first who they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import segno
from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol.accounts import factors, lockout, ways
from missioncontrol.api import auth, peers
from missioncontrol.api.rest import read_body, row_of
from missioncontrol.api.schema import described
from missioncontrol.clock import now
from missioncontrol.errors import Forbidden, NotFound
from missioncontrol.projects import signing_in
from missioncontrol.wire.account import (
    AccountRow,
    BegunApp,
    PasskeyOptions,
    PasskeyRow,
    RecoveryCodes,
)

# In the order in which the page shows them.
OFFERED = ("password", "passkey", "oidc")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPassword:
    password: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppCode:
    """The code that the app shows now."""

    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPasskey:
    """What the browser made, in its JSON form."""

    name: str
    credential: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """That it is you, by one of your ways."""

    password: str | None = None
    code: str | None = None
    credential: dict[str, Any] | None = None
    """What a passkey answered, in the browser's JSON form."""


class ByHand(APIView):
    """What a person changes about their own ways in, signed in."""

    needs_proof = True

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # Here, before any of its views: one that is added later cannot forget it.
        super().initial(request, *args, **kwargs)
        auth.check_by_hand(request)
        if not settings.SIGN_IN:
            raise NotFound("That way of signing in")
        # After the rest: nobody is asked for a proof of what is not offered here.
        if self.needs_proof:
            auth.check_recent(request)


class Account(APIView):
    @described("account_read")
    def get(self, request: Request) -> AccountRow:
        """Show your ways in."""
        user = auth.person_of(request)
        # Where nobody signs in but by links, a factor is asked for nowhere.
        rows = factors.of(user) if settings.SIGN_IN else []
        identity = ways.identity_of(user)
        return AccountRow(
            offered=cast(Any, tuple(way for way in OFFERED if way in settings.SIGN_IN)),
            ways=cast(Any, ways.of(user)),
            has_password=user.has_usable_password(),
            has_app=any(row.type == factors.Kind.APP for row in rows),
            passkeys=tuple(
                row_of(PasskeyRow, row, name=str(row))
                for row in rows
                if row.type == factors.Kind.PASSKEY
            ),
            recovery_codes=factors.recovery_codes_left(user),
            provider=settings.OIDC.name if settings.OIDC else "",
            identity=identity.label or identity.subject if identity else None,
            closed=tuple(
                ways.closed_memberships(user)
                .order_by("project_id")
                .values_list("project__name", flat=True)
            ),
        )


class Password(ByHand):
    @described("account_password_set", takes=NewPassword)
    def post(self, request: Request) -> None:
        """Give yourself a password, or another; your other sessions end."""
        if "password" not in settings.SIGN_IN:
            raise NotFound("That way of signing in")
        user = auth.person_of(request)
        signing_in.set_password(user, read_body(request, NewPassword).password, at=now())
        # Else this session would end with the others: it carries the former password's hash.
        update_session_auth_hash(cast(Any, request), user)

    @described("account_password_remove")
    def delete(self, request: Request) -> None:
        """Take your password away; your other sessions end."""
        user = auth.person_of(request)
        signing_in.drop_password(user, at=now())
        update_session_auth_hash(cast(Any, request), user)


class BeginApp(ByHand):
    @described("account_app_begin")
    def post(self, request: Request) -> BegunApp:
        """Get what an authenticator app needs; it counts once its first code is sent."""
        secret, url = factors.begin_app(request.session, auth.person_of(request))
        # As an address of data: no second request carries the secret.
        picture = segno.make(url, error="m", micro=False).svg_data_uri(border=2)
        return BegunApp(secret=secret, url=url, qr=picture)


class App(ByHand):
    @described("account_app_confirm", takes=AppCode, status=201)
    def post(self, request: Request) -> RecoveryCodes:
        """Set an authenticator app up by its first code; it takes the place of another."""
        code = read_body(request, AppCode).code.strip()
        made = signing_in.confirm_app(request.session, auth.person_of(request), code, at=now())
        # Another key wherever a way in changes: a copy of the former cookie is worth nothing then.
        request.session.cycle_key()
        return _codes(made)

    @described("account_app_remove")
    def delete(self, request: Request) -> None:
        """Remove your authenticator app; with the last second factor the codes go too."""
        signing_in.remove_factor(auth.person_of(request), kind=factors.Kind.APP, at=now())
        request.session.cycle_key()


class BeginPasskey(ByHand):
    @described("account_passkeys_begin")
    def post(self, request: Request) -> PasskeyOptions:
        """Get what a browser needs to make a passkey."""
        return PasskeyOptions(options=factors.begin_passkey(auth.person_of(request)))


class Passkeys(ByHand):
    @described("account_passkeys_add", takes=NewPasskey, status=201)
    def post(self, request: Request) -> RecoveryCodes:
        """Keep a passkey that your browser made."""
        asked = read_body(request, NewPasskey)
        made = signing_in.add_passkey(
            auth.person_of(request), asked.name, asked.credential, at=now()
        )
        request.session.cycle_key()
        return _codes(made)


class OnePasskey(ByHand):
    @described("account_passkeys_remove")
    def delete(self, request: Request, passkey_id: int) -> None:
        """Remove one of your passkeys."""
        kind = factors.Kind.PASSKEY
        signing_in.remove_factor(auth.person_of(request), kind=kind, pk=passkey_id, at=now())
        request.session.cycle_key()


class Recovery(ByHand):
    @described("account_recovery_codes_make", status=201)
    def post(self, request: Request) -> RecoveryCodes:
        """Make new recovery codes; the old ones are void."""
        made = signing_in.renew_recovery_codes(auth.person_of(request), at=now())
        request.session.cycle_key()
        return _codes(made)


class IdentityElsewhere(ByHand):
    @described("account_identity_disconnect")
    def delete(self, request: Request) -> None:
        """Sign in by the identity provider no more."""
        signing_in.disconnect(auth.person_of(request), at=now())
        request.session.cycle_key()


class BeginAgain(ByHand):
    # A proof is what it gives.
    needs_proof = False

    @described("account_again_begin")
    def post(self, request: Request) -> PasskeyOptions:
        """Get what a passkey of yours is to answer, to prove that it is you."""
        return PasskeyOptions(options=factors.ask_for_passkey(auth.person_of(request)))


class Again(ByHand):
    needs_proof = False

    @described("account_again", takes=Proof)
    def post(self, request: Request) -> None:
        """Prove that it is still you; for some minutes keys and members may be changed."""
        # Counted apart from what somebody types as a name at the door: no name holds a NUL.
        user, proof = auth.person_of(request), read_body(request, Proof)
        account, here = f"\0proof {user.pk}", peers.asked_from(request)
        # Counted before it is looked at, so that tries at once are all counted.
        lockout.begin(account, here, at=now())
        if proof.credential is not None:
            is_proved = factors.check_passkey(proof.credential, user=user) is not None
        elif proof.code is not None:
            is_proved = factors.check_code(user, proof.code.strip()) is not None
        else:
            is_on = "password" in settings.SIGN_IN and proof.password is not None
            is_proved = is_on and user.check_password(proof.password or "")
        if not is_proved:
            # The same words for each way: which of them was wrong is nobody's to learn.
            raise Forbidden("That does not show that it is you.")
        lockout.succeeded(account, here)
        request.session.cycle_key()
        ways.note_proof(request.session, at=now())


def _codes(codes: list[str]) -> RecoveryCodes:
    return RecoveryCodes(codes=tuple(codes))
