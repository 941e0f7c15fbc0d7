"""What every response to a browser contains, and what it must not."""

import pytest
from django.db import InternalError, OperationalError, connection
from django.test import Client
from rest_framework.test import APIRequestFactory

from missioncontrol.api import problems

pytestmark = pytest.mark.django_db

PAGES = ["/", "/login/", "/pair/", "/healthz", "/api/v1/me/", "/api/v1/runs/", "/api/schema/"]


@pytest.fixture
def ask(as_person, owner):
    return as_person(owner)


@pytest.mark.parametrize("path", PAGES)
def test_every_answer_forbids_sniffing_framing_and_referrers(ask, path):
    answer = ask.get(path)

    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] in {"same-origin", "no-referrer"}
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert "Access-Control-Allow-Origin" not in answer


@pytest.mark.parametrize("name", ["run", "decision", "channel", "cursor"])
def test_an_invalid_id_is_refused_by_its_field(ask, name):
    answer = ask.get(f"/api/v1/deliveries/?{name}=x")

    assert (answer.status_code, answer.json().get("field")) == (400, name)


def test_a_number_too_large_for_its_column_is_a_400_not_a_500(ask, project):
    answer = ask.delete(f"/api/v1/projects/{project.id}/members/{10**30}/")

    # PostgreSQL finds nobody by it; SQLite's driver cannot even ask.
    refusals = {"postgresql": (404, "not_found"), "sqlite": (400, "invalid_request")}
    assert (answer.status_code, answer.json()["code"]) == refusals[connection.vendor]


@pytest.mark.parametrize(
    "path",
    ["/assets/", "/assets/../../settings.py", "/.git/config", "/settings.py", "/logs/web.log"],
)
def test_no_directory_listing_and_no_source_is_served(ask, path):
    body = b"".join(ask.get(path))

    assert b"[core]" not in body
    assert b"SECRET_KEY" not in body
    assert b"Index of" not in body


@pytest.mark.parametrize("path", PAGES[4:6])
def test_trace_is_not_offered(ask, path):
    assert ask.generic("TRACE", path).status_code == 405


@pytest.mark.parametrize("path", ["runs/export/", "audit/export/", "costs/export/"])
def test_downloads_are_attachments_with_a_fixed_name(ask, path):
    header = ask.get(f"/api/v1/{path}")["Content-Disposition"]

    assert header.startswith('attachment; filename="')
    assert header.count('"') == 2


@pytest.mark.parametrize(
    ("path", "offered"),
    [
        *((path, "GET, HEAD") for path in ("/", "/healthz", "/readyz", "/metrics", "/login/")),
        *((path, "GET, HEAD") for path in ("/shared/x/", "/shared/x/image.png")),
        *((path, "GET, HEAD, POST") for path in ("/pair/", "/join/", "/login/x/")),
        ("/logout/", "POST"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_wrong_method_outside_the_api_is_a_405_problem(method, path, offered):
    answer = Client(enforce_csrf_checks=True).generic(method, path)

    assert (answer.status_code, answer.headers.get("Allow")) == (405, offered)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["/pair/", "/join/", "/logout/"])
def test_a_form_without_its_token_is_refused(path):
    assert Client(enforce_csrf_checks=True).post(path).status_code == 403


@pytest.mark.parametrize("path", ["runs/", "costs/export/"])
def test_an_address_ignores_format_and_accept(ask, path):
    as_usual = ask.get(f"/api/v1/{path}")

    for answer in (
        ask.get(f"/api/v1/{path}?format=csv"),
        ask.get(f"/api/v1/{path}", headers={"Accept": "text/csv"}),
    ):
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == as_usual.headers["Content-Type"]


def test_a_refusal_of_the_framework_has_a_title_without_placeholders(ask):
    answer = ask.put("/api/v1/allowlist/")

    assert (answer.status_code, answer.json()["title"]) == (405, "Method Not Allowed")


def test_an_unexpected_error_reveals_nothing_internal():
    try:
        int("hunter2")
    except ValueError:
        answer = problems.server_error(APIRequestFactory().get("/api/v1/me/"))

    assert answer.status_code == 500
    assert b"hunter2" not in answer.content
    assert b"Traceback" not in answer.content
    assert b"ValueError" not in answer.content


# PostgreSQL says the second to a process that was frozen within a transaction.
@pytest.mark.parametrize("kind", [OperationalError, InternalError])
@pytest.mark.parametrize("table", ["runs_run", "privilegechange"], ids=["view", "middleware"])
def test_while_the_database_is_unavailable_callers_get_a_retry_after(ask, caplog, kind, table):
    ask.raise_request_exception = False

    def lose_the_database(execute, sql, *rest):
        if table in sql:
            raise kind("terminating connection")
        return execute(sql, *rest)

    with connection.execute_wrapper(lose_the_database):
        answer = ask.get("/api/v1/runs/")

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert int(answer["Retry-After"]) > 0
    assert "terminating connection" in caplog.text
