"""A phone signs in once, by a link in a QR code or by a code that cannot be guessed."""

import json
from ipaddress import ip_network
from threading import Thread
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.test import Client
from rest_framework.test import APIClient

from missioncontrol.accounts.models import LoginLink
from missioncontrol.accounts.sessions import BROWSER_ID
from missioncontrol.clock import now
from tests.missioncontrol.api.test_devices_api import PIXEL, by_link, devices_of, recorded_changes

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def reachable(settings):
    settings.PHONE_URL = "https://mission.example"


@pytest.fixture
def me(as_person, owner):
    return as_person(owner)


def offer(client):
    return client.post("/api/v1/pairings/").json()


def test_a_phone_signs_in_by_the_link_and_the_page_sees_it(me):
    made = offer(me)
    phone = Client(headers={"User-Agent": PIXEL})
    path = urlsplit(made["url"]).path

    assert "Sign in" in phone.get(path).content.decode()
    response = phone.post(path)

    assert (response.status_code, response["Location"]) == (302, "/settings/devices")
    body = me.get(f"/api/v1/pairings/{made['id']}/").json()
    assert (body["status"], body["device"]["name"], body["url"]) == ("paired", "Pixel 9", None)
    assert phone.get("/api/v1/me/").status_code == 200


def test_a_phone_signs_in_by_the_code_however_it_is_typed(me):
    made = offer(me)
    phone = Client(headers={"User-Agent": PIXEL})

    phone.post("/pair/", {"code": made["code"].lower().replace("-", " ")})

    assert phone.get("/api/v1/me/").status_code == 200
    assert me.get(f"/api/v1/pairings/{made['id']}/").json()["status"] == "paired"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["link", "code"])
def test_the_page_shows_no_phone_until_its_browser_is_known(me, way):
    """It asks every second: once of a phone that was halfway in, whose panel then went away."""
    made, heard = offer(me), []
    address = f"/api/v1/pairings/{made['id']}/"
    me.get(address)  # the desk's browser is known from here on: who asks again writes nothing

    def ask():
        heard.append(me.get(address).json()["status"])
        connection.close()

    def halfway(**_):
        asking = Thread(target=ask)
        asking.start()
        asking.join()

    user_logged_in.connect(halfway)
    try:
        phone = Client(headers={"User-Agent": PIXEL})
        if way == "link":
            phone.post(urlsplit(made["url"]).path)
        else:
            phone.post("/pair/", {"code": made["code"]})
    finally:
        user_logged_in.disconnect(halfway)

    ask()
    assert heard == ["waiting", "paired"]


@pytest.mark.django_db(transaction=True)
def test_a_link_is_used_up_only_when_somebody_is_signed_in(me, owner):
    made, let_in = offer(me), []

    def look():
        sessions = [one.get_decoded() for one in Session.objects.all()]
        let_in.extend(one.get(SESSION_KEY) for one in sessions if one.get(BROWSER_ID))

    def halfway(**_):
        transaction.on_commit(look)

    user_logged_in.connect(halfway)
    try:
        Client().post(urlsplit(made["url"]).path)
    finally:
        user_logged_in.disconnect(halfway)

    assert let_in == [str(owner.pk)]


def test_link_and_code_together_work_once(me):
    made = offer(me)
    Client().post(urlsplit(made["url"]).path)

    again, typed = Client(), Client()

    assert again.post(urlsplit(made["url"]).path).status_code == 410
    assert typed.post("/pair/", {"code": made["code"]}).status_code == 410
    assert typed.get("/api/v1/me/").status_code in {401, 403}


def test_a_new_code_invalidates_the_old_one(me):
    old, _ = offer(me), offer(me)

    assert Client().post(urlsplit(old["url"]).path).status_code == 410
    assert me.get(f"/api/v1/pairings/{old['id']}/").status_code == 404


def test_codes_and_links_are_stored_as_hashes(me):
    made = offer(me)

    kept = json.dumps(list(LoginLink.objects.values()), default=str)
    assert made["code"] not in kept
    assert urlsplit(made["url"]).path.split("/")[2] not in kept


