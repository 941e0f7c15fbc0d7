"""Agent keys, personal tokens, sessions and the instance: made, used, revoked, recorded."""

import json
from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import AgentKey, PersonalToken
from missioncontrol.api.views.instance import without_password
from missioncontrol.clock import now
from missioncontrol.runs.models import JournalRow
from tests.build import NOON, a_project, a_run

pytestmark = pytest.mark.django_db


def post(client, path, **body):
    return client.post(f"/api/v1/{path}", body, format="json")


def listed(client, path):
    return client.get(f"/api/v1/{path}").json()["results"]


def sending(secret):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def recorded_changes():
    rows = JournalRow.objects.filter(type="access.changed").order_by("seq")
    return [json.loads(row.payload)["what"] for row in rows]


# --- agent keys -----------------------------------------------------------------


def test_a_key_is_shown_once_and_stored_as_a_hash(as_person, owner):
    client = as_person(owner)

    made = post(client, "keys/", name="ci")

    secret = made.json()["secret"]
    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    assert secret.startswith("mc_")
    assert secret not in str(list(AgentKey.objects.values()))
    (row,) = listed(client, "keys/")
    assert "secret" not in row
    assert secret.startswith(row["prefix"])
    assert row["created_by"] == "ana"


def test_two_keys_live_side_by_side_until_the_old_one_is_revoked(as_person, owner, project):
    client = as_person(owner)
    old, new = (post(client, "keys/", name=name).json() for name in ("old", "new"))

    assert post(sending(old["secret"]), "runs/", name="a").status_code == 201
    assert post(sending(new["secret"]), "runs/", name="b").status_code == 201
    assert client.delete(f"/api/v1/keys/{old['id']}/").status_code == 204

    assert post(sending(old["secret"]), "runs/", name="c").status_code == 401
    assert post(sending(new["secret"]), "runs/", name="d").status_code == 201
    revoked = {row["name"]: row["revoked_at"] is not None for row in listed(client, "keys/")}
    assert revoked == {"old": True, "new": False}


def test_a_key_shows_its_last_use_to_the_minute(as_person, owner):
    client = as_person(owner)
    made = post(client, "keys/", name="ci").json()
    assert listed(client, "keys/")[0]["last_used_at"] is None

    post(sending(made["secret"]), "runs/", name="a")
    first = listed(client, "keys/")[0]["last_used_at"]
    post(sending(made["secret"]), "runs/", name="b")

    assert first is not None
    assert listed(client, "keys/")[0]["last_used_at"] == first
    AgentKey.objects.update(last_used_at=now() - timedelta(minutes=2))
    post(sending(made["secret"]), "runs/", name="c")
    assert listed(client, "keys/")[0]["last_used_at"] > first


def test_the_journal_names_who_made_and_revoked_a_key_without_the_secret(as_person, owner):
    client = as_person(owner)
    made = post(client, "keys/", name="ci").json()
    client.delete(f"/api/v1/keys/{made['id']}/")
    client.delete(f"/api/v1/keys/{made['id']}/")

    named = f"“ci” ({made['prefix']}…)"
    assert recorded_changes() == [f"made the agent key {named}", f"revoked the agent key {named}"]
    assert made["secret"] not in str(list(JournalRow.objects.values()))


def test_only_an_owner_makes_and_revokes_keys(as_person, owner, operator, viewer, stranger):
    key = post(as_person(owner), "keys/", name="ci").json()["id"]

    for other in (operator, viewer):
        assert post(as_person(other), "keys/", name="mine").status_code == 403
        assert as_person(other).delete(f"/api/v1/keys/{key}/").status_code == 403
    assert as_person(stranger).delete(f"/api/v1/keys/{key}/").status_code == 404
    assert listed(as_person(stranger), "keys/") == []
    assert AgentKey.objects.get(pk=key).revoked_at is None


def test_a_key_for_a_foreign_project_is_refused(as_person, owner):
    foreign = a_project("foreign")

    assert post(as_person(owner), "keys/", name="ci", project=str(foreign.id)).status_code == 404


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "\0", "ci\u200b", "ci\u202e"])
def test_keys_and_tokens_need_a_visible_name(name, as_person, owner):
    client = as_person(owner)

    for made in (post(client, "keys/", name=name), post(client, "tokens/", name=name)):
        assert (made.status_code, made.json()["field"]) == (400, "name")


def test_a_refusal_names_the_kind_of_fault_for_screens_in_other_languages(as_person, owner):
    made = post(as_person(owner), "keys/", name=7)

    assert (made.json()["field"], made.json()["fault"]) == ("name", "string_type")


def test_the_agent_that_a_key_is_limited_to_can_be_seen(as_person, owner):
    made = post(as_person(owner), "keys/", name="ci", reach="agent", agent="writer\u200b")

    assert (made.status_code, made.json()["field"]) == (400, "agent")


def test_an_agent_makes_no_keys_and_sees_none(as_agent, client):
    for path in ("keys/", "tokens/", "instance/"):
        assert as_agent.get(f"/api/v1/{path}").status_code == 403
        assert client.get(f"/api/v1/{path}").status_code == 401
    assert post(as_agent, "keys/", name="more").status_code == 403


# --- personal tokens ------------------------------------------------------------


