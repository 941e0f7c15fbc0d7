"""HTTPS for phones, opened from the browser: who may open it, and what is shown and recorded."""

import json

import pytest

from missioncontrol import extras
from missioncontrol.accounts import services as accounts
from missioncontrol.clock import now
from missioncontrol.extras import PhoneStatus
from missioncontrol.runs.models import JournalRow

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _supervised(settings, tmp_path):
    settings.IS_SUPERVISED = True
    settings.PHONE_URL = ""
    settings.HTTPS_PORT = 8766
    settings.DATA_DIR = tmp_path


@pytest.fixture
def ana(as_person, owner):
    return as_person(owner)


def turn(client, *, on):
    return client.patch("/api/v1/devices/reach/", {"is_open": on}, format="json")


def reach(client, **more):
    return client.get("/api/v1/devices/reach/", HTTP_HOST="localhost", **more).json()


def test_phone_access_is_closed_until_an_owner_opens_it_and_shows_its_port(ana):
    body = reach(ana)

    assert (body["url"], body["door"], body["door_port"]) == ("", "closed", 8766)


def test_phone_access_is_opening_until_its_listener_answers(ana, tmp_path):
    assert turn(ana, on=True).json()["door"] == "opening"
    assert extras.is_phone_requested(tmp_path)

    extras.record_phone_status(tmp_path, PhoneStatus(url="https://10.0.0.7:8766"))

    body = reach(ana)
    assert (body["door"], body["url"], body["is_secure"]) == ("open", "https://10.0.0.7:8766", True)
    assert ana.post("/api/v1/pairings/").json()["url"].startswith("https://10.0.0.7:8766/login/")


def test_closing_phone_access_is_recorded_as_opening_it_was(ana, tmp_path):
    turn(ana, on=True)
    extras.record_phone_status(tmp_path, PhoneStatus(url="https://10.0.0.7:8766"))

    body = turn(ana, on=False).json()

    assert (body["door"], extras.is_phone_requested(tmp_path)) == ("closed", False)
    entries = [json.loads(row.payload)["what"] for row in JournalRow.objects.order_by("id")]
    assert entries == [
        "opened HTTPS to the local network",
        "closed HTTPS to the local network",
    ]


def test_a_failed_opening_shows_its_reason(ana, tmp_path):
    extras.record_phone_status(tmp_path, PhoneStatus(problem="Port 8766 on 0.0.0.0 is taken."))

    body = reach(ana)

    assert (body["door"], body["door_problem"]) == ("failed", "Port 8766 on 0.0.0.0 is taken.")


def test_only_an_owner_can_open_phone_access_or_see_that_it_can_be_opened(
    as_person, operator, tmp_path
):
    assert turn(as_person(operator), on=True).status_code == 403
    assert reach(as_person(operator))["door"] is None
    assert not extras.is_phone_requested(tmp_path)


def test_a_token_cannot_open_phone_access(ana, owner, client, tmp_path):
    token = accounts.mint_personal_token(user=owner, name="script", at=now()).secret

    refused = client.patch(
        "/api/v1/devices/reach/",
        {"is_open": True},
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )

    assert refused.status_code == 403
    assert not extras.is_phone_requested(tmp_path)


@pytest.mark.parametrize(
    ("supervised", "phone_url"), [(False, ""), (True, "https://mission.example")]
)
def test_phone_access_cannot_be_opened_where_the_start_command_set_it(
    ana, settings, supervised, phone_url
):
    settings.IS_SUPERVISED, settings.PHONE_URL = supervised, phone_url

    assert reach(ana)["door"] is None
    assert turn(ana, on=True).status_code == 503