def test_code_guesses_are_rate_limited(me):
    guesser = Client()

    answers = [guesser.post("/pair/", {"code": f"AAAA-{n:04}-BBBB"}) for n in range(12)]

    assert [response.status_code for response in answers] == [410] * 10 + [429] * 2
    assert 1 <= int(answers[-1]["Retry-After"]) <= 60


GUESSER = "198.51.100.1, 203.0.113.9"  # the first is what they say of themselves


def test_guesses_behind_a_trusted_proxy_limit_only_their_own_address(me, settings):
    settings.TRUSTED_PROXIES = [ip_network("127.0.0.1")]
    through = {"REMOTE_ADDR": "127.0.0.1"}
    for n in range(60):
        Client(**through, headers={"X-Forwarded-For": GUESSER}).post("/pair/", {"code": str(n)})
    code = offer(me)["code"]

    beside = Client(**through, headers={"X-Forwarded-For": "203.0.113.7"})

    assert beside.post("/pair/", {"code": code}).status_code == 302


def test_a_forwarded_header_from_loopback_is_not_trusted():
    guesses = [
        Client(REMOTE_ADDR="127.0.0.1", headers={"X-Forwarded-For": f"203.0.113.{n}"})
        for n in range(11)
    ]

    assert [one.post("/pair/", {"code": "AAAA"}).status_code for one in guesses][-1] == 429


def test_a_remote_caller_cannot_fake_a_new_address_per_guess():
    guesses = [
        Client(REMOTE_ADDR="192.168.1.20", headers={"X-Forwarded-For": f"203.0.113.{n}"})
        for n in range(11)
    ]

    assert [one.post("/pair/", {"code": "AAAA"}).status_code for one in guesses][-1] == 429


def test_a_code_expires_after_ten_minutes(me):
    code = offer(me)["code"]
    LoginLink.objects.update(expires_at=now())

    assert Client().post("/pair/", {"code": code}).status_code == 410


def test_a_planted_session_is_not_signed_in(me):
    phone = Client()
    phone.cookies["mc_session"] = laid_out = "a" * 32

    phone.post("/pair/", {"code": offer(me)["code"]})

    assert phone.cookies["mc_session"].value != laid_out
    assert (
        Client(headers={"Cookie": f"mc_session={laid_out}"}).get("/api/v1/me/").status_code == 401
    )


def test_a_cross_site_form_pairs_nothing(me):
    made = offer(me)
    phone = Client(enforce_csrf_checks=True)

    assert phone.post("/pair/", {"code": made["code"]}).status_code == 403


def test_another_person_does_not_see_a_pairing(me, as_person, operator):
    made = offer(me)

    assert as_person(operator).get(f"/api/v1/pairings/{made['id']}/").status_code == 404


def test_an_unreachable_installation_offers_no_code(me, settings):
    settings.PHONE_URL = ""
    response = me.post("/api/v1/pairings/", headers={"Host": "127.0.0.1"})

    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert "--https" in response.json()["detail"]


def test_the_qr_code_is_shown_once_and_not_stored(me):
    response = me.post("/api/v1/pairings/")

    assert response["Cache-Control"] == "no-store"
    assert response.json()["qr"].startswith("data:image/svg+xml")


def test_pairing_a_phone_is_recorded(me, project):
    Client(headers={"User-Agent": PIXEL}).post("/pair/", {"code": offer(me)["code"]})

    assert recorded_changes(project) == ["paired “Pixel 9”"]


@pytest.mark.parametrize("which", ["sessions/", "devices/{}/"])
def test_signing_out_a_person_invalidates_their_pairing_codes(which, me, owner):
    stolen = APIClient(HTTP_USER_AGENT=PIXEL)
    by_link(stolen, owner)
    code = offer(stolen)["code"]
    (theirs,) = [row["id"] for row in devices_of(me) if not row["is_this"]]

    assert me.delete(f"/api/v1/{which.format(theirs)}").status_code == 204

    assert Client().post("/pair/", {"code": code}).status_code == 410
