"""Keys and tokens: rotation with an overlap, expiry, and where a leaked one was used."""

from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from missioncontrol.accounts import services as accounts
from missioncontrol.accounts import services as noted
from missioncontrol.accounts.models import AgentKey, PersonalToken, SecretUse
from missioncontrol.accounts.services import Usage
from missioncontrol.api import keys
from missioncontrol.clock import now
from missioncontrol.projects import access
from tests.build import NOON, a_person, a_project
from tests.missioncontrol.api.test_access_api import listed, post, recorded_changes

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_recorded_uses():
    """Another test's key may have been used a moment ago."""
    keys._recorded_at.clear()


def sending(secret, program="guard/1.0", address="198.51.100.7"):
    client = APIClient(HTTP_USER_AGENT=program, REMOTE_ADDR=address)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


@pytest.fixture
def key(as_person, owner):
    return post(as_person(owner), "keys/", name="ci").json()


def is_open(secret):
    return post(sending(secret), "runs/", name="a").status_code == 201


# --- expiring -------------------------------------------------------------------


def test_an_expired_key_is_refused(as_person, owner):
    soon = (now() + timedelta(hours=1)).isoformat()
    made = post(as_person(owner), "keys/", name="ci", expires_at=soon).json()
    assert is_open(made["secret"])

    AgentKey.objects.update(expires_at=now() - timedelta(seconds=1))

    assert not is_open(made["secret"])


def test_a_key_that_has_already_expired_is_refused(as_person, owner):
    refused = post(as_person(owner), "keys/", name="ci", expires_at=NOON.isoformat())

    assert (refused.status_code, refused.json()["field"]) == (400, "expires_at")


def test_expired_keys_do_not_count_against_the_limit(as_person, owner, project):
    for n in range(access.MAX_LIVE):
        accounts.mint_agent_key(project=project, name=str(n), at=NOON, expires_at=NOON)

    assert post(as_person(owner), "keys/", name="one more").status_code == 201


# --- rotating -------------------------------------------------------------------


def test_both_keys_work_while_they_overlap_and_then_the_new_one_alone(as_person, owner, key):
    client = as_person(owner)

    new = post(client, f"keys/{key['id']}/rotate/", overlap_hours=2).json()

    assert is_open(key["secret"])
    assert is_open(new["secret"])
    AgentKey.objects.filter(pk=key["id"]).update(expires_at=now())
    assert not is_open(key["secret"])
    assert is_open(new["secret"])


def test_without_an_overlap_the_old_key_ends_at_once(as_person, owner, key):
    post(as_person(owner), f"keys/{key['id']}/rotate/", overlap_hours=0)

    assert not is_open(key["secret"])


def test_each_reaches_the_runs_of_the_other(as_person, owner, key):
    before = post(sending(key["secret"]), "runs/", name="before").json()["id"]
    new = post(as_person(owner), f"keys/{key['id']}/rotate/").json()
    after = post(sending(new["secret"]), "runs/", name="after").json()["id"]

    assert sending(new["secret"]).get(f"/api/v1/runs/{before}/").status_code == 200
    assert sending(key["secret"]).get(f"/api/v1/runs/{after}/").status_code == 200


def test_a_rotated_key_keeps_its_settings(as_person, owner, project):
    until = now() + timedelta(days=30)
    old = accounts.mint_agent_key(
        project=project,
        name="night",
        at=now(),
        reach="agent",
        agent="coder",
        reports_only=True,
        expires_at=until,
    ).row

    new = post(as_person(owner), f"keys/{old.id}/rotate/").json()

    shown = {name: new[name] for name in ("name", "reach", "agent", "reports_only")}
    assert shown == {"name": "night", "reach": "agent", "agent": "coder", "reports_only": True}
    again = AgentKey.objects.get(pk=new["id"])
    assert again.expires_at - again.created_at == until - old.created_at


def test_a_rotation_prolongs_no_key(as_person, owner, project):
    until = now() + timedelta(minutes=5)
    old = accounts.mint_agent_key(project=project, name="k", at=NOON, expires_at=until).row

    post(as_person(owner), f"keys/{old.id}/rotate/", overlap_hours=24)

    old.refresh_from_db()
    assert old.expires_at == until


def test_an_expired_key_cannot_be_rotated(as_person, owner, key):
    as_person(owner).delete(f"/api/v1/keys/{key['id']}/")

    assert post(as_person(owner), f"keys/{key['id']}/rotate/").status_code == 400


@pytest.mark.parametrize("hours", [-1, 721])
def test_an_overlap_is_a_month_at_most(hours, as_person, owner, key):
    refused = post(as_person(owner), f"keys/{key['id']}/rotate/", overlap_hours=hours)

    assert (refused.status_code, refused.json()["field"]) == (400, "overlap_hours")


