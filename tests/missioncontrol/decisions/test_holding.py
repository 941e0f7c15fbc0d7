"""How a hold ends when the agent leaves it: it gives up, is parked, is killed."""

import json
from datetime import timedelta

import pytest

from missioncontrol.costs import counting
from missioncontrol.decisions import allowlist, deadlines, holding, interventions, sessions
from missioncontrol.decisions.actions import Tap
from missioncontrol.decisions.allowlist import NewAllowlistEntry
from missioncontrol.decisions.models import Decision, Intervention
from missioncontrol.decisions.rows import decision_row
from missioncontrol.runs.journal import lock_runs
from missioncontrol.runs.models import JournalRow, Run, RunMeters
from tests.build import NOON, a_call, a_run, a_stuck_run, after, report

pytestmark = pytest.mark.django_db

CALL = 'Bash {"command":"pytest -q"}'


def held(**fields):
    run = a_stuck_run(**fields)
    sessions.record_waiting(run.id, at=after(1))
    run.refresh_from_db()
    return run


def tap(run, action, **fields):
    run.refresh_from_db()
    return interventions.intervene(
        run.id,
        Tap(
            key=f"{action}-{run.version}",
            action=action,
            version=run.version,
            decision=run.open_decision,
            **fields,
        ),
        projects=[run.project_id],
        by="ana",
        at=after(60),
    )[0]


def answer_of(run):
    return Intervention.objects.filter(run=run).latest("id").status


# --- how long a hold lasts -----------------------------------------------------


def test_a_hold_ends_before_the_hook_that_waits_for_it(project):
    project.hold_limit = 7200
    project.save()

    run = held(project=project, capabilities={"patience_s": 3840})

    assert run.hold.expires_at == NOON + timedelta(seconds=3840)
    assert Decision.objects.get().expires_at == run.hold.expires_at


def test_a_hold_that_is_asked_for_twice_is_counted_from_the_first():
    run = a_run()
    for seconds in (0, 10):
        with lock_runs([run.id], at=after(seconds)) as tx:
            holding.hold(tx, tx.run(run.id), by="ana", reason="Paused.", from_seq=0)
    with lock_runs([run.id], at=after(30)) as tx:
        holding.release(tx, tx.run(run.id), by="ana", reason="go on")

    run.refresh_from_db()
    assert run.meters.held_seconds == 30


def test_a_persons_answer_forgives_each_agents_failures_and_nothing_else():
    run = Run()
    RunMeters(run=run, failures=3, agents_spent={"critic": ["1.50", 900, 3, 4, 2, 7]})

    counting.reset_failures(run)

    assert run.meters.failures == 0
    assert run.meters.agents_spent == {"critic": ["1.50", 900, 3, 4, 0, 7]}


def test_the_journal_says_why_a_run_was_ended_whatever_it_says_at_its_end(project):
    run = a_run(project)
    with lock_runs([run.id], at=NOON) as tx:
        sessions.stop_run(tx, tx.run(run.id), by="ana", reason="It loops.")
    interventions.report_end(run.id, "completed", projects=[project.id], by="agent", at=after(5))

    row = JournalRow.objects.get(run=run, type="session.terminated")
    assert json.loads(row.payload)["reason"] == "It loops."


def test_an_agent_that_waits_as_long_as_it_takes_is_held_for_the_projects_limit():
    assert held().hold.expires_at == NOON + timedelta(seconds=3600)


def test_an_agent_cannot_have_its_hold_expire_at_once():
    run = held(capabilities={"patience_s": 0.001})

    assert run.hold.expires_at == NOON + timedelta(seconds=60)
    assert Decision.objects.get().expires_at == run.hold.expires_at


def test_a_project_may_hold_for_less_than_an_agent_may(project):
    project.hold_limit = 30
    project.save()

    run = held(project=project, capabilities={"patience_s": 1})

    assert run.hold.expires_at == NOON + timedelta(seconds=30)


# --- nobody there to take the answer ---------------------------------------------


def test_an_answer_to_an_agent_that_gave_up_is_unreachable():
    run = held()
    deadlines.give_up_abandoned_holds(at=after(20))

    assert tap(run, "continue").status == "unreachable"


def test_an_agent_that_returns_receives_the_answer():
    run = held()
    deadlines.give_up_abandoned_holds(at=after(20))
    tap(run, "continue")

    sessions.record_answer_sent(run.id, run.meters.unconfirmed, at=after(70))
    assert answer_of(run) == "delivered"
    report(run, a_call("ls", key="later", result="one"), at=after(71))
    assert answer_of(run) == "acknowledged"


def test_an_answer_not_taken_within_ten_seconds_is_unreachable():
    run = held()
    tap(run, "inject", message="Look in b.py")

    deadlines.mark_unreachable_answers(at=after(69))
    assert answer_of(run) == "asked"
    deadlines.mark_unreachable_answers(at=after(71))
    assert answer_of(run) == "unreachable"


def test_a_delivered_answer_is_not_marked_unreachable():
    run = held()
    tap(run, "continue")
    sessions.record_answer_sent(run.id, run.meters.unconfirmed, at=after(61))

    deadlines.mark_unreachable_answers(at=after(600))

    assert answer_of(run) == "delivered"


