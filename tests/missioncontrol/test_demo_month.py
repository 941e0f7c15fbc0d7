"""The month behind the demo is told like any other: by events, to its end."""

import pytest

from missioncontrol.audit.anchors import verify
from missioncontrol.decisions.models import Decision
from missioncontrol.demo.month import record_month
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import Run
from tests.build import NOON

pytestmark = pytest.mark.django_db


@pytest.fixture
def month(project):
    record_month(project, at=NOON)
    return project


def test_its_audit_log_is_whole(month):
    assert verify(projects=[month.id]).faults == ()


def test_every_run_has_ended_and_no_card_is_left(month):
    assert set(Run.objects.filter(project=month).values_list("status", flat=True)) <= set(ENDED)
    assert not Decision.objects.filter(run__project=month, resolved_at=None).exists()
