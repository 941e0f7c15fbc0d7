"""The budget of all projects over REST: only owners set it and see the total."""

import pytest

from missioncontrol.accounts.models import Membership, Role
from missioncontrol.ids import new_id
from missioncontrol.runs.models import JournalRow
from tests.build import a_call, a_project, a_run, report

pytestmark = pytest.mark.django_db


def set_budget(client, dollars):
    return client.patch("/api/v1/instance/budget/", {"day_usd": dollars}, format="json")


def test_an_owner_sets_it_and_sees_the_sum_of_all_projects(as_person, owner, project):
    client = as_person(owner)
    body = set_budget(client, "100.50").json()
    assert (body["day_usd"], body["extra_usd"], body["spent_usd"]) == ("100.50", "0", "0")

    body = client.get("/api/v1/instance/").json()["budget"]
    assert body["day_usd"] == "100.50"


def test_an_owner_removes_it(as_person, owner, project):
    client = as_person(owner)
    set_budget(client, "100")

    assert set_budget(client, None).json()["day_usd"] is None


@pytest.mark.parametrize("role", ["operator", "viewer"])
def test_nobody_else_sets_it_or_sees_the_sum(role, as_person, request, owner, project):
    client = as_person(request.getfixturevalue(role))

    assert set_budget(client, "100").status_code == 403
    assert client.get("/api/v1/instance/").status_code == 403


@pytest.mark.parametrize("dollars", ["0", "-5", "NaN", "1e20", "much"])
def test_an_invalid_budget_is_refused(dollars, as_person, owner, project):
    refused = set_budget(as_person(owner), dollars)

    assert refused.status_code == 400
    assert as_person(owner).get("/api/v1/instance/").json()["budget"]["day_usd"] is None


def test_every_projects_audit_log_names_who_set_the_budget(as_person, owner, project):
    other = a_project("elsewhere")

    set_budget(as_person(owner), "100")

    rows = JournalRow.objects.filter(type="policy.changed", payload__contains="organisation_budget")
    assert {row.project_id for row in rows} == {project.id, other.id}
    assert {row.by for row in rows} == {"ana"}


def test_a_member_sees_the_budget_but_not_what_other_projects_spent(
    as_person, owner, operator, project
):
    set_budget(as_person(owner), "10")
    report(a_run(a_project("elsewhere")), a_call("ls", cost_usd="9.87"))
    run = report(a_run(project), a_call("ls", cost_usd="1"))

    client = as_person(operator)
    shown = client.get(f"/api/v1/runs/{run.id}/").content + client.get("/api/v1/decisions/").content
    shown += client.get(f"/api/v1/audit/?project={project.id}").content

    assert b"budget of $10.00 for today is reached" in shown
    assert not [figure for figure in (b"9.87", b"10.87") if figure in shown]


@pytest.fixture
def held(as_person, owner, project):
    """A run that the ceiling of all projects holds."""
    set_budget(as_person(owner), "10")
    return report(a_run(project), a_call("ls", cost_usd="10"))


def tap(client, run, action, **fields):
    run.refresh_from_db()
    body = {"key": str(new_id()), "action": action, "version": run.version, **fields}
    return client.post(f"/api/v1/runs/{run.id}/interventions/", body, format="json")


def raise_budget(client, run):
    return tap(client, run, "allow_budget", decision=str(run.open_decision), amount={"usd": "5"})


def test_an_owners_tap_raises_it_for_today(as_person, owner, held):
    assert raise_budget(as_person(owner), held).status_code == 201


def test_an_operator_neither_raises_it_nor_takes_a_raise_back(as_person, owner, operator, held):
    client = as_person(operator)
    refused = raise_budget(client, held)
    raised = raise_budget(as_person(owner), held).json()

    undone = tap(client, held, "undo", undoes=raised["key"])

    assert (refused.status_code, undone.status_code) == (403, 403)
    assert refused.json()["detail"] == "Only a project owner can raise the budget of all projects."
    held.refresh_from_db()
    assert held.status == "running"


def test_an_operator_who_owns_another_project_raises_it(as_person, operator, held):
    Membership.objects.create(project=a_project("theirs"), user=operator, role=Role.OWNER)

    assert raise_budget(as_person(operator), held).status_code == 201


def test_an_operator_still_ends_what_it_holds(as_person, operator, held):
    assert tap(as_person(operator), held, "finish").status_code == 201
