"""Presets, controllers and restarts by REST."""

from __future__ import annotations

import json

import pytest
from rest_framework.test import APIClient

from guard.policy import Policy
from guard.turn import Role, Turn
from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import Scope
from missioncontrol.decisions import messages
from missioncontrol.notify import webhook
from missioncontrol.runs.models import Run
from tests.build import NOON, a_run, report
from tests.missioncontrol.taps import BROKER, report_messages

pytestmark = pytest.mark.django_db


def open_run(client, **body):
    return client.post("/api/v1/runs/", {"name": "fix", **body}, format="json")


def restart(client, run_id, **body):
    body = {"key": "k", "action": "restart", "message": "Begin with the grammar.", **body}
    return client.post(f"/api/v1/runs/{run_id}/interventions/", body, format="json")


@pytest.mark.parametrize("name", ["broker", "fingerprint", "ralph", "loopguard", "watchful"])
def test_an_agent_may_ask_for_a_preset(as_agent, name):
    assert open_run(as_agent, policy={"preset": name}).status_code == 201


def test_an_unknown_preset_is_answered_with_the_known_ones(as_agent):
    response = open_run(as_agent, policy={"preset": "brokre"})

    assert response.status_code == 400
    assert "broker" in response.json()["detail"]


def test_a_run_takes_its_presets_budgets(as_agent):
    shown = open_run(as_agent, policy={"preset": "loopguard"}).json()

    assert shown["budget"] == {"usd": "1", "calls": 30}


def test_of_two_presets_the_effective_one_sets_the_budgets(as_agent):
    policy = {"preset": "ralph", "extends": "loopguard"}

    shown = open_run(as_agent, policy=policy).json()

    assert shown["budget"] == {"usd": "1", "calls": 30}
    assert Policy.from_mapping(policy).detectors == ("budget", "loopguard")


def test_a_policys_own_budgets_replace_its_presets(as_agent):
    rules = {"preset": "ralph", "budget": {"turns": 3}}
    shown = open_run(as_agent, policy=rules).json()
    run = Run.objects.get(pk=shown["id"])

    for number in range(3):
        run = report(run, Turn(role=Role.ASSISTANT, content=f"{number} {'abc'[number] * 30}"))

    assert shown["budget"] == {"turns": 3}
    assert run.status == "stopping"


def test_a_project_may_follow_a_preset(as_person, owner, project):
    path = f"/api/v1/projects/{project.id}/"

    response = as_person(owner).patch(path, {"policy": {"preset": "broker"}}, format="json")

    assert response.status_code == 200
    assert report_messages(a_run(project), 6).status == "stopping"


def test_a_controller_is_a_run_of_the_project_or_an_address(as_agent):
    boss = open_run(as_agent).json()["id"]

    assert open_run(as_agent, controller=boss).status_code == 201
    assert open_run(as_agent, controller="https://hooks.example.com/x").status_code == 201
    assert open_run(as_agent, controller=str(a_run().id)).status_code == 404
    for inner in ("http://169.254.169.254/latest", "https://10.0.0.7/x"):
        refused = open_run(as_agent, controller=inner)
        assert (refused.status_code, refused.json()["field"]) == (400, "controller")


def test_the_controllers_next_directive_carries_the_message(as_agent, project):
    boss = open_run(as_agent).json()["id"]
    run = Run.objects.get(pk=open_run(as_agent, controller=boss, policy=BROKER).json()["id"])
    report_messages(run, 4)
    messages.notify_controlling_runs(at=run.started_at.replace(year=2030))

    from missioncontrol.decisions import directives

    (message,) = directives.queued_messages(Run.objects.get(pk=boss).id, at=NOON)
    assert str(run.id) in message.text


def test_a_restart_names_the_new_run(as_person, owner, project):
    run = report_messages(a_run(project, policy=BROKER), 6)

    response = restart(as_person(owner), run.id)

    assert response.status_code == 201
    assert Run.objects.get(pk=response.json()["new_run"]).parent_id == run.id
    assert restart(as_person(owner), run.id).json()["new_run"] == response.json()["new_run"]


def test_a_viewer_may_not_restart_and_a_stranger_sees_no_run(as_person, viewer, stranger, project):
    run = report_messages(a_run(project, policy=BROKER), 6)

    assert restart(as_person(viewer), run.id).status_code == 403
    assert restart(as_person(stranger), run.id).status_code == 404
    assert not Run.objects.filter(parent=run).exists()


def test_the_escalation_travels_in_the_directive(as_agent):
    from pydantic import TypeAdapter

    from guard.wire import Directive
    from missioncontrol.decisions import directives

    run = report_messages(Run.objects.get(pk=open_run(as_agent, policy=BROKER).json()["id"]), 4)
    made = directives.make_directive(
        directives.control_state_of(run),
        asked_seq=None,
        messages=directives.queued_messages(run.id, at=NOON),
    )

    (message,) = json.loads(TypeAdapter(Directive).dump_json(made))["messages"]
    assert message["escalation"]["detector"] == "broker"
    assert set(message) >= {"id", "text", "agent"}


def test_only_an_owner_sees_the_secret(as_person, owner, operator, stranger, project):
    path = f"/api/v1/projects/{project.id}/controller-secret/"

    shown = as_person(owner).get(path)

    assert shown.json() == {"secret": webhook.secret_of(project.id)}
    assert as_person(operator).get(path).status_code == 403
    assert as_person(stranger).get(path).status_code == 404


def test_a_token_is_shown_no_secret(owner, project):
    """Whoever found one could forge what controllers are told, long after it was revoked."""
    token = accounts.mint_personal_token(user=owner, name="reports", at=NOON, scope=Scope.READ)
    script = APIClient()
    script.credentials(HTTP_AUTHORIZATION=f"Bearer {token.secret}")

    assert script.get(f"/api/v1/projects/{project.id}/controller-secret/").status_code == 403
