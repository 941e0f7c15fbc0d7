"""Budgets and costs by REST."""

from decimal import Decimal

import pytest

from tests.build import a_call, a_run, report

pytestmark = pytest.mark.django_db


def patch(client, project, **body):
    return client.patch(f"/api/v1/projects/{project.id}/", body, format="json")


def test_an_owner_sets_budgets_by_scope_and_reads_them_back(project, as_person, owner):
    given = {"run": {"usd": "5"}, "day": {"usd": "50"}, "agents": {"coder": {"calls": 9}}}

    response = patch(as_person(owner), project, budgets=given, time_zone="Europe/Berlin")

    assert response.status_code == 200
    assert response.json()["budgets"] == given
    assert (response.json()["budget"], response.json()["time_zone"]) == (
        {"usd": "5"},
        "Europe/Berlin",
    )


def test_an_operator_cannot_set_budgets(project, as_person, operator):
    assert patch(as_person(operator), project, budgets={"day": {"usd": 1}}).status_code == 403


@pytest.mark.parametrize("zone", ["Middle/Earth", "", "../etc/passwd", "Europe", "x" * 200])
def test_a_time_zone_that_does_not_exist_is_refused(zone, project, as_person, owner):
    response = patch(as_person(owner), project, time_zone=zone)

    assert (response.status_code, response.json()["code"]) == (400, "invalid_request")


def test_an_invalid_budget_is_refused_by_field_and_changes_nothing(project, as_person, owner):
    response = patch(as_person(owner), project, budgets={"day": {"hours": 2}})

    assert response.status_code == 400
    assert "budgets.day.hours" in response.json()["detail"]
    project.refresh_from_db()
    assert project.budgets == {}


def test_a_card_at_a_budget_offers_more_a_finish_and_a_stop(project, as_person, owner):
    run = report(a_run(project, budget={"calls": 1}), a_call("ls"))

    (card,) = as_person(owner).get("/api/v1/decisions/?status=open").json()["results"]

    assert card["actions"] == ["allow_budget", "finish", "terminate"]
    assert (card["evidence"]["scope"], card["evidence"]["ceiling"]) == ("run", "1")
    assert card["run"] == str(run.id)


@pytest.mark.parametrize(
    "amount",
    [
        {"usd": "-20"},
        {"usd": "0"},
        {"usd": "1e400"},
        {"usd": "NaN"},
        {"calls": -3},
        {"calls": 10**16},
        {"seconds": 10**400},
    ],
)
def test_more_is_above_nothing_and_within_bounds(amount, project, as_person, operator):
    project.budgets = {"project": {"usd": "10"}}
    project.save()
    run = report(a_run(project), a_call("ls", cost_usd=Decimal(10)))
    body = {
        "key": "m",
        "action": "allow_budget",
        "decision": str(run.open_decision),
        "version": run.version,
        "amount": amount,
    }

    response = as_person(operator).post(
        f"/api/v1/runs/{run.id}/interventions/", body, format="json"
    )

    assert (response.status_code, response.json()["code"]) == (400, "invalid_request")
    assert f"amount.{next(iter(amount))}" in response.json()["detail"]
    project.refresh_from_db()
    assert project.budgets == {"project": {"usd": "10"}}


def test_finish_is_tapped_like_any_other_answer(project, as_person, operator):
    run = report(a_run(project, budget={"calls": 1}), a_call("ls"))
    body = {
        "key": "f",
        "action": "finish",
        "decision": str(run.open_decision),
        "version": run.version,
    }

    response = as_person(operator).post(
        f"/api/v1/runs/{run.id}/interventions/", body, format="json"
    )

    assert (response.status_code, response.json()["action"]) == (201, "finish")


def test_finish_needs_the_version(project, as_person, operator):
    run = report(a_run(project, budget={"calls": 1}), a_call("ls"))

    response = as_person(operator).post(
        f"/api/v1/runs/{run.id}/interventions/", {"key": "f", "action": "finish"}, format="json"
    )

    assert response.status_code == 400


def test_costs_are_listed_by_day_unless_asked_otherwise(project, as_person, viewer):
    report(a_run(project), a_call("ls", cost_usd=Decimal("0.25"), model="m"))
    them = as_person(viewer)

    (day,) = them.get("/api/v1/costs/").json()["results"]
    (model,) = them.get("/api/v1/costs/?group_by=model").json()["results"]

    assert (day["key"], day["cost_usd"], day["judge_cost_usd"]) == ("2026-11-21", "0.25", "0")
    assert (model["key"], model["project"]) == ("m", str(project.id))


def test_costs_of_another_project_are_not_shown(project, as_person, stranger):
    report(a_run(project), a_call("ls", cost_usd=Decimal("0.25")))

    assert as_person(stranger).get("/api/v1/costs/").json()["results"] == []
    assert as_person(stranger).get(f"/api/v1/costs/?project={project.id}").status_code == 404


def test_an_agents_key_reads_no_costs(as_agent):
    assert as_agent.get("/api/v1/costs/").status_code == 403


@pytest.mark.parametrize("query", ["group_by=week", "since=yesterday"])
def test_an_invalid_query_is_refused(query, project, as_person, owner):
    assert as_person(owner).get(f"/api/v1/costs/?{query}").status_code == 400
