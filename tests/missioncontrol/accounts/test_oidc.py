"""Signing in by an identity provider: a real one, and one that says what it may not."""

import json
import socket
from contextlib import contextmanager

import jwt
import pytest
from django.contrib.auth.models import User
from django.test import Client

from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import Identity, Membership
from missioncontrol.clock import now
from missioncontrol.env import IdentityProvider, identity_provider
from missioncontrol.errors import SettingInvalid
from missioncontrol.projects import members, sign_in_methods
from missioncontrol.runs.models import JournalRow
from tests.build import a_project
from tests.missioncontrol.accounts.credentials import (
    code_of,
    is_signed_in,
    signed_in_long_ago,
    type_password,
    with_app,
    with_password,
)
from tests.provider import CLIENT, SECRET, a_forging_provider, a_key, a_provider, query_of

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def provider():
    with a_provider() as running:
        yield running


@pytest.fixture
def liar(settings):
    with a_forging_provider() as running:
        configure(settings, running.issuer)
        yield running


@pytest.fixture
def real(provider, settings):
    configure(settings, provider.issuer)
    return provider


def configure(settings, issuer):
    settings.SIGN_IN = frozenset({"oidc"})
    settings.OIDC = IdentityProvider(
        issuer=issuer, client=CLIENT, secret=SECRET, name="Example", groups_claim="groups"
    )


def rule(project, owner, by, value, role="viewer"):
    return sign_in_methods.add_joining_rule(
        project.id, by=by, value=value, role=role, owner=owner, at=now()
    )


def set_out(client, query=""):
    return client.get(f"/login/by/oidc{query}")["Location"]


@contextmanager
def a_provider_that(answers):
    """Yield an issuer behind which nobody listens, or somebody who knows no such thing."""
    if answers == "nothing":
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        return
    with a_forging_provider() as other:
        path = "/elsewhere" if answers == "no configuration" else ""
        if answers == "no address":
            other.configured = {"authorization_endpoint": None}
        yield f"{other.issuer}{path}"


def come_back(client, provider, subject, query=""):
    """Go there, agree as somebody, and come back with what they say."""
    return client.get(provider.agree(set_out(client, query), subject))


def lie(client, liar, query="", **came):
    """Come back from the one that lies, with the nonce it was told."""
    asked = query_of(set_out(client, query))
    liar.nonce = asked["nonce"]
    return client.get("/login/by/oidc/back", {"code": "c", "state": asked["state"], **came})


def the_record(project):
    rows = JournalRow.objects.filter(project=project, run=None).order_by("seq")
    return [json.loads(row.payload).get("what") for row in rows]


def test_a_verified_address_of_a_domain_joins_with_its_role(real, client, project, owner):
    rule(project, owner, "domain", "Example.com", "operator")
    real.knows("bea-1", name="Bea", email="bea@example.com", email_verified=True)

    response = come_back(client, real, "bea-1")

    assert (response.status_code, response["Location"]) == (302, "/")
    assert is_signed_in(client)
    member = Membership.objects.get(project=project, user__username="Bea")
    assert member.role == "operator"
    assert the_record(project)[-2:] == [
        "joined as operator by e-mail addresses at “example.com” as operator",
        "signed in “a browser” by the identity provider",
    ]


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "mal@example.com", "email_verified": False},
        {"email": "mal@example.com"},
        {"email": "mal@example.com", "email_verified": "true"},
        {"email": "mal@example.com.elsewhere.org", "email_verified": True},
        {"email": "mal@sub.example.com", "email_verified": True},
        {},
    ],
)
def test_an_address_that_is_not_verified_or_elsewhere_joins_nothing(
    claims, real, client, project, owner
):
    rule(project, owner, "domain", "example.com")
    real.knows("mal", **{"name": "Mal", "email": None, "email_verified": None, **claims})

    response = come_back(client, real, "mal")

    assert response.status_code == 403
    assert not is_signed_in(client)
    assert not User.objects.filter(username="Mal").exists()


