"""Your devices: each browser is listed, changed and signed out only by its person."""

import json

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from rest_framework.test import APIClient

from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import Browser, LoginLink
from missioncontrol.accounts.sessions import describe_browser, hash_key
from missioncontrol.clock import now
from missioncontrol.notify import content, services, vapid
from missioncontrol.notify.models import Delivery, Device
from missioncontrol.runs.models import JournalRow
from tests.build import NOON, after
from tests.push_service import PushService

pytestmark = pytest.mark.django_db
PIXEL = (
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/142 Mobile Safari/537.36"
)


@pytest.fixture(autouse=True)
def _keyed(settings):
    settings.VAPID_PRIVATE_KEY = vapid.new_private_key()
    settings.PHONE_URL = "https://mission.example"


def a_push(**fields):
    made = PushService("https://push.example").subscribe(vapid.public_key())
    return {
        "endpoint": made.endpoint,
        "keys": made.keys,
        "vapid_key": vapid.public_key(),
        "time_zone": "Europe/Berlin",
        "language": "de",
        **fields,
    }


def devices_of(client):
    return client.get("/api/v1/devices/").json()["results"]


def subscribe(client, **fields):
    return client.post("/api/v1/devices/this/push/", a_push(**fields), format="json")


def patch(client, device, **fields):
    return client.patch(f"/api/v1/devices/{device}/", fields, format="json")


@pytest.fixture
def me(as_person, owner):
    return as_person(owner)


# --- pushes ----------------------------------------------------------------------------


def test_a_browser_subscribes_and_is_listed(me):
    response = subscribe(me)

    (mine,) = devices_of(me)
    assert response.status_code == 201
    assert (mine["is_this"], mine["push"]["enabled"], mine["push"]["time_zone"]) == (
        True,
        True,
        "Europe/Berlin",
    )


def test_a_subscription_that_the_browser_renews_by_itself_keeps_its_language(me):
    subscribe(me)
    (device,) = devices_of(me)
    patch(me, device["id"], language="de-AT")

    renewed = {name: value for name, value in a_push().items() if name != "language"}
    response = me.post("/api/v1/devices/this/push/", renewed, format="json")

    assert (response.status_code, response.json()["push"]["language"]) == (201, "de")


def test_a_failed_push_is_shown_until_one_succeeds(me, owner, project):
    subscribe(me)
    device = Device.objects.get()
    services.send_test(device, project=project.id, by="ana", at=NOON)
    Delivery.objects.update(status="failed", tries=1, last_error="it answered 403")

    (mine,) = devices_of(me)
    assert (mine["push"]["last_error"], mine["push"]["last_sent_at"]) == ("it answered 403", None)
    assert mine["push"]["last_failed_at"] is not None

    services.send_test(device, project=project.id, by="ana", at=after(60))
    Delivery.objects.filter(status="waiting").update(status="sent", tries=1, sent_at=after(61))

    (mine,) = devices_of(me)
    assert (mine["push"]["last_error"], mine["push"]["last_failed_at"]) == (None, None)


def test_the_daily_report_is_pushed_only_to_devices_that_want_it(me, project):
    subscribe(me)
    (device,) = devices_of(me)
    announcement = content.Announcement(title="Saturday cost $4.75", body="")

    services.send_notice(project.id, "report", subject="a day", message=announcement, at=NOON)
    assert not Delivery.objects.exists()
    patch(me, device["id"], hears_reports=True)
    services.send_notice(project.id, "report", subject="another", message=announcement, at=NOON)

    assert [one.what for one in Delivery.objects.all()] == ["report"]
    assert devices_of(me)[0]["push"]["hears_reports"]


def test_a_subscriptions_address_and_keys_are_encrypted(me):
    body = a_push()
    me.post("/api/v1/devices/this/push/", body, format="json")

    kept = json.dumps(list(Device.objects.values()), default=str)
    for secret in (body["endpoint"], body["keys"]["p256dh"], body["keys"]["auth"]):
        assert secret not in kept
        assert secret not in me.get("/api/v1/devices/").content.decode()


