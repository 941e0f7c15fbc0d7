"""A browser that another person signs in to: only the person signed in gets its pushes."""

from __future__ import annotations

import pytest
from django.test import Client

from missioncontrol import clock
from missioncontrol.accounts import services, sessions
from missioncontrol.accounts.models import Browser
from missioncontrol.notify import vapid
from missioncontrol.notify.models import Delivery, Device
from tests.build import a_stuck_run
from tests.missioncontrol.notify.build import deliver_due
from tests.push_service import PushService

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _keyed(settings):
    settings.VAPID_PRIVATE_KEY = vapid.new_private_key()


def sign_in(client, user):
    minted = services.mint_login_link(user=user, at=clock.now(), on_get=False)
    client.post(f"/login/{minted.secret}/")


def end_session(client):
    """Let the session end by itself: its cookie is gone, the browser's stays."""
    client.session.flush()
    del client.cookies["mc_session"]


def subscribe(client, endpoint=""):
    made = PushService("https://push.example").subscribe(vapid.public_key())
    fields = {
        "endpoint": endpoint or made.endpoint,
        "keys": made.keys,
        "language": "de",
        "vapid_key": vapid.public_key(),
        "time_zone": "Europe/Berlin",
    }
    response = client.post(
        "/api/v1/devices/this/push/",
        fields,
        content_type="application/json",
        headers={"X-CSRFToken": client.cookies["mc_csrf"].value},
    )
    assert response.status_code == 201
    return fields["endpoint"]


@pytest.fixture
def ana(owner):
    return owner


@pytest.fixture
def bo(operator):
    return operator


@pytest.fixture
def browser(ana):
    """Ana's: signed in, taking pushes."""
    client = Client()
    sign_in(client, ana)
    subscribe(client)
    return client


def test_a_signed_out_browser_receives_no_pushes(browser, project):
    a_stuck_run(project)

    browser.post("/logout/")
    deliver_due(at=clock.now())

    assert not Device.objects.exists()
    assert [(one.status, one.last_error) for one in Delivery.objects.all()] == [
        ("skipped", "its target was removed")
    ]


def test_the_next_person_in_a_browser_gets_no_pushes_of_the_previous_one(browser, bo):
    end_session(browser)

    sign_in(browser, bo)

    assert not Device.objects.exists()
    assert list(Browser.objects.values_list("user__username", flat=True)) == [bo.username]


def test_signing_in_after_an_expired_session_restores_browser_and_pushes(browser, ana):
    before = Device.objects.get()
    end_session(browser)

    sign_in(browser, ana)

    assert Device.objects.get() == before
    assert Browser.objects.count() == 1
    (mine,) = browser.get("/api/v1/devices/").json()["results"]
    assert (mine["is_this"], mine["push"]["enabled"]) == (True, True)


def test_a_browser_signed_out_from_afar_begins_anew(browser, ana):
    sessions.sign_out_browser(Browser.objects.get().id)

    sign_in(browser, ana)

    assert not Device.objects.exists()
    assert Browser.objects.count() == 1


def test_subscription_settings_do_not_pass_to_the_next_person(browser, bo):
    endpoint = "https://push.example/push/shared"
    subscribe(browser, endpoint)
    Device.objects.update(show_details=False, enabled=False)
    other = Client()
    sign_in(other, bo)

    subscribe(other, endpoint)

    (device,) = Device.objects.all()
    assert (device.user, device.show_details, device.enabled) == (bo, True, True)


def test_a_forged_browser_cookie_has_no_effect(browser, bo):
    mine = Browser.objects.get()
    other = Client()
    other.cookies[sessions.BROWSER_COOKIE] = f"{mine.id}:forged"

    sign_in(other, bo)

    assert Device.objects.filter(browser=mine).exists()


def test_the_browser_cookie_is_http_only_and_same_site(browser):
    cookie = browser.cookies[sessions.BROWSER_COOKIE]

    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
