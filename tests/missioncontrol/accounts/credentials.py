"""What tests of signing in need: every way on, an app's codes, people with passwords."""

import os
from hashlib import sha256

from allauth.mfa.totp.internal import auth as totp
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

from missioncontrol.accounts import credentials
from missioncontrol.clock import now

EVERY_WAY = frozenset({"password", "passkey"})
A_PASSWORD = "correct horse battery staple"


def with_password(user, password=A_PASSWORD):
    user.set_password(password)
    user.save()
    return user


def code_of(secret, *, step=0):
    """Return the code that an app shows now, or so many steps of 30 s from now."""
    steps = list(totp.yield_hotp_counters_from_time())
    return totp.format_hotp_value(totp.hotp_value(secret, steps[1] + step))


def with_app(user):
    """Give a person an app, with its first code used up a while ago; returns its secret."""
    session = {}
    secret, _ = credentials.begin_app_setup(session, user)
    assert credentials.confirm_app_setup(session, user, code_of(secret, step=-1))
    return secret


def a_credential():
    """Return what a browser says of a passkey that it has just made, in its JSON form."""
    key = ES256.from_cryptography_key(ec.generate_private_key(ec.SECP256R1()).public_key())
    made = AttestedCredentialData.create(Aaguid.NONE, os.urandom(16), key)
    flags = AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.UV | AuthenticatorData.FLAG.AT
    data = AuthenticatorData.create(sha256(b"testserver").digest(), flags, 1, made)
    client = CollectedClientData.create("webauthn.create", os.urandom(32), "https://testserver")
    return {
        "id": websafe_encode(made.credential_id),
        "rawId": websafe_encode(made.credential_id),
        "type": "public-key",
        "response": {
            "clientDataJSON": websafe_encode(client),
            "attestationObject": websafe_encode(AttestationObject.create("none", data, {})),
        },
        "clientExtensionResults": {"credProps": {"rk": True}},
    }


def type_password(client, name, password=A_PASSWORD, **headers):
    return client.post("/login/by/password", {"name": name, "password": password}, **headers)


def type_code(client, code):
    return client.post("/login/by/second", {"code": code})


def is_signed_in(client):
    return "_auth_user_id" in client.session


def signed_in_long_ago(client):
    """Let a browser's last proof be over, as if some hours had passed."""
    session = client.session
    session["proved_at"] = now().timestamp() - 3600
    session.save()