def test_a_new_subscription_takes_the_place_of_the_old_one(me):
    subscribe(me)
    subscribe(me)

    assert Device.objects.count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"endpoint": "http://10.0.0.7/push"},
        {"endpoint": "https://user@push.example/"},
        {"keys": {"p256dh": "AAAA", "auth": "AAAA"}},
        {"vapid_key": "another"},
        {"time_zone": "Mars/Olympus"},
    ],
)
def test_an_invalid_subscription_is_refused(me, wrong):
    response = subscribe(me, **wrong)

    assert (response.status_code, Device.objects.count()) == (400, 0)


def test_a_device_is_renamed_silenced_and_given_quiet_hours(me):
    device = subscribe(me).json()["id"]

    patch(me, device, name="Ana's Pixel", enabled=False, quiet_from="22:00", quiet_to="07:00")

    (mine,) = devices_of(me)
    push = mine["push"]
    assert (mine["name"], push["enabled"]) == ("Ana's Pixel", False)
    assert (push["quiet_from"], push["quiet_to"]) == ("22:00", "07:00")


def test_quiet_hours_end_with_an_empty_text_and_need_both_ends(me):
    device = subscribe(me).json()["id"]
    patch(me, device, quiet_from="22:00", quiet_to="07:00")

    assert patch(me, device, quiet_from="").status_code == 400
    ended = patch(me, device, quiet_from="", quiet_to="").json()

    assert ended["push"]["quiet_from"] is None


def test_unsubscribing_a_browser_keeps_it_signed_in(me):
    subscribe(me)

    me.delete("/api/v1/devices/this/push/")

    assert [one["push"] for one in devices_of(me)] == [None]


def test_another_persons_device_does_not_exist(me, as_person, stranger, operator):
    device = subscribe(me).json()["id"]

    for them in (as_person(stranger), as_person(operator)):
        assert patch(them, device, name="x").status_code == 404
        assert them.delete(f"/api/v1/devices/{device}/").status_code == 404
        assert them.post(f"/api/v1/devices/{device}/test/").status_code == 404
        assert device not in [one["id"] for one in devices_of(them)]


def test_an_agent_has_no_devices(as_agent):
    for path in ("devices/", "devices/reach/", "devices/certificate/"):
        assert as_agent.get(f"/api/v1/{path}").status_code == 403
    assert as_agent.post("/api/v1/pairings/").status_code == 403


def test_a_token_lists_devices_but_is_not_one(me, owner):
    token = accounts.mint_personal_token(user=owner, name="script", at=now()).secret
    script = APIClient(headers={"Authorization": f"Bearer {token}"})
    subscribe(me)

    assert [one["is_this"] for one in devices_of(script)] == [False]
    assert subscribe(script).status_code == 400


# --- signing out -----------------------------------------------------------------------


def test_a_token_pairs_no_phone_and_signs_nobody_out(me, owner):
    """Else one that leaked would be a session, and make tokens nobody revokes."""
    token = accounts.mint_personal_token(user=owner, name="script", at=now()).secret
    script = APIClient(headers={"Authorization": f"Bearer {token}"})
    (mine,) = devices_of(me)

    offered = script.post("/api/v1/pairings/")
    ended = script.delete(f"/api/v1/devices/{mine['id']}/")

    assert (offered.status_code, ended.status_code) == (403, 403)
    assert not LoginLink.objects.exists()
    assert devices_of(me) == [mine]


def test_a_device_is_signed_out_from_another(me, as_person, owner):
    phone = as_person(owner)
    device = subscribe(phone).json()["id"]

    assert me.delete(f"/api/v1/devices/{device}/").status_code == 204

    assert phone.get("/api/v1/me/").status_code in {401, 403}
    assert me.get("/api/v1/me/").status_code == 200
    assert not Device.objects.exists()


def test_signing_out_forgets_the_browser(owner):
    browser = Client(headers={"User-Agent": PIXEL})
    link = accounts.mint_login_link(user=owner, at=now())
    browser.post(f"/login/{link.secret}/")
    assert Browser.objects.get().name == "Pixel 9"

    browser.post("/logout/")

    assert not Browser.objects.exists()
    assert browser.get("/api/v1/me/").status_code in {401, 403}


