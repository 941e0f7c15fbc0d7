"""A person's sign-in methods: set up, shown, removed; a fresh proof before lasting changes."""

import json

import pytest
from django.test import Client

from missioncontrol.accounts import credentials
from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import Membership
from missioncontrol.accounts.rate_limits import FREE_ATTEMPTS
from missioncontrol.clock import now
from missioncontrol.projects import members
from missioncontrol.runs.models import JournalRow
from tests.build import a_person
from tests.missioncontrol.accounts.credentials import (
    A_PASSWORD,
    EVERY_WAY,
    code_of,
    is_signed_in,
    signed_in_long_ago,
    type_password,
    with_app,
    with_password,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def every_way(settings, monkeypatch):
    settings.SIGN_IN = EVERY_WAY


@pytest.fixture
def ana(owner):
    """A browser in which the owner has come in by a link just now."""
    return signed_in(owner)


def signed_in(user):
    client = Client()
    link = accounts.mint_login_link(user=user, at=now())
    client.post(f"/login/{link.secret}/")
    return client


def send(client, verb, path, body=None, **headers):
    return client.generic(
        verb,
        f"/api/v1/{path}",
        json.dumps(body or {}),
        content_type="application/json",
        headers=headers,
    )


def mine(client):
    return client.get("/api/v1/account/").json()


def set_up_app(client):
    secret = send(client, "POST", "account/app/begin/").json()["secret"]
    return secret, send(client, "POST", "account/app/", {"code": code_of(secret)})


def audit_lines(project):
    rows = JournalRow.objects.filter(project=project, run=None).order_by("seq")
    return [json.loads(row.payload).get("what") for row in rows]


def test_without_sign_in_methods_there_is_nothing_to_set_up(ana, settings):
    settings.SIGN_IN = frozenset()

    assert mine(ana)["offered"] == []
    assert send(ana, "POST", "account/app/begin/").status_code == 404


def test_a_new_password_signs_in(ana, project):
    assert send(ana, "POST", "account/password/", {"password": A_PASSWORD}).status_code == 204

    other = Client()
    type_password(other, "ana")

    assert is_signed_in(other)
    assert mine(ana)["ways"] == ["password"]
    assert "set a password; their other sessions ended" in audit_lines(project)


@pytest.mark.parametrize(
    ("password", "why"),
    [
        ("short", "password_too_short"),
        ("1q2w3e4r5t6y", "password_too_common"),
        ("x" * 201, "password_too_long"),
        ("ana-has-a-name", None),
    ],
)
def test_a_password_that_is_guessed_easily_is_refused(password, why, ana):
    response = send(ana, "POST", "account/password/", {"password": password})

    assert response.status_code == (204 if why is None else 400)
    assert why is None or why in response.json()["why"]


def test_another_password_ends_the_other_sessions_and_not_this_one(ana, owner):
    other = signed_in(owner)

    send(ana, "POST", "account/password/", {"password": A_PASSWORD})

    assert is_signed_in(ana)
    assert ana.get("/api/v1/me/").status_code == 200
    assert other.get("/api/v1/me/").status_code in {401, 403}


def test_an_app_is_set_up_by_its_first_code_and_brings_recovery_codes(ana, project):
    _, response = set_up_app(ana)

    assert response.status_code == 201
    assert len(set(response.json()["codes"])) == 10
    assert (mine(ana)["has_app"], mine(ana)["recovery_codes"]) == (True, 10)
    assert "set up an authenticator app" in audit_lines(project)


def test_a_wrong_first_code_sets_nothing_up(ana):
    send(ana, "POST", "account/app/begin/")

    assert send(ana, "POST", "account/app/", {"code": "000000"}).status_code == 400
    assert not mine(ana)["has_app"]


def test_the_pending_app_secret_is_sealed_in_the_session(ana):
    secret = send(ana, "POST", "account/app/begin/").json()["secret"]

    assert secret not in json.dumps(dict(ana.session.items()))


def test_each_change_of_a_factor_renews_the_session_key(ana):
    before = ana.session.session_key

    set_up_app(ana)

    assert ana.session.session_key != before
    assert is_signed_in(ana)


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("POST", "account/password/", {"password": A_PASSWORD}),
        ("POST", "account/recovery-codes/", {}),
        ("DELETE", "account/app/", {}),
        ("DELETE", "account/identity/", {}),
        ("POST", "account/again/", {"password": A_PASSWORD}),
    ],
)
def test_each_change_of_a_sign_in_method_renews_the_session_key_and_ends_the_old_one(
    verb, path, body, ana, owner
):
    with_app(owner)
    if path == "account/again/":
        with_password(owner)
        ana.force_login(owner)
    former = ana.session.session_key

    assert send(ana, verb, path, body).status_code < 300

    assert ana.session.session_key != former
    assert ana.get("/api/v1/me/").status_code == 200
    assert Client(headers={"Cookie": f"mc_session={former}"}).get("/api/v1/me/").status_code == 401


def test_with_the_last_factor_the_recovery_codes_go(ana):
    set_up_app(ana)

    assert send(ana, "DELETE", "account/app/").status_code == 204
    assert (mine(ana)["has_app"], mine(ana)["recovery_codes"]) == (False, 0)


def test_new_recovery_codes_invalidate_the_old(ana, owner):
    _, response = set_up_app(ana)

    fresh = send(ana, "POST", "account/recovery-codes/").json()["codes"]

    assert credentials.verify_code(owner, response.json()["codes"][0]) is None
    assert credentials.verify_code(owner, fresh[0]) is not None


def test_without_a_factor_there_are_no_recovery_codes(ana):
    assert send(ana, "POST", "account/recovery-codes/").status_code == 403


