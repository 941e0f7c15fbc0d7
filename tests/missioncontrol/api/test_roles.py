"""Every write by every role, every read and every page: who may, and nobody else.

A route that stands in no table here fails the first test: somebody has to say whose it is.
"""

from __future__ import annotations

import pytest

from missioncontrol import asgi, live
from missioncontrol.accounts.models import Project
from missioncontrol.api.views import sign_in_methods
from missioncontrol.urls import urlpatterns
from tests.build import NOON
from tests.missioncontrol.api.test_every_address import (
    EVERY,
    WRITES,
    ask,
    every_way,
    house,
    operator,
    owner,
    project,
    standing,
    text_of,
    viewer,
)

__all__ = ["ask", "every_way", "house", "operator", "owner", "project", "standing", "viewer"]

pytestmark = pytest.mark.django_db

ANYBODYS = {
    ("patch", "me/"),
    ("post", "tokens/"),
    ("delete", "sessions/"),
    ("post", "pairings/"),
    ("post", "devices/this/push/"),
    ("delete", "devices/this/push/"),
    ("post", "account/password/"),
    ("delete", "account/password/"),
    ("post", "account/app/begin/"),
    ("post", "account/passkeys/begin/"),
    ("post", "account/passkeys/"),
    ("delete", "account/identity/"),
    ("post", "account/again/begin/"),
    ("post", "account/app/"),
}
"""Of whoever is signed in: there is no project in it."""
ONES_OWN = {
    ("delete", "views/<uuid:view_id>/"),
    ("delete", "tokens/<uuid:token_id>/"),
    ("patch", "devices/<uuid:device_id>/"),
    ("delete", "devices/<uuid:device_id>/"),
    ("post", "devices/<uuid:device_id>/test/"),
    ("delete", "account/passkeys/<int:passkey_id>/"),
    ("post", "account/recovery-codes/"),
}
"""Of the one person who made it; to the others of the project there is none."""
MEMBERS = {("post", "views/"), ("post", "projects/<uuid:project_id>/policies/check/")}
OPERATORS = {
    ("post", "backtest/"),
    ("post", "recordings/"),
    ("post", "shares/"),
    ("delete", "shares/<uuid:share_id>/"),
    ("patch", "runs/<uuid:run_id>/"),
    ("post", "runs/<uuid:run_id>/interventions/"),
    ("post", "allowlist/"),
    ("post", "allowlist/preview/"),
    ("delete", "allowlist/<uuid:entry_id>/"),
    ("post", "channels/<uuid:channel_id>/test/"),
    ("post", "deliveries/<uuid:delivery_id>/retry/"),
}
OWNERS = {
    ("post", "projects/"),
    ("patch", "projects/<uuid:project_id>/"),
    ("patch", "projects/<uuid:project_id>/members/<int:user_id>/"),
    ("delete", "projects/<uuid:project_id>/members/<int:user_id>/"),
    ("post", "projects/<uuid:project_id>/invitations/"),
    ("post", "projects/<uuid:project_id>/redaction/preview/"),
    ("delete", "projects/<uuid:project_id>/invitations/<uuid:invitation_id>/"),
    ("post", "projects/<uuid:project_id>/joining-rules/"),
    ("delete", "projects/<uuid:project_id>/joining-rules/<uuid:rule_id>/"),
    ("post", "projects/<uuid:project_id>/prices/"),
    ("delete", "projects/<uuid:project_id>/prices/"),
    ("post", "projects/<uuid:project_id>/keys/"),
    ("post", "keys/"),
    ("delete", "keys/<uuid:key_id>/"),
    ("post", "keys/<uuid:key_id>/rotate/"),
    ("post", "setup-codes/"),
    ("post", "channels/"),
    ("patch", "channels/<uuid:channel_id>/"),
    ("delete", "channels/<uuid:channel_id>/"),
}
MACHINES = {
    ("post", "demo/"),
    ("delete", "demo/"),
    ("patch", "devices/reach/"),
    ("patch", "instance/budget/"),
}
"""Of the machine: for whoever owns a project, archived or not."""
AGENTS = {
    ("post", "runs/"),
    ("post", "runs/<uuid:run_id>/choices/"),
    ("post", "runs/<uuid:run_id>/messages/<uuid:message_id>/delivered/"),
}
BEARERS = {
    ("post", "setup-codes/exchange/"),
    ("post", "account/again/"),
    ("delete", "account/app/"),
}
"""Of whoever brings a code, a proof, or has an app: nobody here does."""
OWNERS_READ = {
    "projects/<uuid:project_id>/export/",
    "projects/<uuid:project_id>/invitations/",
    "projects/<uuid:project_id>/joining-rules/",
    "projects/<uuid:project_id>/controller-secret/",
    "keys/<uuid:key_id>/uses/",
    "instance/",
}
ONES_OWN_READ = {"pairings/<uuid:pairing_id>/", "tokens/<uuid:token_id>/uses/"}
AGENTS_READ = {"runs/<uuid:run_id>/rules/"}
MACHINES_READ = {"devices/certificate/"}
"""Of whoever is signed in; a machine without HTTPS of its own has none."""
MEMBERS_READ = {
    "me/",
    "account/",
    "boards/",
    "projects/",
    "projects/<uuid:project_id>/",
    "projects/<uuid:project_id>/members/",
    "projects/<uuid:project_id>/keys/",
    "projects/<uuid:project_id>/prices/",
    "projects/<uuid:project_id>/policies/",
    "projects/<uuid:project_id>/policies/scores/",
    "projects/<uuid:project_id>/policies/<int:number>/",
    "backtest/",
    "backtest/<uuid:backtest_id>/",
    "runs/",
    "runs/totals/",
    "runs/export/",
    "shares/",
    "views/",
    "runs/<uuid:run_id>/",
    "runs/<uuid:run_id>/conversation/",
    "runs/<uuid:run_id>/snapshot/",
    "runs/<uuid:run_id>/summary/",
    "runs/<uuid:run_id>/compare/",
    "runs/<uuid:run_id>/tree/",
    "runs/<uuid:run_id>/recording/",
    "runs/<uuid:run_id>/turns/",
    "runs/<uuid:run_id>/turns/found/",
    "runs/<uuid:run_id>/turns/<int:seq>/",
    "runs/<uuid:run_id>/turns/<int:seq>/score/",
    "runs/<uuid:run_id>/facets/",
    "runs/<uuid:run_id>/series/",
    "runs/<uuid:run_id>/moments/",
    "runs/<uuid:run_id>/hand-offs/",
    "runs/<uuid:run_id>/telemetry/",
    "devices/",
    "devices/reach/",
    "decisions/",
    "allowlist/",
    "allowlist/suggestions/",
    "autofixes/",
    "costs/",
    "costs/account/",
    "costs/today/",
    "costs/usual/",
    "costs/export/",
    "reports/",
    "reports/<uuid:report_id>/",
    "reports/<uuid:report_id>.csv",
    "channels/",
    "channels/<uuid:channel_id>/",
    "deliveries/",
    "deliveries/<uuid:delivery_id>/",
    "keys/",
    "setup-codes/<uuid:code_id>/",
    "tokens/",
    "audit/",
    "audit/verify/",
    "audit/export/",
}
READ_TABLES = (OWNERS_READ, ONES_OWN_READ, AGENTS_READ, MACHINES_READ, MEMBERS_READ)
READS = sorted({path for verb, path in EVERY if verb == "get"} - MACHINES_READ)
TABLES = (ANYBODYS, ONES_OWN, MEMBERS, OPERATORS, OWNERS, MACHINES, AGENTS, BEARERS)