def test_the_journal_names_who_rotated_a_key_without_the_secrets(as_person, owner, key):
    new = post(as_person(owner), f"keys/{key['id']}/rotate/").json()

    assert recorded_changes()[-1].startswith(
        f"rotated the agent key “ci” ({key['prefix']}…) to “ci” ("
    )
    assert new["secret"] not in str(recorded_changes())


def test_a_token_makes_no_key_and_no_set_up_code(as_person, owner, key):
    """Else whoever has a leaked token has another way in once it is revoked."""
    secret = post(as_person(owner), "tokens/", name="bot", scope="write").json()["secret"]

    for path in ("keys/", f"keys/{key['id']}/rotate/", "setup-codes/"):
        assert post(sending(secret), path, name="more").status_code == 403


# --- used -----------------------------------------------------------------------


def listed_uses(client, path):
    answer = client.get(f"/api/v1/{path}uses/").json()
    places = [(place["address"], place["program"]) for place in answer["places"]]
    return places, {used["name"]: used["is_its_own"] for used in answer["runs"]}


def test_a_keys_uses_show_addresses_programs_and_runs(as_person, owner, key, project):
    post(sending(key["secret"]), "runs/", name="ours")
    run = post(sending(key["secret"], "curl/8.5", "203.0.113.9"), "runs/", name="theirs").json()
    sending(key["secret"], "curl/8.5", "203.0.113.9").get(f"/api/v1/runs/{run['id']}/")

    places, runs = listed_uses(as_person(owner), f"keys/{key['id']}/")

    assert set(places) == {("203.0.113.9", "curl/8.5"), ("198.51.100.7", "guard/1.0")}
    assert runs == {"ours": True, "theirs": True}
    assert listed(as_person(owner), "keys/")[0]["last_used_from"] == "203.0.113.9"


def test_a_run_that_another_key_opened_is_told_apart(as_person, owner, key, project):
    wide = accounts.mint_agent_key(project=project, name="w", at=NOON, reach="project")
    run = post(sending(key["secret"]), "runs/", name="its").json()["id"]
    sending(wide.secret).patch(f"/api/v1/runs/{run}/", {"status": "completed"}, format="json")

    assert listed_uses(as_person(owner), f"keys/{wide.row.id}/")[1] == {"its": False}


def test_a_run_out_of_a_keys_reach_is_not_listed_as_used(as_person, owner, key):
    other = post(as_person(owner), "keys/", name="other").json()
    run = post(sending(key["secret"]), "runs/", name="its").json()["id"]
    assert sending(other["secret"]).get(f"/api/v1/runs/{run}/").status_code == 404

    assert listed_uses(as_person(owner), f"keys/{other['id']}/")[1] == {}


def test_a_tokens_uses_are_shown_only_to_its_person(as_person, owner, operator):
    made = post(as_person(owner), "tokens/", name="bot").json()
    sending(made["secret"], "report.py").get("/api/v1/me/")

    assert listed_uses(as_person(owner), f"tokens/{made['id']}/")[0] == [
        ("198.51.100.7", "report.py")
    ]
    assert as_person(operator).get(f"/api/v1/tokens/{made['id']}/uses/").status_code == 404


def test_a_use_is_recorded_once_a_minute_per_place(key):
    for _ in range(3):
        post(sending(key["secret"]), "runs/", name="a", key="the same")

    assert SecretUse.objects.filter(run=None).count() == 1


def test_a_changing_user_agent_does_not_fill_the_table(project):
    key = accounts.mint_agent_key(project=project, name="k", at=NOON).row
    for n in range(noted.MAX_PLACES + 50):
        use = Usage(secret=AgentKey, id=key.id, address="203.0.113.9", program=f"p{n}")
        noted.record_usage(use, at=NOON)

    assert SecretUse.objects.count() == noted.MAX_PLACES + 1
    assert {"address": "", "program": ""}.items() <= noted.usage_by_place(key)[0].items()


# --- one project's token --------------------------------------------------------


def test_a_token_of_one_project_opens_no_other(as_person, owner, project):
    other = a_project("other")
    both = a_person("both", project, "owner")
    other.membership_set.create(user=both, role="owner")
    asked = {"name": "bot", "scope": "write", "project": str(project.id)}
    secret = post(as_person(both), "tokens/", **asked).json()["secret"]

    seen = [row["id"] for row in sending(secret).get("/api/v1/projects/").json()["results"]]
    assert seen == [str(project.id)]
    assert sending(secret).get(f"/api/v1/projects/{other.id}/").status_code == 404
    changed = sending(secret).patch(
        f"/api/v1/projects/{other.id}/", {"mode": "warn"}, format="json"
    )
    assert changed.status_code == 404


def test_a_token_for_a_project_one_does_not_belong_to_is_refused(as_person, owner):
    asked = {"name": "bot", "project": str(a_project("foreign").id)}

    assert post(as_person(owner), "tokens/", **asked).status_code == 404
    assert not PersonalToken.objects.exists()
