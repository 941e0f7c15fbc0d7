"""A fresh run for what another one was about, beginning with a correction."""

from __future__ import annotations

import pytest

from missioncontrol.decisions import interventions
from missioncontrol.decisions.actions import Tap
from missioncontrol.decisions.directives import control_state_of, make_directive, queued_messages
from missioncontrol.decisions.models import Decision, Intervention
from missioncontrol.errors import ActionUnavailable, InvalidRequest, StaleRun
from missioncontrol.runs.models import JournalRow, Run
from tests.build import NOON, a_project, a_run, a_stuck_run, after, report
from tests.missioncontrol.taps import BROKER, report_messages

pytestmark = pytest.mark.django_db
CORRECTION = "The parser lives in src/grammar.py; begin there."


def restart(run: Run, **fields):
    fields = {"key": "again", "message": CORRECTION, **fields}
    made, is_new = interventions.intervene(
        run.id, Tap(action="restart", **fields), projects=[run.project_id], by="ana", at=NOON
    )
    run.refresh_from_db()
    return made, is_new


def asked(run: Run):
    return make_directive(
        control_state_of(run), asked_seq=None, messages=queued_messages(run.id, at=NOON)
    )


def test_an_ended_run_begins_again_with_the_correction():
    run = report_messages(a_run(policy=BROKER), 6)

    made, _ = restart(run, decision=Decision.objects.get().id, version=run.version)

    fresh = Run.objects.get(pk=made.new_run)
    assert asked(fresh).action == "proceed"
    assert [message.text for message in asked(fresh).messages] == [CORRECTION]
    assert asked(run).action == "stop"


def test_the_restarted_run_has_the_description_of_the_old_one():
    boss = a_run(a_project(), name="boss")
    run = report_messages(
        a_run(
            boss.project,
            name="fix",
            agent="coder",
            goal="Make it pass",
            mode="auto",
            policy=BROKER,
            controller=boss.id,
            workspace=("a.py",),
        ),
        6,
    )

    made, _ = restart(run)

    fresh = Run.objects.get(pk=made.new_run)
    same = ("name", "agent", "goal", "mode", "policy", "controller_id", "workspace", "project_id")
    assert [getattr(fresh, name) for name in same] == [getattr(run, name) for name in same]
    assert (fresh.parent_id, fresh.meters.last_seq, fresh.status) == (run.id, -1, "running")


def test_the_restarted_run_is_found_by_its_key_and_linked_in_the_journal():
    run = report_messages(a_run(policy=BROKER), 6)

    made, _ = restart(run)

    fresh = Run.objects.get(pk=made.new_run)
    kinds = JournalRow.objects.filter(run=fresh).order_by("seq").values_list("type", flat=True)
    assert list(kinds) == ["run.opened", "run.linked", "message.queued"]
    assert a_run(run.project, key=fresh.key).id == fresh.id


def test_the_restarted_runs_directive_carries_the_message_until_delivery():
    run = report_messages(a_run(policy=BROKER), 6)
    made, _ = restart(run)
    fresh = Run.objects.get(pk=made.new_run)

    fresh = report_messages(fresh, 1, "I begin with src/grammar.py.")

    assert [message.text for message in asked(fresh).messages] == [CORRECTION]


def test_a_restart_ends_a_held_run():
    run = a_stuck_run()

    made, _ = restart(run, decision=run.open_decision, version=run.version)

    assert (run.status, asked(run).action, asked(run).call) == ("stopping", "stop", "skip")
    assert Decision.objects.get().resolution == "restart"
    assert Intervention.objects.get().new_run_id == made.new_run


def test_the_old_run_is_terminated_once_its_agent_has_gone():
    run = a_stuck_run()
    restart(run)

    run = interventions.report_end(
        run.id, "failed", projects=[run.project_id], by="agent", at=after(9)
    )

    assert run.status == "terminated"
    assert Intervention.objects.get().status == "acknowledged"


def test_a_restart_of_a_terminated_run_is_done_at_once():
    run = report_messages(a_run(policy=BROKER), 6)
    interventions.report_end(run.id, "failed", projects=[run.project_id], by="agent", at=NOON)

    made, _ = restart(run)

    assert made.status == "acknowledged"


def test_the_same_key_opens_no_second_run():
    run = report_messages(a_run(policy=BROKER), 6)
    first, _ = restart(run)

    again, is_new = restart(run)

    assert (again.new_run, is_new) == (first.new_run, False)
    assert Run.objects.filter(parent=run).count() == 1


def test_a_restart_needs_a_message():
    run = report_messages(a_run(policy=BROKER), 6)

    with pytest.raises(InvalidRequest, match="message"):
        restart(run, message=" ")

    assert not Run.objects.filter(parent=run).exists()


def test_a_card_seen_at_another_version_is_refused():
    run = a_stuck_run()

    with pytest.raises(StaleRun):
        restart(run, version=run.version - 1)


def test_an_agent_that_cannot_be_ended_is_not_restarted():
    run = a_stuck_run(capabilities={"terminate": "not"}, agent="codex")

    with pytest.raises(ActionUnavailable, match="codex cannot be ended"):
        restart(run)


def test_the_restarted_run_starts_with_no_counts():
    run = report_messages(a_run(policy=BROKER), 6)
    made, _ = restart(run)

    fresh = report_messages(Run.objects.get(pk=made.new_run), 3)

    assert (fresh.open_decision, fresh.meters.tool_calls) == (None, 0)
    assert report(fresh).status == "running"