STAY_IN_AN_ARCHIVE = {
    ("post", "projects/"),
    ("delete", "projects/<uuid:project_id>/members/<int:user_id>/"),
    ("delete", "projects/<uuid:project_id>/invitations/<uuid:invitation_id>/"),
    ("delete", "keys/<uuid:key_id>/"),
    ("delete", "projects/<uuid:project_id>/joining-rules/<uuid:rule_id>/"),
}
"""Writes that an archived project still takes: who came in can always be put out."""

PAGES = {
    "api/v1/": "the tables above",
    "api/schema/": "public",
    "healthz": "public",
    "readyz": "public",
    "^metrics/?$": "the operator's token",
    "^login/?$": "public",
    **{f"^login/by/{method}/?$": "what proves who somebody is" for method in sign_in_methods.VIEWS},
    "login/<str:secret>/": "its secret",
    "shared/<str:secret>/": "its secret",
    "shared/<str:secret>/image.png": "its secret",
    "^pair/?$": "its code",
    "^join/?$": "its secret",
    "logout/": "one's own",
    "^(?!api/|ws/|v1/|assets/).*$": "public: the empty screen",
}
THIN = {
    ("POST", "runs", "turns"),
    ("GET", "runs", "directive"),
    ("POST", "runs", "presence"),
    ("POST", "hooks", ""),
    ("POST", "v1", ""),
}
"""What agents send their key to: tests/contract/test_key_reach.py and test_agent_api.py."""
SOCKETS = {"projects": "project", "runs": "run"}


