"""Members are listed, given other roles, removed; invitations are made, listed, revoked."""

import json
from datetime import datetime, timedelta

import pytest
from rest_framework.test import APIClient

from missioncontrol.accounts import services
from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import Invitation, Membership, Scope, SetupCode
from missioncontrol.clock import now
from missioncontrol.errors import Forbidden
from missioncontrol.projects import members
from missioncontrol.runs.models import JournalRow
from tests.build import NOON, a_person, a_project, a_stuck_run

pytestmark = pytest.mark.django_db


def path_of(project, what="members", one=""):
    return f"/api/v1/projects/{project.id}/{what}/{one}{'/' if one else ''}"


def listed(client, project, what="members"):
    return client.get(path_of(project, what)).json()["results"]


def change(client, project, user, role):
    return client.patch(path_of(project, one=user.pk), {"role": role}, format="json")


def remove(client, project, user):
    return client.delete(path_of(project, one=user.pk))


def invite(client, project, **fields):
    fields.setdefault("role", "viewer")
    return client.post(path_of(project, "invitations"), fields, format="json")


def recorded_changes():
    rows = JournalRow.objects.filter(type="access.changed").order_by("id")
    return [(row.by, json.loads(row.payload)["what"]) for row in rows]


def sending(secret):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


# --- members --------------------------------------------------------------------


@pytest.mark.parametrize("who", ["owner", "operator", "viewer"])
def test_every_member_sees_the_members(who, as_person, owner, operator, viewer, project, request):
    rows = listed(as_person(request.getfixturevalue(who)), project)

    assert [(row["name"], row["role"]) for row in rows] == [
        ("ana", "owner"),
        ("olu", "operator"),
        ("vic", "viewer"),
    ]
    assert [row["role"] for row in rows if row["is_you"]] == [who]


def test_a_new_role_applies_from_the_next_request(as_person, owner, viewer, project):
    run = a_stuck_run(project)
    them = as_person(viewer)
    tap = {"key": "k", "action": "terminate"}
    assert them.post(f"/api/v1/runs/{run.id}/interventions/", tap, "json").status_code == 403

    assert change(as_person(owner), project, viewer, "operator").json()["role"] == "operator"

    assert them.post(f"/api/v1/runs/{run.id}/interventions/", tap, "json").status_code == 201
    assert recorded_changes() == [("ana", "changed “vic” from viewer to operator")]


def test_setting_the_same_role_again_records_nothing(as_person, owner, viewer, project):
    change(as_person(owner), project, viewer, "viewer")

    assert recorded_changes() == []


def test_a_removed_member_finds_nothing(as_person, owner, operator, project):
    them = as_person(operator)
    token = accounts.mint_personal_token(user=operator, name="t", at=NOON, scope=Scope.WRITE)

    assert remove(as_person(owner), project, operator).status_code == 204

    for client in (them, sending(token.secret)):
        assert client.get("/api/v1/me/").json()["projects"] == []
        assert client.get(f"/api/v1/projects/{project.id}/").status_code == 404
        assert client.get(path_of(project)).status_code == 404
    assert recorded_changes() == [("ana", "removed “olu”, operator")]


@pytest.mark.parametrize("who", ["operator", "viewer"])
def test_any_member_may_leave(who, as_person, project, owner, request):
    user = request.getfixturevalue(who)

    assert remove(as_person(user), project, user).status_code == 204

    assert not Membership.objects.filter(user=user).exists()
    assert recorded_changes() == [(user.username, f"left as {who}")]


def test_the_last_owner_stays(as_person, owner, operator, project):
    client = as_person(owner)

    refusals = [remove(client, project, owner), change(client, project, owner, "viewer")]

    assert [(one.status_code, one.json()["code"]) for one in refusals] == [(409, "last_owner")] * 2
    change(client, project, operator, "owner")
    assert change(client, project, owner, "viewer").status_code == 200


@pytest.mark.parametrize("who", ["operator", "viewer"])
def test_only_an_owner_changes_others(who, as_person, owner, operator, viewer, project, request):
    them = as_person(request.getfixturevalue(who))

    assert change(them, project, owner, "viewer").status_code == 403
    assert change(them, project, request.getfixturevalue(who), "owner").status_code == 403
    assert remove(them, project, owner).status_code == 403


def test_a_member_of_another_project_is_not_found_here(as_person, owner, project, stranger):
    assert change(as_person(owner), project, stranger, "owner").status_code == 404
    assert remove(as_person(owner), project, stranger).status_code == 404
    assert remove(as_person(stranger), project, stranger).status_code == 404


def test_a_token_neither_changes_nor_removes_nor_invites(owner, viewer, project):
    leaked = sending(accounts.mint_personal_token(user=owner, name="t", at=NOON).secret)

    assert change(leaked, project, viewer, "owner").status_code == 403
    assert remove(leaked, project, viewer).status_code == 403
    assert invite(leaked, project).status_code == 403


def test_a_former_owners_invitations_and_set_up_codes_are_revoked(as_person, owner, project):
    bea = a_person("bea", project, "owner")
    invite(as_person(bea), project)
    services.create_setup_code(project, by="bea", at=now())
    kept = invite(as_person(owner), project).json()["id"]

    change(as_person(owner), project, bea, "operator")

    open_now = Invitation.objects.filter(revoked_at=None)
    assert [str(one.id) for one in open_now] == [kept]
    assert not SetupCode.objects.exists()


def test_a_new_name_keeps_no_set_up_code_alive(as_person, owner, project):
    bea = a_person("bea", project, "owner")
    services.create_setup_code(project, by="bea", at=now())
    members.rename_person(bea, "Beatrice", at=now())

    assert remove(as_person(owner), project, bea).status_code == 204

    assert not SetupCode.objects.exists()


