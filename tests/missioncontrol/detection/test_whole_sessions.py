"""A session whose telemetry arrives whole has ended before anyone looked at it."""

import pytest

from missioncontrol.decisions import sessions
from missioncontrol.detection import pipeline
from missioncontrol.notify.models import Notice
from missioncontrol.runs.lifecycle import Source
from missioncontrol.runs.models import JournalRow
from missioncontrol.runs.services import OpenRun, open_run
from tests.build import NOON, a_call, a_project, after, put
from tests.missioncontrol.notify.build import a_channel

pytestmark = pytest.mark.django_db


def a_whole_session(*turns, source=Source.TELEMETRY):
    """Its turns, and its end, stored before detection looks."""
    request = OpenRun(name="night shift", key="svc:1", agent="svc", capabilities={"hold": False})
    project = a_project()
    a_channel(project)
    run, _ = open_run(project, request, by="agent", at=NOON, source=source)
    put(run, *turns)
    sessions.end_session(run.id, at=NOON)
    pipeline.detect([run.id], at=after(1))
    run.refresh_from_db()
    return run


def raised(run):
    rows = JournalRow.objects.filter(run=run, type="detection.raised")
    return ['"outcome":"warned"' in (row.payload or "") for row in rows]


def looping():
    error = "ModuleNotFoundError: no module 'app.tokens'"
    return [a_call("pytest -q", error=error) for _ in range(3)]


def test_a_loop_of_an_ended_session_is_raised_and_notified():
    run = a_whole_session(*looping())

    assert raised(run) == [True]
    assert run.status == "completed"
    assert run.open_decision is None
    (notice,) = Notice.objects.filter(run=run)
    assert "It has ended" in str(notice.content)


def test_an_agent_that_is_in_hand_is_not_told_of_after_its_end():
    run = a_whole_session(*looping(), source=Source.AGENT)

    assert raised(run) == []
    assert not Notice.objects.filter(run=run).exists()
