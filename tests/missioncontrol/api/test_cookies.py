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


def test_they_are_called_like_no_other_programs(client):
    client.post(a_link())

    assert set(client.cookies) == OURS


def test_over_https_they_are_of_this_host_alone():
    client = Client(enforce_csrf_checks=True)

    client.post(a_link(), secure=True)

    assert set(client.cookies) == HOST_PREFIX
    for cookie in client.cookies.values():
        assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")
    assert client.cookies["__Host-mc_session"]["httponly"]
    assert client.cookies["__Host-mc_session"]["samesite"] == "Lax"


def test_over_https_a_page_reads_and_leaves_by_them():
    client = Client()
    client.post(a_link(), secure=True)

    assert client.get("/api/v1/me/", secure=True).status_code == 200
    client.post("/logout/", secure=True)

    assert client.cookies["__Host-mc_session"].value == ""
    assert client.cookies["__Host-mc_session"]["secure"]


def test_behind_a_proxy_with_https_they_are_too(settings):
    settings.SESSION_COOKIE_SECURE = True
    client = Client()

    client.post(a_link())

    assert set(client.cookies) == HOST_PREFIX
    assert client.get("/api/v1/me/").status_code == 200


def test_over_https_none_counts_that_a_neighbouring_host_could_set():
    client = Client()
    client.post(a_link(), secure=True)
    laid_out = f"mc_session={client.cookies['__Host-mc_session'].value}"

    assert Client(headers={"Cookie": laid_out}).get("/api/v1/me/", secure=True).status_code == 401


def test_a_script_finds_its_token_under_the_contracts_name():
    script = Client(enforce_csrf_checks=True, REMOTE_ADDR="127.0.0.1")

    script.get(a_link(on_get=True))

    token = script.cookies["csrftoken"].value
    assert script.post("/logout/", headers={"x-csrftoken": "made up"}).status_code == 403
    assert script.post("/logout/", headers={"x-csrftoken": token}).status_code == 302


def test_a_page_on_this_machine_tells_agents_an_address_they_can_look_up(settings):
    settings.ALLOWED_HOSTS = ["mission-control.localhost"]
    client = Client(headers={"Host": "mission-control.localhost:8765"})
    client.post(a_link())

    assert client.get("/api/v1/me/").json()["agent_url"] == "http://127.0.0.1:8765"
