"""The month behind the demo is told like any other: by events, to its end."""

import pytest

from missioncontrol.audit.checking import verify
from missioncontrol.decisions.models import Decision, Intervention
from missioncontrol.demo.month import record_month
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import Run
from tests.build import NOON

pytestmark = pytest.mark.django_db


def test_its_audit_log_verifies_all_runs_ended_and_all_answers_were_acted_on(project):
    record_month(project, at=NOON)

    assert verify(projects=[project.id]).faults == ()
    assert set(Run.objects.filter(project=project).values_list("status", flat=True)) <= set(ENDED)
    assert not Decision.objects.filter(run__project=project, resolved_at=None).exists()
    made = Intervention.objects.filter(run__project=project)
    assert set(made.values_list("status", flat=True)) == {"acknowledged"}
