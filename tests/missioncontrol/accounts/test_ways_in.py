"""Signing in by a password, with a second factor for who has one."""

import json

import pytest
from django.test import Client

from missioncontrol.accounts import credentials
from missioncontrol.accounts.rate_limits import FREE_ATTEMPTS
from missioncontrol.api.views import sign_in_methods
from missioncontrol.runs.models import JournalRow
from tests.missioncontrol.accounts.credentials import (
    EVERY_WAY,
    code_of,
    is_signed_in,
    type_code,
    type_password,
    with_app,
    with_password,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def every_way(settings):
    settings.SIGN_IN = EVERY_WAY


def the_record(project):
    rows = JournalRow.objects.filter(project=project, run=None).order_by("seq")
    return [json.loads(row.payload).get("what") for row in rows]


def test_whose_session_ended_hears_by_which_ways_they_may_come_back(client, settings):
    assert client.get("/api/v1/me/").json()["sign_in"] == sorted(EVERY_WAY)

    settings.SIGN_IN = frozenset()
    assert "sign_in" not in client.get("/api/v1/me/").json()


def test_who_set_nothing_finds_the_page_as_it_was(client, settings):
    settings.SIGN_IN = frozenset()

    response = client.get("/login/")

    assert b"login_link" in response.content
    assert b"<form" not in response.content


@pytest.mark.parametrize("path", sorted(sign_in_methods.VIEWS))
def test_what_is_off_lets_nobody_in(path, client, owner, settings):
    settings.SIGN_IN = frozenset()
    with_password(owner)

    client.post(f"/login/by/{path}", {"name": "ana", "password": "correct horse battery staple"})
    response = client.get(f"/login/by/{path}")

    assert b"<form" not in response.content
    assert not is_signed_in(client)


def test_a_password_signs_in_and_is_on_record(client, owner, project):
    with_password(owner)

    response = type_password(client, "Ana")

    assert (response.status_code, response["Location"]) == (302, "/")
    assert is_signed_in(client)
    assert the_record(project) == ["signed in “a browser” by a password"]


@pytest.mark.parametrize(
    ("name", "password"), [("ana", "wrong"), ("nobody", "wrong"), ("", ""), ("ana", "\0")]
)
def test_a_wrong_one_is_told_nothing_of_which_was_wrong(name, password, client, owner):
    with_password(owner)

    response = type_password(client, name, password)

    assert response.status_code == 403
    assert b"Name or password is wrong." in response.content
    assert not is_signed_in(client)


def test_who_has_no_password_has_none_to_guess(client, owner):
    type_password(client, "ana", "")

    assert not is_signed_in(client)


def test_who_left_is_not_let_in(client, owner):
    with_password(owner)
    owner.is_active = False
    owner.save()

    assert type_password(client, "ana").status_code == 403


def test_the_page_speaks_german(client, owner):
    response = type_password(client, "ana", "x", headers={"Accept-Language": "de-DE"})

    assert "Name oder Passwort ist falsch." in response.content.decode()


def test_the_form_is_one_that_password_managers_fill_in(client, owner):
    page = client.get("/login/").content.decode()

    assert 'type="password"' in page
    assert 'autocomplete="current-password"' in page
    assert 'autocomplete="username"' in page
    assert "onpaste" not in page


def test_no_other_site_signs_somebody_in(owner):
    strict = Client(enforce_csrf_checks=True)
    with_password(owner)

    assert type_password(strict, "ana").status_code == 403
    assert not is_signed_in(strict)


def test_a_password_is_kept_by_argon2id(owner):
    assert with_password(owner).password.startswith("argon2$argon2id$")


def test_a_session_that_somebody_else_laid_out_is_not_the_one_that_is_signed_in(client, owner):
    with_password(owner)
    client.get("/login/")
    session = client.session
    session["laid"] = "out"
    session.save()
    laid_out = session.session_key
    client.cookies["mc_session"] = laid_out

    type_password(client, "ana")

    assert client.session.session_key != laid_out
    assert is_signed_in(client)
    stranger = Client()
    stranger.cookies["mc_session"] = laid_out
    assert not is_signed_in(stranger)


def test_who_has_a_second_factor_is_not_in_by_the_first(client, owner):
    with_password(owner)
    with_app(owner)

    response = type_password(client, "ana")

    assert response["Location"] == "/login/by/second"
    assert not is_signed_in(client)
    assert client.get("/api/v1/me/").status_code in {401, 403}


def test_both_sign_in_and_are_on_record(client, owner, project):
    with_password(owner)
    secret = with_app(owner)
    type_password(client, "ana")

    type_code(client, code_of(secret))

    assert is_signed_in(client)
    assert the_record(project) == ["signed in “a browser” by a password and a code"]


def test_the_key_of_a_session_changes_at_each_step(client, owner):
    with_password(owner)
    secret = with_app(owner)
    client.get("/login/")
    type_password(client, "ana")
    half_way = client.session.session_key

    type_code(client, code_of(secret))

    assert client.session.session_key != half_way


def test_a_code_is_taken_once(client, owner):
    with_password(owner)
    secret = with_app(owner)
    code = code_of(secret)
    type_password(client, "ana")
    type_code(client, code)
    other = Client()
    type_password(other, "ana")

    response = type_code(other, code)

    assert response.status_code == 403
    assert not is_signed_in(other)


def test_an_older_code_is_not_taken_after_a_newer_one(owner):
    secret = with_app(owner)
    older, newer = code_of(secret), code_of(secret, step=1)

    assert credentials.verify_code(owner, newer) is not None
    assert credentials.verify_code(owner, older) is None


def test_a_recovery_code_stands_in_once(client, owner, project):
    with_password(owner)
    with_app(owner)
    codes = credentials.renew_recovery_codes(owner)
    type_password(client, "ana")
    type_code(client, codes[0])
    other = Client()
    type_password(other, "ana")

    response = type_code(other, codes[0])

    assert the_record(project) == ["signed in “a browser” by a password and a recovery code"]
    assert response.status_code == 403
    assert credentials.count_recovery_codes(owner) == len(codes) - 1


def test_a_code_alone_signs_nobody_in(client, owner):
    secret = with_app(owner)

    response = type_code(client, code_of(secret))

    assert response["Location"] == "/login/"
    assert not is_signed_in(client)


def test_half_the_way_is_good_for_ten_minutes(client, owner):
    with_password(owner)
    secret = with_app(owner)
    type_password(client, "ana")
    session = client.session
    session[sign_in_methods.FIRST_FACTOR_KEY] |= {"until": 0.0}
    session.save()

    type_code(client, code_of(secret))

    assert not is_signed_in(client)


def test_who_guesses_waits_and_whoever_comes_from_elsewhere_does_not(client, owner):
    with_password(owner)
    for _ in range(FREE_ATTEMPTS):
        type_password(client, "ana", "wrong")

    here = type_password(client, "ana")
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    type_password(elsewhere, "ana")

    assert here.status_code == 429
    assert int(here["Retry-After"]) >= 1
    assert not is_signed_in(client)
    assert is_signed_in(elsewhere)


def test_other_accounts_at_the_same_address_do_not_wait(client, owner, operator):
    with_password(operator)
    for _ in range(FREE_ATTEMPTS + 1):
        type_password(client, "ana", "wrong")

    type_password(client, "olu")

    assert is_signed_in(client)


def test_a_header_makes_no_other_address(client, owner):
    for number in range(FREE_ATTEMPTS + 1):
        response = type_password(
            client, "ana", "wrong", headers={"X-Forwarded-For": f"192.0.2.{number}"}
        )

    assert response.status_code == 429


def test_codes_cannot_be_guessed_without_end_either(client, owner):
    with_password(owner)
    with_app(owner)
    type_password(client, "ana")
    for _ in range(FREE_ATTEMPTS):
        type_code(client, "000000")

    assert type_code(client, "000000").status_code == 429


def test_tries_that_failed_in_a_row_are_on_record_once(client, owner, project):
    with_password(owner)

    for _ in range(FREE_ATTEMPTS + 3):
        type_password(client, "ana", "wrong")

    assert the_record(project) == ["somebody at 127.0.0.1 failed to sign in 5 times in a row"]


def test_secrets_of_factors_are_sealed(owner):
    secret = with_app(owner)
    credentials.renew_recovery_codes(owner)

    kept = [str(row.data) for row in credentials.factors_of(owner)]

    assert not [one for one in kept if secret in one]
    assert len(kept) == 2
