"""Accounts of costs over REST: who may read them, which queries are valid, and the CSV."""

import csv
import io
from datetime import timedelta
from decimal import Decimal

import pytest

from guard.turn import Usage
from missioncontrol.ids import new_id
from missioncontrol.reports import daily
from missioncontrol.reports.models import CostReport
from tests.build import NOON, a_call, a_run, report

pytestmark = pytest.mark.django_db


@pytest.fixture
def spent(project):
    run = a_run(project)
    report(run, a_call("ls", cost_usd=Decimal("1.10"), agent="coder"))
    report(run, a_call("id", cost_usd=Decimal("0.20"), agent="=1+1"))
    return project


def test_a_person_reads_the_account_of_their_day(spent, viewer, as_person):
    answered = as_person(viewer).get("/api/v1/costs/account/?day=2026-11-21")

    assert answered.json()["spent"]["total_usd"] == "1.3"
    assert [row["name"] for row in answered.json()["groups"]] == ["coder", "=1+1"]


def test_another_projects_account_does_not_exist(spent, stranger, as_person):
    client = as_person(stranger)

    assert client.get(f"/api/v1/costs/account/?project={spent.id}").status_code == 404
    assert client.get(f"/api/v1/costs/export/?project={spent.id}").status_code == 404
    assert client.get("/api/v1/costs/account/?day=2026-11-21").json()["spent"]["total_usd"] == "0"


def test_an_agent_reads_no_account(spent, as_agent):
    assert as_agent.get("/api/v1/costs/account/").status_code == 403


@pytest.mark.parametrize(
    "asked", ["range=year", "day=yesterday", "day=9999-12-31", "group_by=day", "day=0001-01-01"]
)
def test_an_invalid_request_for_an_account_is_refused_with_its_reason(
    spent, viewer, as_person, asked
):
    answered = as_person(viewer).get(f"/api/v1/costs/account/?{asked}")

    assert (answered.status_code, answered.json()["code"]) == (400, "invalid_request")


def test_the_csv_has_one_line_per_group_a_total_and_no_formula(spent, viewer, as_person):
    answered = as_person(viewer).get("/api/v1/costs/export/?day=2026-11-21")

    lines = list(csv.DictReader(io.StringIO(answered.content.decode())))
    assert [(line["name"], line["total_usd"]) for line in lines] == [
        ("coder", "1.1"),
        ("'=1+1", "0.2"),
        ("Total with judge", "1.3"),
    ]
    assert answered["Content-Disposition"] == (
        'attachment; filename="costs-2026-11-21-by-agent.csv"'
    )


def test_costs_add_up_by_project(spent, viewer, as_person):
    (row,) = as_person(viewer).get("/api/v1/costs/?group_by=project").json()["results"]

    assert (row["name"], row["cost_usd"], row["runs"]) == ("payments", "1.3", 1)


def test_a_project_shows_its_extra_budget_for_today(project, viewer, as_person):
    from missioncontrol.clock import now

    project.day_extra = {"day": now().date().isoformat(), "more": {"usd": "4"}}
    project.save()
    client = as_person(viewer)

    assert client.get(f"/api/v1/projects/{project.id}/").json()["day_extra"] == {"usd": "4"}

    project.day_extra = {"day": "2020-01-01", "more": {"usd": "4"}}
    project.save()
    assert client.get(f"/api/v1/projects/{project.id}/").json()["day_extra"] == {}


@pytest.fixture
def reported(spent):
    assert daily.make_due_reports(at=NOON + timedelta(hours=12, minutes=15)) == 1
    return str(CostReport.objects.get().id)


def test_reports_are_listed_and_read(reported, viewer, as_person):
    client = as_person(viewer)
    (row,) = client.get("/api/v1/reports/").json()["results"]
    report = client.get(f"/api/v1/reports/{reported}/").json()

    assert (row["id"], row["day"], row["version"]) == (reported, "2026-11-21", 1)
    assert report["row"] == row
    assert [one["name"] for one in report["account"]["groups"]] == ["coder", "=1+1"]
    assert (report["newest"], report["sent"]) == (reported, 0)


def test_another_projects_report_does_not_exist(reported, stranger, as_person):
    client = as_person(stranger)

    assert client.get("/api/v1/reports/").json()["results"] == []
    assert client.get(f"/api/v1/reports/{reported}/").status_code == 404
    assert client.get(f"/api/v1/reports/{reported}.csv").status_code == 404


def test_an_agent_reads_no_report(reported, as_agent):
    assert as_agent.get(f"/api/v1/reports/{reported}/").status_code == 403


def test_a_reports_csv_has_its_agents_models_and_projects(reported, viewer, as_person):
    answered = as_person(viewer).get(f"/api/v1/reports/{reported}.csv")

    lines = list(csv.DictReader(io.StringIO(answered.content.decode())))
    assert [line["group_by"] for line in lines] == ["agent", "agent", "model", "project", "total"]
    assert lines[-1]["total_usd"] == "1.3"


def test_the_next_page_of_reports_continues_after_the_last(project, viewer, as_person):
    kept = daily.build_report(project, NOON.date(), at=NOON + timedelta(days=1))
    for number in range(40):
        kept.id, kept.day = new_id(), NOON.date() + timedelta(days=number)
        kept.save(force_insert=True)
    client = as_person(viewer)

    page = client.get("/api/v1/reports/").json()
    rest = client.get(page["next"]).json()

    days = [row["day"] for row in page["results"] + rest["results"]]
    assert len(page["results"]) == 31
    assert days == sorted(set(days), reverse=True)
    assert rest["next"] is None


def test_an_owner_turns_daily_reports_off(project, owner, operator, as_person):
    path = f"/api/v1/projects/{project.id}/"

    assert as_person(operator).patch(path, {"daily_report": False}, "json").status_code == 403
    answered = as_person(owner).patch(path, {"daily_report": False}, "json")
    assert answered.json()["daily_report"] is False


def test_members_see_what_their_projects_spent_today(
    project, viewer, stranger, as_person, as_agent
):
    assert [row["project"] for row in read_today(as_person(viewer))] == [str(project.id)]
    assert read_today(as_person(stranger)) != read_today(as_person(viewer))
    other = as_person(stranger).get(f"/api/v1/costs/today/?project={project.id}")
    assert (other.status_code, as_agent.get("/api/v1/costs/today/").status_code) == (404, 403)


def read_today(client):
    return client.get("/api/v1/costs/today/").json()["results"]


@pytest.mark.parametrize(
    "query",
    [
        "costs/?since=0001-01-01T00:00:00%2B14:00",
        "costs/?until=9999-12-31T23:59:59-14:00",
        "costs/account/?agent=a%00b",
        "costs/account/?model=%00",
        "costs/export/?agent=%00",
    ],
)
def test_a_value_that_no_database_stores_is_refused_by_field(as_person, owner, project, query):
    refused = as_person(owner).get(f"/api/v1/{query}")

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")
    assert refused.json()["field"] in query


def test_calls_without_a_known_price_are_unpriced_not_free(project, viewer, as_person):
    run = a_run(project)
    fields = {"usage": Usage(input=1000, output=100), "call_id": "c1"}
    report(run, a_call("ls", model="mystery-1", **fields))
    report(run, a_call("id", model="known-1", cost_usd=Decimal("0.20")))

    rows = as_person(viewer).get("/api/v1/costs/?group_by=model").json()["results"]

    costs = {row["key"]: (row["cost_usd"], row["unpriced_calls"]) for row in rows}
    assert costs == {"mystery-1": (None, 1), "known-1": ("0.2", 0)}
