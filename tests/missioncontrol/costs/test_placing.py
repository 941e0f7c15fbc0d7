"""Telemetry that tells of no model call costs a question, and no lock."""

import pytest

from missioncontrol.costs import telemetry
from tests.build import NOON, a_call, a_run, put

pytestmark = pytest.mark.django_db


def test_without_reported_calls_nothing_is_locked(project, django_assert_num_queries):
    run = a_run(project)
    put(run, a_call("ls"))
    telemetry.attach_calls_to_turns([run.id], at=NOON)  # compiles what it asks

    with django_assert_num_queries(1) as asked:
        telemetry.attach_calls_to_turns([run.id], at=NOON)

    assert "FOR UPDATE" not in asked.captured_queries[0]["sql"]


def test_without_reported_calls_nothing_is_queried(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert telemetry.count_calls({}, at=NOON) == 0
