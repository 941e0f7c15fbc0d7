"""Channels and deliveries over REST: who may, what is shown, what is refused."""

from __future__ import annotations

import json

import pytest

from missioncontrol.notify.models import Channel, Delivery
from missioncontrol.runs.models import JournalRow
from missioncontrol.sealing import unseal
from tests.build import a_project, a_stuck_run
from tests.missioncontrol.notify.build import a_channel, deliver_due

pytestmark = pytest.mark.django_db


SLACK = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
ENDPOINTS = [
    ("get", "/api/v1/channels/{channel}/"),
    ("patch", "/api/v1/channels/{channel}/"),
    ("delete", "/api/v1/channels/{channel}/"),
    ("post", "/api/v1/channels/{channel}/test/"),
    ("get", "/api/v1/deliveries/{delivery}/"),
    ("post", "/api/v1/deliveries/{delivery}/retry/"),
]


def call(client, method: str, url: str, **body):
    if method == "get":
        return client.get(url)
    return getattr(client, method)(url, json.dumps(body), content_type="application/json")


def add(client, **fields):
    fields = {"kind": "slack", "name": "ops", "address": SLACK, **fields}
    return call(client, "post", "/api/v1/channels/", **fields)


@pytest.fixture
def failed(server, settings, project) -> Delivery:
    """A delivery that its web hook refused for good."""
    settings.NOTIFY_HOSTS = [server.host]
    server.status = 404
    a_channel(project, f"{server.url}/told")
    a_stuck_run(project)
    deliver_due()
    server.status = 204
    return Delivery.objects.get()


def test_an_owner_adds_a_channel_whose_address_is_never_shown(as_person, owner):
    added = add(as_person(owner), step_minutes=5, quiet_from="22:00", quiet_to="07:00")

    row = added.json()
    assert added.status_code == 201
    assert (row["shown"], row["step_minutes"], row["quiet_to"]) == ("hooks.slack.com", 5, "07:00")
    assert row["hears"] == ["decisions", "budgets"]
    assert "TIiajkdnlazkcOXrIdevi7FQ" not in added.content.decode()
    assert unseal(Channel.objects.get().address).endswith("TIiajkdnlazkcOXrIdevi7FQ")


def test_the_journal_names_who_added_a_channel_but_not_its_address(as_person, owner):
    add(as_person(owner))

    row = JournalRow.objects.get(type="policy.changed")
    assert row.by == "ana"
    assert "the channel ops" in row.payload
    assert "TIiajkdnlazkcOXrIdevi7FQ" not in row.payload


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("address", "file:///etc/passwd"),
        ("kind", "pager"),
        ("name", ""),
        ("name", "x" * 101),
        ("step_minutes", -1),
        ("step_minutes", 1441),
        ("quiet_from", "25:00"),
        ("quiet_from", "22:00"),
        ("hears", ["everything"]),
    ],
)
def test_a_wrong_field_is_named(as_person, owner, field, wrong):
    refused = add(as_person(owner), **{field: wrong})

    assert refused.status_code == 400
    assert refused.json()["field"].startswith(field)


def test_operators_and_viewers_read_but_do_not_change(as_person, owner, operator, viewer):
    channel = add(as_person(owner)).json()["id"]

    for person in (operator, viewer):
        client = as_person(person)
        assert client.get("/api/v1/channels/").json()["results"][0]["name"] == "ops"
        assert add(client).status_code == 403
        assert client.delete(f"/api/v1/channels/{channel}/").status_code == 403
        assert call(client, "patch", f"/api/v1/channels/{channel}/").status_code == 403
    assert call(client, "post", f"/api/v1/channels/{channel}/test/").status_code == 403


def test_agents_cannot_read_channels(as_agent):
    assert as_agent.get("/api/v1/channels/").status_code == 403
    assert as_agent.get("/api/v1/deliveries/").status_code == 403


@pytest.mark.parametrize(("method", "url"), ENDPOINTS)
def test_another_projects_channels_do_not_exist(as_person, stranger, failed, method, url):
    address = url.format(channel=failed.channel_id, delivery=failed.id)

    assert call(as_person(stranger), method, address).status_code == 404


def test_a_strangers_lists_are_empty(as_person, stranger, failed):
    client = as_person(stranger)

    assert client.get("/api/v1/channels/").json()["results"] == []
    assert client.get("/api/v1/deliveries/").json()["results"] == []
    assert client.get(f"/api/v1/deliveries/?project={failed.project_id}").status_code == 404


def test_absent_fields_stay_and_empty_texts_end_quiet_hours(as_person, owner):
    client = as_person(owner)
    url = f"/api/v1/channels/{add(client, quiet_from='22:00', quiet_to='07:00').json()['id']}/"

    assert call(client, "patch", url, enabled=False).json()["quiet_from"] == "22:00"
    row = call(client, "patch", url, quiet_from="", quiet_to="", hears=["reports"]).json()
    assert (row["enabled"], row["quiet_from"], row["hears"]) == (False, None, ["reports"])


def test_a_new_address_is_of_the_same_kind(as_person, owner):
    client = as_person(owner)
    url = f"/api/v1/channels/{add(client).json()['id']}/"

    assert call(client, "patch", url, address="ntfys://ntfy.sh/x").status_code == 400
    assert call(client, "patch", url, address=SLACK + "2").status_code == 200


