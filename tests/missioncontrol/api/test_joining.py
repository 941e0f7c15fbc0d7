"""The page of an invitation, with and without an account."""

import json
import logging
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from missioncontrol.accounts.models import Browser, Invitation, Membership, Project
from missioncontrol.clock import now
from missioncontrol.projects import members
from missioncontrol.runs.models import JournalRow
from tests.build import NOON, a_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def invited(project, owner):
    """Invite somebody; returns the secret of the link."""

    def make(role="operator", life=timedelta(days=7), at=None):
        at = at or now()
        made = members.invite(
            project.id, role=role, note="Bea", by=owner, at=at, expires_at=at + life
        )
        return made.secret

    return make


def look(client, secret, **headers):
    return client.post("/join", {"invitation": secret}, headers=headers)


def accept(client, secret, name="Bea"):
    return client.post("/join", {"invitation": secret, "accept": "yes", "name": name})


def role_of(name):
    return Membership.objects.get(user__username=name).role


def test_the_page_asks_for_a_link_and_shows_nothing(client, invited):
    response = client.get("/join")

    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    assert b"payments" not in response.content


def test_the_page_shows_who_invites_to_which_project(client, invited):
    page = look(client, invited()).content.decode()

    assert "ana invites you to payments" in page
    assert "Operator" in page
    assert not User.objects.filter(username="Bea").exists()


def test_the_whole_link_may_be_pasted(client, invited):
    pasted = f" https://control.example.com/join#{invited()} "

    assert b"invites you" in look(client, pasted).content


def test_the_page_is_available_in_german(client, invited):
    response = look(client, invited(), **{"accept-language": "de-AT,de;q=0.9,en;q=0.8"})

    assert '<html lang="de">' in response.content.decode()
    assert "ana lädt zu payments ein" in response.content.decode()


def test_a_person_without_an_account_gets_one_and_a_session(client, invited):
    response = accept(client, invited("viewer"))

    assert (response.status_code, response["Location"]) == (302, "/")
    me = client.get("/api/v1/me/").json()
    assert me["user"]["name"] == "Bea"
    assert [(one["name"], one["role"]) for one in me["projects"]] == [("payments", "viewer")]
    assert not User.objects.get(username="Bea").has_usable_password()
    assert Browser.objects.get().user.username == "Bea"
    row = JournalRow.objects.order_by("-id")[0]
    assert (row.by, json.loads(row.payload)["what"]) == (
        "Bea",
        "joined as viewer, invited by “ana”",
    )


def test_an_invitation_works_once(client, invited):
    secret = invited()
    accept(client, secret)

    again = accept(Client(), secret, name="Cem")

    assert again.status_code == 410
    assert not User.objects.filter(username="Cem").exists()
    assert Invitation.objects.get().used_by.username == "Bea"


def test_an_expired_revoked_or_unknown_invitation_says_so(client, invited):
    revoked = invited()
    Invitation.objects.update(revoked_at=now())
    old = invited(at=now() - timedelta(days=8))

    for secret in (revoked, old, "nonsense", ""):
        assert look(client, secret).status_code == 410
        assert accept(client, secret).status_code == 410
    assert not User.objects.filter(username="Bea").exists()


def test_nobody_joins_an_archived_project(client, invited):
    secret = invited()
    Project.objects.update(archived_at=now())

    assert accept(client, secret).status_code == 410


@pytest.mark.parametrize("name", ["", "ANA", "guard", "x" * 61])
def test_a_refused_name_does_not_use_up_the_invitation(name, client, invited):
    secret = invited()

    refused = accept(client, secret, name=name)

    assert refused.status_code == 400
    assert b"Choose another" in refused.content
    assert accept(client, secret).status_code == 302


def test_a_signed_in_person_joins_with_their_own_account(client, invited):
    client.force_login(a_person("dee"))
    secret = invited("operator")

    assert b"signed in as dee" in look(client, secret).content
    assert accept(client, secret, name="ignored")["Location"] == "/"

    assert role_of("dee") == "operator"
    assert not User.objects.filter(username="ignored").exists()


def test_a_member_does_not_use_up_an_invitation(client, invited, viewer):
    client.force_login(viewer)
    secret = invited("owner")

    assert accept(client, secret).status_code == 409

    assert role_of("vic") == "viewer"
    assert Invitation.objects.get().used_at is None


def test_another_site_cannot_accept_for_somebody(invited):
    strict = Client(enforce_csrf_checks=True)

    assert accept(strict, invited()).status_code == 403
    assert not User.objects.filter(username="Bea").exists()


def test_the_page_runs_only_scripts_with_a_nonce_and_escapes_texts(client, invited, owner, project):
    Project.objects.update(name="<script>alert(1)</script>")

    response = look(client, invited())

    assert b"<script>alert(1)" not in response.content
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_neither_logs_nor_addresses_contain_the_secret(client, invited, caplog):
    secret = invited()
    with caplog.at_level(logging.DEBUG):
        look(client, secret)
        response = accept(client, secret)
        look(client, secret)

    assert secret not in caplog.text
    assert secret not in response["Location"]
    assert secret not in str(list(JournalRow.objects.values()))


def test_invitation_attempts_are_rate_limited(client, monkeypatch):
    # At one moment: a try is given back every two seconds, and a busy machine takes longer.
    monkeypatch.setattr("missioncontrol.api.views.sign_in_links.now", lambda: NOON)
    answers = [look(client, "wrong").status_code for _ in range(31)]

    assert answers == [410] * 30 + [429]
