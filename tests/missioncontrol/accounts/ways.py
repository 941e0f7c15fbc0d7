"""What tests of signing in need: every way on, an app's codes, people with passwords."""

from urllib.parse import parse_qs, urlsplit

from allauth.mfa.totp.internal import auth as totp
from django.test import Client

from missioncontrol.accounts import factors
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
    secret, _ = factors.begin_app(session, user)
    assert factors.confirm_app(session, user, code_of(secret, step=-1))
    return secret


def secret_in(url):
    return parse_qs(urlsplit(url).query)["secret"][0]


def type_password(client, name, password=A_PASSWORD, **headers):
    return client.post("/login/by/password", {"name": name, "password": password}, **headers)


def type_code(client, code):
    return client.post("/login/by/second", {"code": code})


def is_signed_in(client):
    return "_auth_user_id" in client.session


def a_browser(**options):
    return Client(**options)


def signed_in_long_ago(client):
    """Let a browser's last proof be over, as if some hours had passed."""
    session = client.session
    session["proved_at"] = now().timestamp() - 3600
    session.save()