def test_a_group_joins_and_of_two_rules_the_stronger_counts(real, client, project, owner):
    rule(project, owner, "group", "staff", "viewer")
    rule(project, owner, "group", "on-call", "operator")
    real.knows("cy", name="Cy", groups=["staff", "on-call"])

    come_back(client, real, "cy")

    assert Membership.objects.get(project=project, user__username="Cy").role == "operator"


def test_the_same_person_comes_again_under_the_same_account(real, client, project, owner):
    rule(project, owner, "group", "staff")
    real.knows("dee", name="Dee", groups=["staff"])
    come_back(client, real, "dee")

    real.knows("dee", name="Dee Renamed", groups=[])
    come_back(Client(), real, "dee")

    assert User.objects.filter(username__startswith="Dee").count() == 1
    assert Identity.objects.count() == 1


def test_a_name_that_is_taken_makes_no_way_into_its_account(real, client, project, owner):
    rule(project, owner, "group", "staff")
    real.knows("false-ana", name="ana", groups=["staff"])

    come_back(client, real, "false-ana")

    assert client.get("/api/v1/me/").json()["user"]["name"] == "ana 2"


def test_who_was_removed_does_not_come_back_by_a_rule_but_by_an_invitation(
    real, client, project, owner
):
    rule(project, owner, "group", "staff")
    rule(a_project("other"), owner, "group", "staff")
    real.knows("eve", name="Eve", groups=["staff"])
    come_back(client, real, "eve")
    eve = User.objects.get(username="Eve")
    members.remove_member(project.id, eve.pk, by=owner, at=now())

    come_back(Client(), real, "eve")

    assert not Membership.objects.filter(project=project, user=eve).exists()


def test_who_has_a_second_factor_is_asked_for_it(real, client, project, owner):
    rule(project, owner, "group", "staff")
    real.knows("fay", name="Fay", groups=["staff"])
    come_back(client, real, "fay")
    secret = with_app(User.objects.get(username="Fay"))
    other = Client()

    response = come_back(other, real, "fay")

    assert (response["Location"], is_signed_in(other)) == ("/login/by/second", False)
    other.post("/login/by/second", {"code": code_of(secret)})
    assert is_signed_in(other)


def test_who_refuses_there_is_not_signed_in_here(real, client):
    response = client.get(real.deny(set_out(client)))

    assert response.status_code == 403
    assert not is_signed_in(client)


@pytest.mark.parametrize("answers", ["nothing", "no configuration", "no address"])
def test_a_provider_that_is_away_is_said_to_be_and_other_ways_stay(
    answers, client, settings, owner
):
    with a_provider_that(answers) as issuer:
        configure(settings, issuer)
        settings.SIGN_IN = frozenset({"oidc", "password"})
        response = client.get("/login/by/oidc")

    assert response.status_code == 403
    assert "The answer of Example could not be used" in response.content.decode()
    with_password(owner)
    type_password(client, "ana")
    assert is_signed_in(client)


@pytest.mark.parametrize(
    ("named", "complaint"),
    [
        ({}, "MISSIONCONTROL_OIDC_ISSUER"),
        ({"ISSUER": "http://id.example.com"}, "MISSIONCONTROL_OIDC_ISSUER"),
        ({"ISSUER": "id.example.com"}, "MISSIONCONTROL_OIDC_ISSUER"),
        ({"ISSUER": "https://id.example.com"}, "MISSIONCONTROL_OIDC_CLIENT"),
    ],
)
def test_a_provider_that_is_named_by_halves_is_refused_at_the_start(named, complaint, monkeypatch):
    for name in ("ISSUER", "CLIENT"):
        monkeypatch.setenv(f"MISSIONCONTROL_OIDC_{name}", named.get(name, ""))

    with pytest.raises(SettingInvalid, match=complaint):
        identity_provider("MISSIONCONTROL_OIDC")