def test_a_token_cannot_change_sign_in_methods(owner):
    token = accounts.mint_personal_token(user=owner, name="script", at=now()).secret

    response = send(Client(), "POST", "account/app/begin/", None, Authorization=f"Bearer {token}")

    assert response.status_code == 403


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("POST", "projects/{project}/keys/", {"name": "k"}),
        ("POST", "tokens/", {"name": "t"}),
        ("POST", "setup-codes/", {}),
        ("POST", "projects/{project}/invitations/", {"role": "viewer"}),
        ("PATCH", "projects/{project}/members/{other}/", {"role": "viewer"}),
        ("DELETE", "projects/{project}/members/{other}/", {}),
        (
            "POST",
            "channels/",
            {"kind": "webhook", "name": "n", "address": "https://example.com/hook"},
        ),
        ("PATCH", "projects/{project}/", {"second_factor": True}),
        ("GET", "projects/{project}/controller-secret/", {}),
        ("POST", "account/password/", {"password": A_PASSWORD}),
        ("POST", "account/app/begin/", {}),
        ("DELETE", "account/app/", {}),
        ("POST", "account/passkeys/begin/", {}),
        ("POST", "account/recovery-codes/", {}),
        ("PATCH", "devices/reach/", {"is_open": True}),
        ("PATCH", "instance/budget/", {"day_usd": "100"}),
    ],
)
def test_an_older_session_needs_a_fresh_proof(
    verb, path, body, ana, owner, operator, project, settings, tmp_path
):
    settings.IS_SUPERVISED, settings.PHONE_URL, settings.DATA_DIR = True, "", tmp_path
    with_password(owner)
    type_password(ana, "ana")
    with_app(owner)
    signed_in_long_ago(ana)
    path = path.format(project=project.id, other=operator.pk)

    refused = send(ana, verb, path, body)
    proved = send(ana, "POST", "account/again/", {"password": A_PASSWORD})

    assert refused.status_code == 403
    assert (refused.json()["code"], refused.json()["ways"]) == (
        "sign_in_again",
        ["password", "code"],
    )
    assert proved.status_code == 204
    assert send(ana, verb, path, body).status_code < 300


def test_a_person_with_only_links_needs_no_proof(ana):
    signed_in_long_ago(ana)

    assert send(ana, "POST", "tokens/", {"name": "t"}).status_code == 201


def test_a_code_is_a_proof_and_renews_the_session_key(ana, owner):
    secret = with_app(owner)
    signed_in_long_ago(ana)
    before = ana.session.session_key

    assert send(ana, "POST", "account/again/", {"code": code_of(secret)}).status_code == 204
    assert ana.session.session_key != before
    assert send(ana, "POST", "tokens/", {"name": "t"}).status_code == 201


@pytest.mark.parametrize(
    "proof", [{"password": "wrong"}, {"code": "000000"}, {"credential": {}}, {}]
)
def test_a_wrong_credential_proves_nothing(proof, ana, owner):
    with_password(owner)
    type_password(ana, "ana")
    signed_in_long_ago(ana)

    assert send(ana, "POST", "account/again/", proof).status_code == 403
    assert send(ana, "POST", "tokens/", {"name": "t"}).status_code == 403


def test_proof_attempts_are_limited(ana):
    for _ in range(FREE_ATTEMPTS):
        send(ana, "POST", "account/again/", {"password": "wrong"})

    assert send(ana, "POST", "account/again/", {"password": "wrong"}).status_code == 429


def test_an_owner_without_a_second_factor_asks_nobody_for_one(ana, project):
    assert send(ana, "PATCH", f"projects/{project.id}/", {"second_factor": True}).status_code == 403


@pytest.fixture
def strict_project(ana, project):
    """The owner has a second factor and asks everybody for one."""
    set_up_app(ana)
    assert send(ana, "PATCH", f"projects/{project.id}/", {"second_factor": True}).status_code == 200
    return project


def test_a_member_without_a_second_factor_can_only_set_one_up(strict_project, operator):
    olu = signed_in(operator)

    me = olu.get("/api/v1/me/").json()
    named = olu.get(f"/api/v1/projects/{strict_project.id}/members/")

    assert (me["projects"], me["closed"]) == ([], [strict_project.name])
    assert (named.status_code, named.json()["code"]) == (403, "second_factor_needed")
    assert olu.get("/api/v1/runs/").json()["results"] == []
    set_up_app(olu)
    assert len(olu.get("/api/v1/me/").json()["projects"]) == 1


def test_a_token_is_shut_out_with_its_person(strict_project, operator):
    token = accounts.mint_personal_token(user=operator, name="script", at=now()).secret

    response = send(
        Client(),
        "GET",
        f"projects/{strict_project.id}/members/",
        None,
        Authorization=f"Bearer {token}",
    )

    assert response.status_code == 403


def test_a_stranger_learns_nothing_of_the_second_factor_rule(strict_project, stranger):
    response = signed_in(stranger).get(f"/api/v1/projects/{strict_project.id}/members/")

    assert response.status_code == 404


def test_requiring_a_second_factor_is_recorded(strict_project, ana):
    rows = JournalRow.objects.filter(project=strict_project, run=None)
    changed = [json.loads(row.payload) for row in rows if "second_factor" in row.payload]

    assert len(changed) == 1


def test_an_owner_who_removes_somebody_keeps_them_out_of_joining_rules(project, owner):
    member = a_person("max", project, "viewer")

    members.remove_member(project.id, member.pk, by=owner, at=now())

    assert project.kept_out.filter(pk=member.pk).exists()
    assert not Membership.objects.filter(user=member).exists()
