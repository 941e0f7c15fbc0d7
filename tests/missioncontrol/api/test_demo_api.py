"""The demo started from the screen: who owns it, the keys of its agents, and its removal."""

import pytest
from rest_framework.test import APIClient

from missioncontrol import extras
from missioncontrol.accounts.models import AgentKey, Project
from missioncontrol.runs.models import Run
from tests.build import a_person, a_project

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _supervised(settings, tmp_path):
    settings.IS_SUPERVISED = True
    settings.DATA_DIR = tmp_path


@pytest.fixture
def ana(as_person, owner):
    return as_person(owner)


def demo_projects():
    return Project.objects.filter(name__startswith="demo-")


def state_of(client):
    return client.get("/api/v1/me/").json()["demo"]


def test_starting_the_demo_makes_three_projects_and_requests_their_agents(ana, tmp_path):
    assert ana.post("/api/v1/demo/").status_code == 202

    asked = extras.requested_demo(tmp_path)
    assert set(asked.keys) == {"npm-minded", "ping-pong", "healthy"}
    assert demo_projects().count() == 3
    assert state_of(ana) == "running"


def test_demo_keys_open_runs_until_the_demo_is_removed(ana, tmp_path):
    ana.post("/api/v1/demo/")
    agent = APIClient()
    key = extras.requested_demo(tmp_path).keys["ping-pong"]
    agent.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    opened = agent.post("/api/v1/runs/", {"name": "release notes"}, format="json")

    assert ana.delete("/api/v1/demo/").status_code == 204

    assert opened.status_code == 201
    assert not AgentKey.objects.filter(project__in=demo_projects(), revoked_at=None).exists()
    assert extras.requested_demo(tmp_path) is None


def test_removing_the_demo_ends_waiting_runs_and_archives_its_projects(ana, tmp_path):
    ana.post("/api/v1/demo/")
    project = demo_projects().get(name="demo-ping-pong")
    agent = APIClient()
    key = extras.requested_demo(tmp_path).keys["ping-pong"]
    agent.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    run = agent.post("/api/v1/runs/", {"name": "waits"}, format="json").json()["id"]
    ana.post(f"/api/v1/runs/{run}/interventions/", {"key": "k", "action": "pause"}, format="json")

    assert ana.delete("/api/v1/demo/").status_code == 204

    project.refresh_from_db()
    assert project.archived_at is not None
    assert Run.objects.get(pk=run).status == "stopping"
    assert state_of(ana) == "off"


def test_restarting_the_demo_restores_its_projects_with_new_keys(ana, tmp_path):
    ana.post("/api/v1/demo/")
    first = extras.requested_demo(tmp_path).keys
    ana.delete("/api/v1/demo/")

    ana.post("/api/v1/demo/")

    assert demo_projects().filter(archived_at=None).count() == 3
    assert not set(first.values()) & set(extras.requested_demo(tmp_path).keys.values())


def test_another_owner_cannot_take_over_or_remove_the_demo(ana, as_person):
    ana.post("/api/v1/demo/")
    marta = as_person(a_person("marta", a_project("other"), "owner"))

    assert marta.post("/api/v1/demo/").status_code == 403
    assert marta.delete("/api/v1/demo/").status_code == 403
    assert state_of(marta) is None
    assert state_of(ana) == "running"


def test_a_project_of_that_name_that_the_owner_only_views_is_left_alone(as_person, owner):
    theirs = a_project("demo-healthy")
    a_person("marta", theirs, "owner")
    theirs.membership_set.create(user=owner, role="viewer")

    as_person(owner).post("/api/v1/demo/")

    assert demo_projects().filter(name="demo-healthy").count() == 2
    assert not AgentKey.objects.filter(project=theirs).exists()


def test_an_operator_is_offered_no_demo(as_person, operator):
    assert state_of(as_person(operator)) is None
    assert as_person(operator).post("/api/v1/demo/").status_code == 403


def test_a_server_not_run_by_up_starts_no_demo(ana, settings):
    settings.IS_SUPERVISED = False

    refused = ana.post("/api/v1/demo/")

    assert (refused.status_code, demo_projects().count()) == (503, 0)
    assert state_of(ana) is None