def test_an_owner_demoted_meanwhile_invites_nobody(project, operator):
    with pytest.raises(Forbidden):
        members.invite(
            project.id,
            role="owner",
            note="",
            by=operator,
            at=now(),
            expires_at=now() + timedelta(days=1),
        )

    assert not Invitation.objects.exists()


def test_an_owner_demoted_meanwhile_changes_and_removes_nobody(project, operator):
    """The request was let in; the other owner's deed was first at the project's row."""
    owner = a_person("bea", project, "owner")

    with pytest.raises(Forbidden):
        members.change_role(project.id, owner.pk, "viewer", by=operator, at=NOON)
    with pytest.raises(Forbidden):
        members.remove_member(project.id, owner.pk, by=operator, at=NOON)

    members.remove_member(project.id, operator.pk, by=operator, at=NOON)
    assert recorded_changes() == [("olu", "left as operator")]


# --- names ----------------------------------------------------------------------


def test_a_person_says_what_they_are_called(as_person, owner, project):
    client = as_person(owner)

    response = client.patch("/api/v1/me/", {"name": " Ana  María "}, format="json")

    assert (
        response.json()["name"] == client.get("/api/v1/me/").json()["user"]["name"] == "Ana María"
    )
    assert recorded_changes() == [("ana", "is called “Ana María” from now on")]


@pytest.mark.parametrize("name", ["vic", "VIC", "guard", "you", "", "x" * 61, "a\u202eb", "\u2009"])
def test_a_name_cannot_imitate_another_or_hide_characters(name, as_person, owner, viewer):
    assert as_person(owner).patch("/api/v1/me/", {"name": name}, format="json").status_code == 400
    owner.refresh_from_db()
    assert owner.first_name == ""


# --- invitations ----------------------------------------------------------------


def test_an_invitation_is_shown_once_and_stored_as_a_hash(as_person, owner, project):
    client = as_person(owner)

    made = invite(client, project, role="operator", note="Bea")

    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    address, secret = made.json()["url"].split("#")
    assert address.endswith("/join")
    assert secret not in str(list(Invitation.objects.values()))
    assert secret not in str(list(JournalRow.objects.values()))
    (row,) = listed(client, project, "invitations")
    assert (row["status"], row["role"], row["note"], row["invited_by"]) == (
        "open",
        "operator",
        "Bea",
        "ana",
    )
    assert "url" not in row
    assert recorded_changes() == [("ana", "invited “Bea” as operator")]


def test_an_invitation_link_uses_the_public_address(as_person, owner, project, settings):
    here = invite(as_person(owner), project).json()
    settings.PUBLIC_URL = "https://control.example.com"
    public = invite(as_person(owner), project).json()

    assert not here["is_local"]  # the tests' own host is no loopback name
    assert public["url"].startswith("https://control.example.com/join#")


def test_an_invitation_that_only_this_machine_can_open_says_so(as_person, owner, project):
    client = as_person(owner)
    client.defaults["HTTP_HOST"] = "127.0.0.1:8765"

    made = invite(client, project).json()

    assert made["is_local"]
    assert made["url"].startswith("http://127.0.0.1:8765/join#")


def test_revoking_an_invitation_is_recorded_once(as_person, owner, project):
    client = as_person(owner)
    made = invite(client, project).json()["id"]

    for _ in range(2):
        assert client.delete(path_of(project, "invitations", made)).status_code == 204

    assert listed(client, project, "invitations")[0]["status"] == "revoked"
    assert recorded_changes()[1:] == [("ana", "revoked the invitation somebody as viewer")]


@pytest.mark.parametrize("who", ["operator", "viewer"])
def test_only_an_owner_invites_and_sees_who_is_invited(who, as_person, project, request, owner):
    made = invite(as_person(owner), project).json()["id"]
    them = as_person(request.getfixturevalue(who))

    assert invite(them, project).status_code == 403
    assert them.get(path_of(project, "invitations")).status_code == 403
    assert them.delete(path_of(project, "invitations", made)).status_code == 403


def test_another_projects_invitation_cannot_be_revoked(as_person, owner, stranger, project):
    theirs = a_project("theirs")
    Membership.objects.create(project=theirs, user=stranger, role="owner")
    made = invite(as_person(stranger), theirs).json()["id"]

    assert as_person(owner).delete(path_of(project, "invitations", made)).status_code == 404


@pytest.mark.parametrize("days", [-1, 0, 31])
def test_an_invitation_is_valid_for_a_month_at_most(days, as_person, owner, project):
    expires_at = (now() + timedelta(days=days, seconds=-1 if days < 1 else 5)).isoformat()

    assert invite(as_person(owner), project, expires_at=expires_at).status_code == 400


def test_an_invitation_is_valid_for_a_day_by_default(as_person, owner, project):
    made = invite(as_person(owner), project).json()

    life = datetime.fromisoformat(made["expires_at"]) - now()
    assert timedelta(hours=23, minutes=59) < life <= timedelta(days=1)


def test_a_project_has_at_most_fifty_open_invitations(as_person, owner, project):
    for _ in range(members.MAX_INVITATIONS):
        members.invite(
            project.id,
            role="viewer",
            note="",
            by=owner,
            at=now(),
            expires_at=now() + timedelta(days=1),
        )

    assert invite(as_person(owner), project).status_code == 400


def test_inviting_is_rate_limited(as_person, owner, project):
    client = as_person(owner)

    answers = [invite(client, project).status_code for _ in range(21)]

    assert answers == [201] * 20 + [429]