def test_an_answer_to_an_agent_that_was_not_held_stays_asked():
    run = a_run()
    report(run, a_call("make", result="still at it"))
    interventions.intervene(
        run.id, Tap(key="t", action="terminate"), projects=[run.project_id], by="ana", at=after(60)
    )

    deadlines.mark_unreachable_answers(at=after(600))

    assert answer_of(run) == "asked"


# --- parked ------------------------------------------------------------------------


def parked():
    run = held(agent="claude-code", key="claude-code:0491")
    sessions.park_session(run.id, at=after(20))
    sessions.end_session(run.id, at=after(21))
    run.refresh_from_db()
    return run


def test_a_parked_session_is_still_held_though_its_process_ended():
    run = parked()

    assert (run.status, run.parked, run.open_decision is not None) == ("holding", True, True)
    row = decision_row(Decision.objects.get(), run)
    assert (row.parked, row.gave_up_at) == (True, after(20))


def test_a_parked_session_is_not_lost_for_its_silence():
    run = parked()

    deadlines.lose_silent_runs(at=after(3500), listening_since=NOON)

    run.refresh_from_db()
    assert run.status == "holding"


def test_the_answer_to_a_parked_session_waits_for_it():
    run = parked()
    assert tap(run, "inject", message="Look in b.py").status == "asked"

    deadlines.mark_unreachable_answers(at=after(600))

    assert answer_of(run) == "asked"


def test_the_end_of_the_process_that_parked_it_loses_no_answer():
    run = held(agent="claude-code", key="claude-code:0492")
    sessions.record_heartbeat(run.id, witness="parked it", for_s=45, at=after(1))
    sessions.park_session(run.id, at=after(20))
    tap(run, "continue")

    sessions.record_process_end(run.id, witness="parked it", at=after(41))
    deadlines.lose_overdue_clients(at=after(200), listening_since=NOON)
    run.refresh_from_db()
    assert (run.status, answer_of(run)) == ("running", "asked")

    sessions.unpark_session(run.id, at=after(210))
    sessions.record_process_end(run.id, witness="parked it", at=after(211))
    run.refresh_from_db()
    assert (run.status, answer_of(run)) == ("running", "asked")


def test_ending_a_parked_session_ends_it_at_once():
    run = parked()

    tap(run, "terminate")

    run.refresh_from_db()
    assert run.status == "terminated"
    assert JournalRow.objects.filter(run=run, type="session.terminated").count() == 1


def test_a_parked_session_that_is_resumed_unanswered_waits_again():
    run = parked()
    sessions.unpark_session(run.id, at=after(40))

    sessions.record_waiting(run.id, at=after(41))

    run.refresh_from_db()
    assert (run.status, run.parked, run.hold.gave_up_at) == ("held", False, None)


def test_a_parked_session_resumed_after_its_answer_ends_like_any_other():
    run = parked()
    tap(run, "continue")
    sessions.unpark_session(run.id, at=after(70))

    sessions.end_session(run.id, at=after(80))

    run.refresh_from_db()
    assert run.status == "completed"


def test_a_running_session_cannot_be_parked():
    run = a_run()

    sessions.park_session(run.id, at=NOON)

    run.refresh_from_db()
    assert not run.parked


# --- permission ----------------------------------------------------------------------


def an_entry(run, pattern=CALL, **fields):
    made = {"by": "ana", "at": NOON}
    made |= {name: fields.pop(name) for name in made.keys() & fields.keys()}
    asked = NewAllowlistEntry(**({"scope": "project", "pattern": pattern} | fields))
    return allowlist.add_entry(run.project_id, asked, **made)


def test_only_exactly_the_allowlisted_call_is_permitted():
    run = a_run()
    an_entry(run)

    assert allowlist.find_grant(run, CALL, at=NOON) == "session"
    assert allowlist.find_grant(run, CALL.replace("-q", "-qq"), at=NOON) is None


def test_a_glob_permits_nothing():
    run = a_run()
    an_entry(run, pattern="Bash *", match="glob")

    assert allowlist.find_grant(run, CALL, at=NOON) is None


def test_an_expiring_entry_permits_calls_one_at_a_time():
    run = a_run()
    an_entry(run, expires_at=after(60))

    assert allowlist.find_grant(run, CALL, at=after(59)) == "once"
    assert allowlist.find_grant(run, CALL, at=after(61)) is None


def test_an_allowlist_tap_without_a_scope_is_for_that_run():
    stuck = held()
    tap(stuck, "allowlist")

    assert allowlist.find_grant(stuck, CALL, at=after(61)) == "session"
    assert allowlist.find_grant(a_run(stuck.project), CALL, at=after(61)) is None


def test_an_entry_for_another_run_permits_nothing_here():
    stuck = held()
    tap(stuck, "allowlist", scope="run")

    assert allowlist.find_grant(stuck, CALL, at=after(61)) == "session"
    assert allowlist.find_grant(a_run(stuck.project), CALL, at=after(61)) is None