def test_a_token_writes_only_with_the_write_scope(as_person, owner, project):
    run = a_run(project)
    client = as_person(owner)
    reads, acts = (post(client, "tokens/", name=s, scope=s).json() for s in ("read", "write"))

    assert sending(reads["secret"]).get(f"/api/v1/runs/{run.id}/").status_code == 200
    refused = sending(reads["secret"]).patch(
        f"/api/v1/runs/{run.id}/", {"mode": "warn"}, format="json"
    )
    assert refused.status_code == 403
    allowed = sending(acts["secret"]).patch(
        f"/api/v1/runs/{run.id}/", {"mode": "warn"}, format="json"
    )
    assert allowed.status_code == 200


def test_a_token_is_read_only_by_default(as_person, owner):
    assert post(as_person(owner), "tokens/", name="bot").json()["scope"] == "read"


def test_an_expired_token_is_refused(as_person, owner):
    soon = (now() + timedelta(hours=1)).isoformat()
    secret = post(as_person(owner), "tokens/", name="bot", expires_at=soon).json()["secret"]
    assert sending(secret).get("/api/v1/me/").status_code == 200

    PersonalToken.objects.update(expires_at=now() - timedelta(seconds=1))

    assert sending(secret).get("/api/v1/me/").status_code == 401


def test_a_token_that_has_already_expired_is_refused(as_person, owner):
    before = NOON.isoformat()

    assert post(as_person(owner), "tokens/", name="bot", expires_at=before).status_code == 400


def test_a_time_without_a_zone_is_utc(as_person, owner):
    soon = now() + timedelta(hours=1)

    made = post(as_person(owner), "tokens/", name="bot", expires_at=str(soon.replace(tzinfo=None)))

    assert made.status_code == 201
    assert PersonalToken.objects.get().expires_at == soon


def test_a_revoked_token_opens_nothing(as_person, owner):
    client = as_person(owner)
    made = post(client, "tokens/", name="bot").json()

    assert client.delete(f"/api/v1/tokens/{made['id']}/").status_code == 204

    assert sending(made["secret"]).get("/api/v1/me/").status_code == 401
    assert recorded_changes()[-1].startswith("revoked the personal token “bot”")


def test_another_persons_tokens_do_not_exist(as_person, owner, operator):
    made = post(as_person(owner), "tokens/", name="bot").json()

    assert listed(as_person(operator), "tokens/") == []
    assert as_person(operator).delete(f"/api/v1/tokens/{made['id']}/").status_code == 404


def test_a_token_makes_no_other_token_and_ends_no_session(as_person, owner):
    secret = post(as_person(owner), "tokens/", name="bot", scope="write").json()["secret"]

    assert post(sending(secret), "tokens/", name="more", scope="write").status_code == 403
    assert sending(secret).delete("/api/v1/sessions/").status_code == 403


# --- sessions -------------------------------------------------------------------


def a_browser(user):
    client = APIClient(HTTP_USER_AGENT="Firefox on Linux")
    link = accounts.mint_login_link(user=user, at=now())
    client.post(f"/login/{link.secret}/")
    return client


def test_signing_out_elsewhere_leaves_this_browser_and_other_people(owner, operator):
    here, there, other = a_browser(owner), a_browser(owner), a_browser(operator)

    assert here.delete("/api/v1/sessions/").status_code == 204

    assert [c.get("/api/v1/me/").status_code for c in (here, there, other)] == [200, 401, 200]
    assert len(listed(here, "devices/")) == 1
    assert recorded_changes()[-1] == "signed out everywhere else"


def test_signing_out_one_browser_is_recorded(owner):
    here, there = a_browser(owner), a_browser(owner)
    (gone,) = [row["id"] for row in listed(here, "devices/") if not row["is_this"]]

    assert here.delete(f"/api/v1/devices/{gone}/").status_code == 204

    assert there.get("/api/v1/me/").status_code == 401
    assert recorded_changes()[-1] == "signed out “Linux”"


# --- the instance ---------------------------------------------------------------


def test_an_owner_sees_the_parts_and_where_the_data_is(as_person, owner, project, settings):
    a_run(project)

    body = as_person(owner).get("/api/v1/instance/").json()

    parts = {part["name"]: part for part in body["parts"]}
    assert parts["database"]["ok"] is True
    assert parts["broker"]["ok"] is True
    assert parts["worker"]["ok"] is as_person(owner).get("/readyz").json()["worker"]
    assert body["data_dir"] == str(settings.DATA_DIR)
    assert (body["runs"], body["events"], body["unindexed"]) == (1, 1, 1)
    assert 0 < body["disk_free_bytes"] <= body["disk_bytes"]
    assert body["is_secure"] is False
    assert body["keep_deliveries_days"] == 90


def test_an_installation_that_keeps_all_deliveries_says_so(as_person, owner, settings):
    settings.KEEP_DELIVERIES = None

    assert as_person(owner).get("/api/v1/instance/").json()["keep_deliveries_days"] is None


def test_others_do_not_see_the_instance(as_person, operator, viewer):
    assert as_person(operator).get("/api/v1/instance/").status_code == 403
    assert as_person(viewer).get("/api/v1/instance/").status_code == 403


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("redis://user:secret@host:6379/0", "redis://host:6379/0"),
        ("unix:///run/valkey.sock", "unix:///run/valkey.sock"),
        ("redis://:p@ss@host/1", "redis://host/1"),
    ],
)
def test_an_address_is_shown_without_its_password(address, shown):
    assert without_password(address) == shown