def test_a_removed_channels_deliveries_remain(as_person, owner, failed):
    assert as_person(owner).delete(f"/api/v1/channels/{failed.channel_id}/").status_code == 204

    (row,) = as_person(owner).get("/api/v1/deliveries/").json()["results"]
    assert (row["target"], row["channel"], row["can_retry"]) == ("ops", None, False)


def test_a_channel_whose_secret_key_changed_says_so(as_person, owner, settings):
    client = as_person(owner)
    add(client)
    settings.SECRET_KEY = "another one"
    client.force_login(owner)

    assert client.get("/api/v1/channels/").json()["results"][0]["shown"] is None


def test_channel_tests_are_rate_limited(as_person, operator, project):
    client, channel = as_person(operator), a_channel(project)

    asked = [call(client, "post", f"/api/v1/channels/{channel.id}/test/") for _ in range(11)]

    assert [response.status_code for response in asked] == [202] * 10 + [429]
    assert Delivery.objects.count() == 10


def test_a_channels_language_must_be_supported(as_person, owner, project):
    client = as_person(owner)

    made = add(client, language="de").json()
    refused = add(client, language="fr")

    assert made["language"] == "de"
    assert refused.status_code == 400
    changed = call(client, "patch", f"/api/v1/channels/{made['id']}/", language="en")
    assert changed.json()["language"] == "en"


def test_a_test_delivery_shows_its_result(server, settings, as_person, operator, project):
    settings.NOTIFY_HOSTS = [server.host]
    channel = a_channel(project, f"{server.url}/told")
    client = as_person(operator)

    asked = call(client, "post", f"/api/v1/channels/{channel.id}/test/")
    deliver_due(at=Delivery.objects.get().created_at)

    row = client.get(f"/api/v1/deliveries/{asked.json()['id']}/").json()
    assert (asked.status_code, asked.json()["status"]) == (202, "waiting")
    assert (row["status"], row["what"], row["title"]) == (
        "sent",
        "test",
        "A test from Mission Control",
    )
    assert client.get("/api/v1/channels/").json()["results"][0]["last"]["status"] == "sent"


def test_a_delivery_is_named_in_its_readers_language(as_person, operator, failed):
    client = as_person(operator)

    def titles(language):
        reader = {"Accept-Language": language}
        (row,) = client.get("/api/v1/deliveries/", headers=reader).json()["results"]
        one = client.get(f"/api/v1/deliveries/{failed.id}/", headers=reader).json()
        return row["title"], one["title"]

    assert titles("en") == ("fix-auth-tests is paused",) * 2
    assert titles("de-AT,en;q=0.5") == ("fix-auth-tests angehalten",) * 2


def test_a_failed_delivery_shows_its_error_and_can_be_retried(server, as_person, operator, failed):
    client = as_person(operator)
    (row,) = client.get("/api/v1/deliveries/?status=failed,waiting").json()["results"]
    assert (row["error"], row["tries"], row["due_at"]) == ("it answered 404", 1, None)
    assert (row["run_name"], row["can_retry"]) == ("fix-auth-tests", True)

    again = call(client, "post", f"/api/v1/deliveries/{failed.id}/retry/")
    assert (again.status_code, again.json()["status"]) == (202, "waiting")
    deliver_due(at=Delivery.objects.get().due_at)

    assert client.get("/api/v1/deliveries/?status=failed").json()["results"] == []
    assert len(server.received) == 2


def test_retries_are_rate_limited(as_person, operator, owner, failed):
    path, client = f"/api/v1/deliveries/{failed.id}/retry/", as_person(operator)
    # A slow machine is given back a try every three seconds meanwhile.
    asked = [call(client, "post", path) for _ in range(60)]

    statuses = [response.status_code for response in asked]
    assert statuses[:20] == [202] + [409] * 19
    refused = asked[statuses.index(429)]
    wait_s = refused.json()["wait_s"]
    assert refused.json()["code"] == "too_many_requests"
    assert 1 <= wait_s <= 60
    assert refused["Retry-After"] == str(wait_s)
    assert call(as_person(owner), "post", path).status_code == 409


def test_a_delivery_that_was_sent_or_answered_cannot_be_retried(as_person, operator, failed):
    client = as_person(operator)
    failed.notice.settled_at = failed.created_at
    failed.notice.save(update_fields=["settled_at"])

    refused = call(client, "post", f"/api/v1/deliveries/{failed.id}/retry/")

    assert (refused.status_code, refused.json()["code"]) == (409, "action_unavailable")
    assert "has been answered" in refused.json()["detail"]


def test_deliveries_are_filtered(as_person, owner, project, failed):
    other = a_channel(project, name="other")
    client = as_person(owner)

    def count(query: str) -> int:
        return len(client.get(f"/api/v1/deliveries/?{query}").json()["results"])

    assert count(f"channel={failed.channel_id}") == 1
    assert count(f"channel={other.id}") == 0
    assert count(f"decision={failed.notice.decision}") == 1
    assert count(f"run={failed.notice.run_id}&kind=webhook") == 1
    assert count("kind=push") == 0


def test_a_member_of_several_projects_must_name_one(as_person, owner):
    from missioncontrol.accounts.models import Membership

    Membership.objects.create(project=a_project("second"), user=owner, role="owner")

    assert add(as_person(owner)).json()["field"] == "project"
