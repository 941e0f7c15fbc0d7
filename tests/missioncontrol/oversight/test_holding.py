"""How a hold ends when the agent leaves it: it gives up, is parked, is killed."""

from datetime import timedelta

import pytest

from missioncontrol.oversight import allowlist, answers, services
from missioncontrol.oversight.models import Decision, Intervention
from missioncontrol.oversight.rows import decision_row
from missioncontrol.oversight.taps import Tap
from missioncontrol.runs.models import JournalRow
from tests.build import NOON, a_call, a_run, a_stuck_run, after, report

pytestmark = pytest.mark.django_db

CALL = 'Bash {"command":"pytest -q"}'


def held(**said):
    run = a_stuck_run(**said)
    services.note_waiting([run.id], at=after(1))
    run.refresh_from_db()
    return run


def tap(run, action, **said):
    run.refresh_from_db()
    return answers.intervene(
        run.id,
        Tap(
            key=f"{action}-{run.version}", action=action, version=run.version,
            decision=run.open_decision, **said,
        ),
        projects=[run.project_id], by="ana", at=after(60),
    )[0]  # fmt: skip


def answer_of(run):
    return Intervention.objects.filter(run=run).latest("id").status


# --- how long a hold lasts -----------------------------------------------------


def test_a_hold_ends_before_the_hook_that_waits_for_it(project):
    project.hold_limit = 7200
    project.save()

    run = held(project=project, capabilities={"patience_s": 3840})

    assert run.hold_expires_at == NOON + timedelta(seconds=3840)
    assert Decision.objects.get().expires_at == run.hold_expires_at


def test_an_agent_that_waits_as_long_as_it_takes_is_held_for_the_projects_limit():
    assert held().hold_expires_at == NOON + timedelta(seconds=3600)


def test_an_agent_cannot_have_its_hold_expire_at_once():
    run = held(capabilities={"patience_s": 0.001})

    assert run.hold_expires_at == NOON + timedelta(seconds=60)
    assert Decision.objects.get().expires_at == run.hold_expires_at


def test_a_project_may_hold_for_less_than_an_agent_may(project):
    project.hold_limit = 30
    project.save()

    run = held(project=project, capabilities={"patience_s": 1})

    assert run.hold_expires_at == NOON + timedelta(seconds=30)


# --- nobody there to take the answer ---------------------------------------------


def test_an_answer_to_an_agent_that_gave_up_says_that_it_reached_nobody():
    run = held()
    services.give_up_abandoned(at=after(20))

    assert tap(run, "continue").status == "unreachable"


def test_an_agent_that_comes_back_takes_the_answer_after_all():
    run = held()
    services.give_up_abandoned(at=after(20))
    tap(run, "continue")

    services.note_answered(run.id, at=after(70))
    assert answer_of(run) == "delivered"
    report(run, a_call("ls", key="later", result="one"), at=after(71))
    assert answer_of(run) == "acknowledged"


def test_an_answer_nobody_took_within_ten_seconds_reached_nobody():
    run = held()
    tap(run, "inject", message="Look in b.py")

    services.miss_unheard(at=after(69))
    assert answer_of(run) == "asked"
    services.miss_unheard(at=after(71))
    assert answer_of(run) == "unreachable"


def test_an_answer_that_was_taken_is_not_missed():
    run = held()
    tap(run, "continue")
    services.note_answered(run.id, at=after(61))

    services.miss_unheard(at=after(600))

    assert answer_of(run) == "delivered"


def test_an_agent_that_was_not_held_may_take_its_time():
    run = a_run()
    report(run, a_call("make", result="still at it"))
    answers.intervene(
        run.id, Tap(key="t", action="terminate"), projects=[run.project_id], by="ana", at=after(60)
    )

    services.miss_unheard(at=after(600))

    assert answer_of(run) == "asked"


# --- parked ------------------------------------------------------------------------


def parked():
    run = held(agent="claude-code", key="claude-code:0491")
    services.park(run.id, at=after(20))
    services.end_session(run.id, at=after(21))
    run.refresh_from_db()
    return run


def test_a_parked_session_is_still_held_though_its_process_ended():
    run = parked()

    assert (run.status, run.parked, run.open_decision is not None) == ("holding", True, True)
    row = decision_row(Decision.objects.get(), run)
    assert (row.parked, row.gave_up_at) == (True, after(20))


def test_a_parked_session_is_not_lost_for_its_silence():
    run = parked()

    services.lose_silent(at=after(3500))

    run.refresh_from_db()
    assert run.status == "holding"


def test_the_answer_to_a_parked_session_waits_for_it():
    run = parked()
    assert tap(run, "inject", message="Look in b.py").status == "asked"

    services.miss_unheard(at=after(600))

    assert answer_of(run) == "asked"


def test_ending_a_parked_session_ends_it_at_once():
    run = parked()

    tap(run, "terminate")

    run.refresh_from_db()
    assert run.status == "terminated"
    assert JournalRow.objects.filter(run=run, type="session.terminated").count() == 1


def test_a_parked_session_that_is_resumed_unanswered_waits_again():
    run = parked()
    services.unpark(run.id, at=after(40))

    services.note_waiting([run.id], at=after(41))

    run.refresh_from_db()
    assert (run.status, run.parked, run.gave_up_at) == ("held", False, None)


def test_a_parked_session_resumed_after_its_answer_ends_like_any_other():
    run = parked()
    tap(run, "continue")
    services.unpark(run.id, at=after(70))

    services.end_session(run.id, at=after(80))

    run.refresh_from_db()
    assert run.status == "completed"


def test_a_running_session_cannot_be_parked():
    run = a_run()

    services.park(run.id, at=NOON)

    run.refresh_from_db()
    assert not run.parked


# --- permission ----------------------------------------------------------------------


def an_entry(run, pattern=CALL, **said):
    told = {"scope": "project", "match": "exact", "by": "ana", "at": NOON, "pattern": pattern}
    return allowlist.add_entry(run.project_id, **(told | said))


def test_only_exactly_the_allowlisted_call_is_permitted():
    run = a_run()
    an_entry(run)

    assert allowlist.grant_of(run, CALL, at=NOON) == "session"
    assert allowlist.grant_of(run, CALL.replace("-q", "-qq"), at=NOON) is None


def test_a_glob_permits_nothing():
    run = a_run()
    an_entry(run, pattern="Bash *", match="glob")

    assert allowlist.grant_of(run, CALL, at=NOON) is None


def test_an_entry_that_ends_permits_once_and_then_no_more():
    run = a_run()
    an_entry(run, expires_at=after(60))

    assert allowlist.grant_of(run, CALL, at=after(59)) == "once"
    assert allowlist.grant_of(run, CALL, at=after(61)) is None


def test_an_entry_for_another_run_permits_nothing_here():
    stuck = held()
    tap(stuck, "allowlist", scope="run")

    assert allowlist.grant_of(stuck, CALL, at=after(61)) == "session"
    assert allowlist.grant_of(a_run(stuck.project), CALL, at=after(61)) is None
