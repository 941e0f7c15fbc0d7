"""Three weeks of work that are written at once stand in an audit log that verifies."""

import pytest

from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.audit.checking import verify
from missioncontrol.clock import now
from tests.build import a_run
from tests.e2e import weeks

pytestmark = pytest.mark.django_db


def test_a_checkpoint_that_was_there_before_does_not_make_them_look_forged(project, monkeypatch):
    monkeypatch.setattr(weeks, "DAYS", 2)
    a_run(project)
    anchor_heads(at=now())

    weeks.main(str(project.id))

    assert verify(projects=[project.id]).faults == ()
