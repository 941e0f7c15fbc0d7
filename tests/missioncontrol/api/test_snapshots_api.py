"""The first message of a socket can also be requested: same content, same permissions."""

import json

import pytest
from pydantic import TypeAdapter

from missioncontrol.accounts.models import Project
from missioncontrol.decisions import rows
from missioncontrol.wire.events import Snapshot
from tests.build import NOON, a_call, a_run, put

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr("missioncontrol.api.views.runs.now", lambda: NOON)


@pytest.fixture
def run(project):
    run = a_run(project)
    put(run, a_call())
    run.refresh_from_db()
    return run


def as_a_socket_says(snapshot):
    return json.loads(TypeAdapter(Snapshot).dump_json(snapshot))


def boards(client):
    return client.get("/api/v1/boards/").json()["results"]


def test_a_board_equals_the_first_message_of_its_socket(project, run, owner, as_person):
    (board,) = boards(as_person(owner))

    assert board["project"] == str(project.id)
    assert board["snapshot"] == as_a_socket_says(rows.board_snapshot(project.id, at=NOON))
    assert [row["id"] for row in board["snapshot"]["runs"]] == [str(run.id)]


def test_a_run_snapshot_equals_the_first_message_of_its_socket(run, viewer, as_person):
    answer = as_person(viewer).get(f"/api/v1/runs/{run.id}/snapshot/").json()

    assert answer == as_a_socket_says(rows.run_snapshot(run, at=NOON))


def test_nobody_reads_another_persons_board(run, stranger, as_person):
    assert str(run.id) not in json.dumps(boards(as_person(stranger)))
    assert as_person(stranger).get(f"/api/v1/runs/{run.id}/snapshot/").status_code == 404


def test_an_archived_projects_board_is_not_among_them(project, run, owner, as_person):
    Project.objects.filter(id=project.id).update(archived_at=NOON)

    assert boards(as_person(owner)) == []


def test_an_agents_key_reads_neither(run, as_agent):
    assert as_agent.get("/api/v1/boards/").status_code == 403
    assert as_agent.get(f"/api/v1/runs/{run.id}/snapshot/").status_code == 403
