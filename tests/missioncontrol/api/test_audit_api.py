"""The journal's list and export: who, what, when, of which run."""

import json
from datetime import timedelta

import pytest

from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.decisions import interventions
from missioncontrol.decisions.actions import Tap
from tests.build import NOON, a_call, a_run, a_stuck_run, put

pytestmark = pytest.mark.django_db


@pytest.fixture
def ended(project):
    run = a_stuck_run(project, name="stuck")
    tap = Tap(key="k", action="terminate", decision=run.open_decision, version=run.version)
    later = NOON + timedelta(hours=2)
    interventions.intervene(run.id, tap, projects=[project.id], by="Ana Ruiz", at=later)
    return run


@pytest.fixture
def rows(as_person, owner):
    client = as_person(owner)
    return lambda **query: client.get("/api/v1/audit/", query).json()["results"]


def test_the_journal_is_filtered_by_actor(ended, rows):
    found = rows(by="Ana Ruiz")

    assert {row["by"] for row in found} == {"Ana Ruiz"}
    assert "intervention.made" in {row["type"] for row in found}
    assert rows(by="ana") == []


def test_the_journal_is_filtered_by_time(ended, rows):
    hour = (NOON + timedelta(hours=1)).isoformat()

    after, before = rows(since=hour), rows(until=hour)

    assert {row["by"] for row in after} == {"Ana Ruiz"}
    assert len(after) + len(before) == len(rows())


def test_a_row_names_its_run(ended, rows):
    assert {row["run_name"] for row in rows(run=str(ended.id))} == {"stuck"}


def test_the_export_applies_the_same_filter(ended, as_person, owner, rows):
    response = as_person(owner).get("/api/v1/audit/export/", {"by": "Ana Ruiz"})

    lines = [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]

    assert lines == rows(by="Ana Ruiz")[::-1]  # oldest first
    assert "attachment" in response["Content-Disposition"]


@pytest.mark.parametrize("address", ["audit/?type=", "audit/export/?type=run.opened,"])
def test_an_event_type_with_a_nul_is_refused(as_person, owner, address):
    assert as_person(owner).get(f"/api/v1/{address}a%00b").status_code == 400


def test_an_export_of_a_run_is_complete_and_in_order(project, as_person, owner):
    run = a_run(project)
    for first in range(0, 900, 450):
        put(run, *[a_call(f"cat {n}") for n in range(first, first + 450)])

    response = as_person(owner).get("/api/v1/audit/export/", {"run": str(run.id)})

    seqs = [json.loads(line)["seq"] for line in b"".join(response.streaming_content).splitlines()]
    assert seqs == list(range(901))


def test_the_verification_shows_the_time_of_the_last_anchor(ended, as_person, owner):
    client = as_person(owner)
    assert client.get("/api/v1/audit/verify/").json()["anchored_at"] is None

    anchor_heads(at=NOON)

    body = client.get("/api/v1/audit/verify/").json()
    assert (body["ok"], body["anchored_at"]) == (True, "2026-11-21T12:00:00Z")


def test_an_invalid_time_is_refused_with_a_valid_example(as_person, owner):
    answer = as_person(owner).get("/api/v1/audit/?since=soon")

    assert (answer.status_code, answer.json()["field"]) == (400, "since")
    assert "such as 2026-11-21T10:00:00Z, got 'soon'" in answer.json()["detail"]


@pytest.mark.parametrize(
    "hour", ["2026-11-21 13:00", "2026-11-21T13:00:00", "2026-11-21T14:00:00 01:00"]
)
def test_a_time_may_have_a_space_after_its_day_and_any_zone_spelling(ended, rows, hour):
    assert {row["by"] for row in rows(since=hour)} == {"Ana Ruiz"}