@pytest.mark.parametrize(
    ("agent", "name", "program"),
    [
        ("curl/8.11", "a browser", ""),
        ("", "a browser", ""),
        ("Mozilla/5.0 (X11; Linux x86_64) Gecko/1", "Linux", "Linux"),
        ("Mozilla/5.0 (Plan9) Firefox/140", "Firefox", "Firefox"),
    ],
)
def test_a_browser_is_named_by_its_user_agent(agent, name, program):
    found = describe_browser(agent)

    assert (found.name, found.program) == (name, program)


def by_link(browser, user):
    link = accounts.mint_login_link(user=user, at=now())
    return browser.post(f"/login/{link.secret}/")


def test_a_browser_that_another_person_takes_over_gets_no_pushes_of_the_first(owner, operator):
    browser = APIClient(HTTP_USER_AGENT=PIXEL)
    by_link(browser, owner)
    subscribe(browser)

    by_link(browser, operator)

    assert not Device.objects.exists()
    assert [row.user_id for row in Browser.objects.all()] == [operator.pk]


def test_signing_in_again_keeps_the_browser_and_its_pushes(owner):
    browser = APIClient(HTTP_USER_AGENT=PIXEL)
    by_link(browser, owner)
    subscribe(browser)

    by_link(browser, owner)

    (mine,) = devices_of(browser)
    assert mine["is_this"]
    assert mine["push"]["enabled"]


def test_signing_out_elsewhere_ends_pushes_to_a_browser_whose_session_is_over(me, owner):
    lost = APIClient(HTTP_USER_AGENT=PIXEL)
    by_link(lost, owner)
    subscribe(lost)
    Session.objects.filter(pk=hash_key(lost.session.session_key)).update(expire_date=now())

    assert me.delete("/api/v1/sessions/").status_code == 204

    assert not Device.objects.exists()


# --- on the record ---------------------------------------------------------------------


def recorded_changes(project):
    rows = JournalRow.objects.filter(type="access.changed", project=project).order_by("seq")
    return [json.loads(row.payload)["what"] for row in rows]


def test_signing_in_subscribing_and_signing_out_are_recorded(owner, project, as_person):
    browser = APIClient(HTTP_USER_AGENT=PIXEL)
    by_link(browser, owner)
    subscribe(browser), subscribe(browser)
    browser.delete("/api/v1/devices/this/push/")
    browser.post("/logout/")

    assert recorded_changes(project) == [
        "signed in “Pixel 9” by a link",
        "had pushes sent to “Pixel 9”",
        "ended the pushes to “Pixel 9”",
        "signed out “Pixel 9”",
    ]
    assert as_person(owner).get("/api/v1/audit/verify/").json()["ok"]


def choices(project):
    rows = JournalRow.objects.filter(type="policy.changed", project=project).order_by("seq")
    payloads = [json.loads(row.payload) for row in rows]
    return [(one["what"], one["before"], one["after"]) for one in payloads]


def test_a_device_change_is_recorded_with_its_former_value(me, project):
    device = subscribe(me).json()["id"]
    was = devices_of(me)[0]["name"]
    patch(me, device, name="Ana's Pixel", quiet_from="22:00", quiet_to="07:00")
    patch(me, device, name="Ana's Pixel", enabled=True)
    patch(me, device, enabled=False, show_details=False)

    assert choices(project) == [
        (
            f"the device “{was}”",
            {"name": was, "quiet_from": "", "quiet_to": ""},
            {"name": "Ana's Pixel", "quiet_from": "22:00", "quiet_to": "07:00"},
        ),
        (
            "the device “Ana's Pixel”",
            {"enabled": True, "show_details": True},
            {"enabled": False, "show_details": False},
        ),
    ]
    assert me.get("/api/v1/audit/verify/").json()["ok"]


def test_a_refused_change_has_no_effect_and_is_not_recorded(me, project):
    (mine,) = devices_of(me)

    assert patch(me, mine["id"], name="Desk", enabled=False).status_code == 400
    assert patch(me, mine["id"], name="  ").status_code == 400

    assert devices_of(me)[0]["name"] == mine["name"]
    assert choices(project) == []
