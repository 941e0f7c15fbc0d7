"""Our cookies keep to this host, whatever else runs on the machine or under its domain."""

import pytest
from django.test import Client

from missioncontrol import clock
from missioncontrol.accounts import services

pytestmark = pytest.mark.django_db
OURS = {"mc_session", "mc_csrf", "mc_browser"}
HOST_PREFIX = {f"__Host-{name}" for name in OURS}


def a_link(*, on_get=False):
    owner = services.ensure_local_owner()
    minted = services.mint_login_link(user=owner, at=clock.now(), on_get=on_get)
    return f"/login/{minted.secret}/"


def test_our_cookies_have_distinct_names(client):
    client.post(a_link())

    assert set(client.cookies) == OURS


def test_over_https_cookies_have_the_host_prefix():
    client = Client(enforce_csrf_checks=True)

    client.post(a_link(), secure=True)

    assert set(client.cookies) == HOST_PREFIX
    for cookie in client.cookies.values():
        assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")
    assert client.cookies["__Host-mc_session"]["httponly"]
    assert client.cookies["__Host-mc_session"]["samesite"] == "Lax"


def test_over_https_a_session_reads_and_signs_out_with_prefixed_cookies():
    client = Client()
    client.post(a_link(), secure=True)

    assert client.get("/api/v1/me/", secure=True).status_code == 200
    client.post("/logout/", secure=True)

    assert client.cookies["__Host-mc_session"].value == ""
    assert client.cookies["__Host-mc_session"]["secure"]


def test_behind_an_https_proxy_cookies_have_the_host_prefix(settings):
    settings.SESSION_COOKIE_SECURE = True
    client = Client()

    client.post(a_link())

    assert set(client.cookies) == HOST_PREFIX
    assert client.get("/api/v1/me/").status_code == 200


def test_over_https_a_cookie_without_the_prefix_is_ignored():
    client = Client()
    client.post(a_link(), secure=True)
    laid_out = f"mc_session={client.cookies['__Host-mc_session'].value}"

    assert Client(headers={"Cookie": laid_out}).get("/api/v1/me/", secure=True).status_code == 401


def test_a_script_finds_the_csrf_token_in_the_documented_cookie():
    script = Client(enforce_csrf_checks=True, REMOTE_ADDR="127.0.0.1")

    script.get(a_link(on_get=True))

    token = script.cookies["csrftoken"].value
    assert script.post("/logout/", headers={"x-csrftoken": "made up"}).status_code == 403
    assert script.post("/logout/", headers={"x-csrftoken": token}).status_code == 302


def test_a_page_under_localhost_gives_agents_a_resolvable_address(settings):
    settings.ALLOWED_HOSTS = ["mission-control.localhost"]
    client = Client(headers={"Host": "mission-control.localhost:8765"})
    client.post(a_link())

    assert client.get("/api/v1/me/").json()["agent_url"] == "http://127.0.0.1:8765"