def test_a_code_is_taken_once(real, client, project, owner):
    rule(project, owner, "group", "staff")
    real.knows("gus", name="Gus", groups=["staff"])
    back = real.agree(set_out(client), "gus")
    client.get(back)
    client.post("/logout/")

    client.get(back)

    assert not is_signed_in(client)


def test_another_browser_cannot_take_what_came_back(real, client, project, owner):
    rule(project, owner, "group", "staff")
    real.knows("hal", name="Hal", groups=["staff"])
    back = real.agree(set_out(client), "hal")
    victim = Client()
    set_out(victim)

    victim.get(back)

    assert not is_signed_in(victim)


def test_it_is_asked_with_pkce_state_and_nonce(real, client):
    asked = query_of(set_out(client))

    assert asked["code_challenge_method"] == "S256"
    assert all(len(asked[name]) >= 43 for name in ("state", "nonce", "code_challenge"))


def connected(real, owner, subject):
    client = Client()
    link = accounts.mint_login_link(user=owner, at=now())
    client.post(f"/login/{link.secret}/")
    real.knows(subject, name="Ana", email=f"{subject}@example.com", email_verified=True)
    come_back(client, real, subject, "?for=connect")
    return client


def test_who_is_signed_in_connects_their_account_and_comes_in_by_it(real, owner):
    connected(real, owner, "ana-there")
    other = Client()

    come_back(other, real, "ana-there")

    assert other.get("/api/v1/account/").json()["identity"] == "ana-there@example.com"
    assert other.get("/api/v1/me/").json()["user"]["name"] == "ana"


def test_nobody_connects_what_is_somebody_elses(real, owner, operator):
    connected(real, owner, "ana-there")

    connected(real, operator, "ana-there")

    assert Identity.objects.get(subject="ana-there").user == owner


def test_who_comes_by_it_proves_it_is_them_by_it(real, owner):
    client = connected(real, owner, "ana-again")
    signed_in_long_ago(client)
    refused = client.post("/api/v1/tokens/", {"name": "t"}, content_type="application/json")

    response = come_back(client, real, "ana-again", "?for=again&to=/settings/keys")

    assert (refused.status_code, refused.json()["ways"]) == (403, ["oidc"])
    assert response["Location"] == "/settings/keys"
    made = client.post("/api/v1/tokens/", {"name": "t"}, content_type="application/json")
    assert made.status_code == 201


def test_who_proves_it_by_it_goes_on_under_another_session_key(real, owner):
    client = connected(real, owner, "ana-key")
    signed_in_long_ago(client)
    before = client.session.session_key

    come_back(client, real, "ana-key", "?for=again")

    assert client.session.session_key != before
    assert is_signed_in(client)


def test_nobody_else_proves_it_for_them(real, owner):
    client = connected(real, owner, "ana-once")
    signed_in_long_ago(client)
    real.knows("somebody-else", name="X")

    assert come_back(client, real, "somebody-else", "?for=again").status_code == 403
    refused = client.post("/api/v1/tokens/", {"name": "t"}, content_type="application/json")
    assert refused.status_code == 403


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/\\evil.example", "x"])
def test_nobody_is_led_elsewhere_afterwards(to, real, owner):
    client = connected(real, owner, "ana-led")
    signed_in_long_ago(client)

    assert come_back(client, real, "ana-led", f"?for=again&to={to}")["Location"] == "/"


def test_what_is_right_is_taken_from_the_one_that_lies_too(liar, client, project, owner):
    """Else none of what follows would show anything."""
    rule(project, owner, "group", "staff")
    liar.overrides = {"groups": ["staff"], "name": "Ida"}

    lie(client, liar)

    assert is_signed_in(client)
    assert liar.forms[-1]["client_secret"] == [SECRET]


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"iss": "https://elsewhere.example"},
        {"iss": None},
        {"aud": "another-client"},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"aud": None},
        {"exp": 1_000_000_000},
        {"exp": None},
        {"iat": 4_000_000_000},
        {"sub": None},
    ],
)
def test_an_id_token_that_says_what_it_may_not_is_refused(claims, liar, client, project, owner):
    rule(project, owner, "group", "staff")
    liar.overrides = {"groups": ["staff"], "name": "Mal", **claims}

    response = lie(client, liar)

    assert response.status_code == 403
    assert not is_signed_in(client)
    assert not User.objects.filter(username="Mal").exists()


