"""Set-up codes: short-lived, exchanged once for an agent key, stored as a hash."""

from datetime import timedelta
from ipaddress import ip_network

import pytest
from rest_framework.test import APIClient

from missioncontrol.accounts.models import AgentKey, SetupCode
from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.api.views import access
from missioncontrol.clock import now
from tests.installations import ROOT

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def strict_limits(monkeypatch):
    monkeypatch.setattr(access, "CODE_OFFER_LIMIT", RateLimit("offers", per_caller=5, total=5))
    monkeypatch.setattr(access, "CODE_EXCHANGE_LIMIT", RateLimit("tries", per_caller=5, total=5))


def offer(client):
    return client.post("/api/v1/setup-codes/", {}, format="json")


def exchange(code, **environ):
    body = {"code": code, "name": "codex on desk", "on": "desk"}
    return APIClient().post("/api/v1/setup-codes/exchange/", body, format="json", **environ)


def test_a_code_is_exchanged_once_for_a_key_that_opens_runs(as_person, owner, project):
    offered = offer(as_person(owner)).json()

    first, second = exchange(offered["code"]), exchange(offered["code"])

    assert (first.status_code, second.status_code) == (201, 403)
    assert first.json()["project"] == str(project.id)
    agent = APIClient()
    agent.credentials(HTTP_AUTHORIZATION=f"Bearer {first.json()['key']}")
    assert agent.post("/api/v1/runs/", {"name": "a"}, format="json").status_code == 201


def test_a_code_is_stored_as_a_hash_and_its_key_names_who_offered_it(as_person, owner):
    offered = offer(as_person(owner)).json()
    exchange(offered["code"])

    assert offered["code"] not in str(list(SetupCode.objects.values()))
    assert AgentKey.objects.filter(name="codex on desk", created_by="ana").exists()


def test_a_code_expires_after_ten_minutes(as_person, owner):
    offered = offer(as_person(owner)).json()
    SetupCode.objects.update(expires_at=now() - timedelta(seconds=1))

    assert exchange(offered["code"]).status_code == 403
    assert AgentKey.objects.filter(name="codex on desk").count() == 0


def test_the_board_learns_when_and_where_its_code_was_used(as_person, owner):
    client = as_person(owner)
    offered = offer(client).json()
    exchange(offered["code"].lower().replace("-", " "))

    body = client.get(f"/api/v1/setup-codes/{offered['id']}/").json()

    assert body["used_at"] is not None
    assert body["used_on"] == "desk"
    assert "code" not in body


def test_the_command_has_the_absolute_path_of_this_installations_guard(as_person, owner):
    assert offer(as_person(owner)).json()["guard"].startswith("/")


def test_an_agents_environment_gets_the_guard_that_serves_here(as_person, owner):
    assert offer(as_person(owner)).json()["install"] == f"pip install {ROOT / 'guard'}"


def test_only_an_owner_offers_codes(as_person, operator, viewer):
    assert [offer(as_person(who)).status_code for who in (operator, viewer)] == [403, 403]


def test_code_exchange_attempts_are_limited():
    answers = [exchange("2345-6789-ABCD").status_code for _ in range(6)]

    assert answers == [403] * 5 + [429]


def test_behind_a_trusted_proxy_one_strangers_attempts_block_nobody_else(settings, monkeypatch):
    monkeypatch.setattr(access, "CODE_EXCHANGE_LIMIT", RateLimit("tries", per_caller=5, total=50))
    settings.TRUSTED_PROXIES = [ip_network("127.0.0.1")]

    def tried(by):
        return exchange("2345-6789-ABCD", HTTP_X_FORWARDED_FOR=by).status_code

    assert [tried(by="203.0.113.7") for _ in range(6)][-1] == 429
    assert tried(by="203.0.113.8") == 403
