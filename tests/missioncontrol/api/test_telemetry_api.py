"""A run's telemetry is read only by members of its project."""

import pytest

from tests.otlp.build import a_span, receive, spans


@pytest.fixture
def address(project):
    span = a_span("execute_tool", {"gen_ai.operation.name": "execute_tool", "acme.tenant": "north"})
    (run,) = receive(project, spans(span))
    return f"/api/v1/runs/{run.id}/telemetry/"


def test_a_viewer_reads_it(address, viewer, as_person):
    (row,) = as_person(viewer).get(address).json()["results"]

    assert row["attributes"]["acme.tenant"] == "north"


def test_a_stranger_does_not_find_it(address, stranger, as_person):
    assert as_person(stranger).get(address).status_code == 404