@pytest.mark.parametrize("forged", ["unsigned", "by our secret", "by another key", "no token"])
def test_an_id_token_that_the_provider_did_not_sign_is_refused(
    forged, liar, client, project, owner
):
    rule(project, owner, "group", "staff")
    liar.overrides = {"groups": ["staff"], "name": "Mal"}
    with a_forging_provider() as other:
        other.key = a_key(1)
        liar.sign = {
            "unsigned": lambda claims: jwt.encode(claims, "", algorithm="none"),
            "by our secret": lambda claims: jwt.encode(claims, SECRET * 2, algorithm="HS256"),
            "by another key": other.signed,
            "no token": lambda _: "no.to.ken",
        }[forged]

        response = lie(client, liar)

    assert response.status_code == 403
    assert not is_signed_in(client)


@pytest.mark.parametrize(
    ("query", "configured", "userinfo"),
    [
        ({"iss": "https://elsewhere.example"}, {}, {}),
        ({"state": "another"}, {}, {}),
        ({}, {"issuer": "https://elsewhere.example"}, {}),
        ({}, {"token_endpoint": "http://192.0.2.1/token"}, {}),
        ({}, {"token_endpoint": None}, {}),
        ({}, {"jwks_uri": "https://10.0.0.1/jwks"}, {}),
        ({}, {}, {"sub": "somebody-else"}),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(
    query, configured, userinfo, liar, client, project, owner
):
    rule(project, owner, "group", "staff")
    liar.overrides = {"groups": ["staff"], "name": "Mal"}
    asked = query_of(set_out(client))
    liar.nonce, liar.configured, liar.userinfo = asked["nonce"], configured, userinfo

    response = client.get("/login/by/oidc/back", {"code": "c", "state": asked["state"], **query})

    assert response.status_code == 403
    assert not is_signed_in(client)


def test_who_did_not_sign_in_anew_there_proves_nothing(liar, owner):
    client = Client()
    link = accounts.mint_login_link(user=owner, at=now())
    client.post(f"/login/{link.secret}/")
    lie(client, liar, "?for=connect")
    signed_in_long_ago(client)
    liar.overrides = {"auth_time": 1_000_000_000}

    assert lie(client, liar, "?for=again").status_code == 403


@pytest.mark.parametrize(
    ("by", "value", "role"),
    [
        ("domain", "nodots", "viewer"),
        ("domain", "a b.com", "viewer"),
        ("domain", "me@example.com", "viewer"),
        ("group", "", "viewer"),
        ("group", "staff", "owner"),
    ],
)
def test_a_rule_that_cannot_be_kept_is_refused(by, value, role, as_person, owner, project, real):
    response = as_person(owner).post(
        f"/api/v1/projects/{project.id}/joining-rules/",
        {"by": by, "value": value, "role": role},
        format="json",
    )

    assert response.status_code == 400


def test_a_rule_is_made_listed_and_removed_on_the_record(as_person, owner, project, real):
    ana, path = as_person(owner), f"/api/v1/projects/{project.id}/joining-rules/"

    made = ana.post(path, {"by": "domain", "value": "@Example.com"}, format="json").json()
    listed = ana.get(path).json()["results"]
    ana.delete(f"{path}{made['id']}/")

    assert [one["value"] for one in listed] == ["example.com"]
    assert ana.get(path).json()["results"] == []
    assert the_record(project) == [
        "lets in e-mail addresses at “example.com” as viewer",
        "no longer lets in e-mail addresses at “example.com” as viewer",
    ]