def test_every_route_and_socket_is_in_a_table():
    classified = [write for table in TABLES for write in table]
    sockets = {address.pattern.split("/")[2] for address, _ in live.ROUTES}
    read = [path for table in READ_TABLES for path in table]

    assert sorted(classified) == sorted(WRITES)
    assert sorted(read) == sorted(path for verb, path in EVERY if verb == "get")
    assert {str(one.pattern) for one in urlpatterns} == set(PAGES)
    assert sockets == set(SOCKETS)
    assert {(method, *ends_of(path.pattern)) for method, path, _ in asgi.THIN_ROUTES} == THIN


def ends_of(pattern):
    """Return what a thin address begins with behind the API's own words, and its last word."""
    words = pattern.strip("^$?").removeprefix("/api/v1").strip("/").split("/")
    return words[0], words[-1] if words[-1].isalpha() else ""


def may(role, write):
    if write in OWNERS | MACHINES:
        return role == "owner"
    if write in OPERATORS:
        return role != "viewer"
    if write in ONES_OWN:
        return role == "owner"  # Ana owns both
    return write not in AGENTS | BEARERS


@pytest.mark.parametrize("role", ["owner", "operator", "viewer"])
@pytest.mark.parametrize("write", sorted(WRITES))
def test_a_write_is_accepted_only_from_its_roles(role, write, ask, as_person, request):
    status = ask(as_person(request.getfixturevalue(role)), *write).status_code

    refused = status in {401, 403, 404}
    assert refused is not may(role, write), status


@pytest.mark.parametrize("role", ["owner", "operator", "viewer"])
@pytest.mark.parametrize("path", READS)
def test_a_read_is_answered_only_to_its_roles(role, path, ask, as_person, request):
    response = ask(as_person(request.getfixturevalue(role)), "get", path)

    is_theirs = path in MEMBERS_READ or (path not in AGENTS_READ and role == "owner")
    assert (response.status_code in {401, 403, 404}) is not is_theirs
    if not is_theirs:
        assert "the-secret" not in text_of(response)


@pytest.mark.parametrize("write", sorted(OPERATORS | OWNERS))
def test_an_archived_project_takes_no_write(write, ask, as_person, owner, project):
    Project.objects.update(archived_at=NOON)

    response = ask(as_person(owner), *write)

    if write in STAY_IN_AN_ARCHIVE:
        assert response.status_code in {201, 204, 409}
    else:
        assert response.status_code in {403, 404}
        assert response.json()["code"] in {"project_archived", "not_found"}
