"""The one-time link in a browser."""

import logging
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from missioncontrol import clock
from missioncontrol.accounts import services
from missioncontrol.accounts.models import LoginLink
from missioncontrol.accounts.tokens import HideLoginLinks
from missioncontrol.api.views.sign_in_links import is_from_this_machine

pytestmark = pytest.mark.django_db


def a_link(*, on_get=False, age=timedelta(0)):
    owner = services.ensure_local_owner()
    minted = services.mint_login_link(user=owner, at=clock.now() - age, on_get=on_get)
    return f"/login/{minted.secret}/"


def is_signed_in(client):
    return "_auth_user_id" in client.session


def test_opening_a_link_shows_one_button_and_signs_nobody_in(client):
    response = client.get(a_link())

    assert response.status_code == 200
    assert response.content.count(b"<button") == 1
    assert not is_signed_in(client)


def test_the_button_signs_in(client):
    response = client.post(a_link())

    assert (response.status_code, response["Location"]) == (302, "/")
    assert is_signed_in(client)


def test_the_button_works_in_a_browser_that_hides_the_origin():
    strict = Client(enforce_csrf_checks=True, headers={"origin": "null"})

    strict.post(a_link())

    assert is_signed_in(strict)


def test_signing_in_hands_out_the_csrf_cookie(client):
    client.post(a_link())

    assert "mc_csrf" in client.cookies


def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(client):
    client.post(a_link())

    cookie = client.cookies["mc_session"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_a_used_link_says_so(client):
    link = a_link()
    Client().post(link)

    response = client.post(link)

    assert response.status_code == 410
    assert b"no longer works" in response.content
    assert not is_signed_in(client)


@pytest.mark.parametrize("method", ["get", "post"])
def test_an_old_link_says_so(client, method):
    response = getattr(client, method)(a_link(age=timedelta(minutes=11)))

    assert response.status_code == 410


def test_a_used_link_leads_who_is_signed_in_home(client):
    link = a_link()
    client.post(link)

    assert client.get(link)["Location"] == "/"


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_link_leaves_no_trace(client, method):
    answer = getattr(client, method)(a_link())

    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["Cache-Control"] == "no-store"


def test_the_page_may_load_nothing(client):
    policy = client.get(a_link())["Content-Security-Policy"]

    assert policy.startswith("default-src 'none'")


def test_a_link_for_scripts_signs_in_on_get(client):
    response = client.get(a_link(on_get=True), REMOTE_ADDR="127.0.0.1")

    assert response.status_code == 302
    assert is_signed_in(client)


def test_a_look_at_the_headers_does_not_use_it_up(client):
    link = a_link(on_get=True)

    client.head(link)
    client.get(link)

    assert is_signed_in(client)


@pytest.mark.parametrize(
    "peer",
    [
        {"REMOTE_ADDR": "192.168.1.20"},
        {"REMOTE_ADDR": ""},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "203.0.113.9"},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_FORWARDED": "for=203.0.113.9"},
    ],
)
def test_from_elsewhere_a_link_for_scripts_shows_the_button(client, peer):
    response = client.get(a_link(on_get=True), **peer)

    assert response.status_code == 200
    assert not is_signed_in(client)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"])
def test_loopback_has_many_spellings(address):
    assert is_from_this_machine(RequestFactory().get("/", REMOTE_ADDR=address))


def test_signing_out_takes_a_post_with_the_token():
    strict = Client(enforce_csrf_checks=True)
    strict.post(a_link())

    refused = strict.post("/logout/")
    strict.post("/logout/", headers={"x-csrftoken": strict.cookies["mc_csrf"].value})

    assert refused.status_code == 403
    assert not is_signed_in(strict)


@pytest.mark.parametrize("path", ["/pair", "/pair/"])
def test_the_address_beside_a_code_shows_where_to_type_it(client, path):
    assert b'name="code"' in client.get(path).content


def test_who_has_no_link_is_led_to_the_code(client):
    assert b'href="/pair/"' in client.get("/login/").content


@pytest.mark.parametrize(
    ("agent", "is_secure", "lands"),
    [
        ("Android 15; Pixel 9) Chrome", True, "/settings/devices"),
        ("Android 15; Pixel 9) Chrome", False, "/"),
        ("Windows NT 10.0) Chrome", True, "/"),
    ],
)
def test_a_phone_that_could_take_pushes_lands_where_they_are_allowed(
    client, agent, is_secure, lands
):
    answer = client.post(a_link(), secure=is_secure, headers={"User-Agent": agent})

    assert answer["Location"] == lands


def test_without_a_link_it_says_where_one_comes_from(client):
    response = client.get("/login/")

    assert b"manage.py login_link" in response.content


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/login/", "Hier ist niemand angemeldet"),
        ("/login/unknown/", "Dieser Link gilt nicht mehr"),
        ("/pair/", "Dieses Telefon koppeln"),
    ],
)
def test_a_german_browser_is_led_in_in_german(client, address, said):
    page = client.get(address, headers={"accept-language": "de-AT,en"}).content.decode()

    assert '<html lang="de">' in page
    assert said in page


@pytest.mark.parametrize(
    ("text", "args"),
    [("Gone: /login/Zm9vYmFyYmF6/", ()), ("%s: %s", ("Gone", "/login/Zm9vYmFyYmF6/"))],
)
def test_no_log_line_carries_a_link(text, args):
    record = logging.LogRecord("django.request", logging.WARNING, "", 0, text, args, None)

    HideLoginLinks().filter(record)

    assert record.getMessage() == "Gone: /login/…/"


def test_who_makes_a_link_up_begins_no_transaction(client):
    """On SQLite it would wait for, and keep, the one turn to write; nothing paces these."""
    LoginLink.objects.exists()  # on PostgreSQL the test's own transaction begins with it
    with CaptureQueriesContext(connection) as asked:
        response = client.post("/login/unknown/")

    assert response.status_code == 410
    assert {query["sql"].split()[0] for query in asked} == {"SELECT"}
