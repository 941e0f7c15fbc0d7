"""What a client does between its turns, and that it is missed when it is gone."""

import pytest

from guard.turn import Role, Turn
from missioncontrol.decisions import deadlines, interventions, sessions
from missioncontrol.decisions.actions import Tap
from missioncontrol.runs.ingest import Arrival, store
from tests.build import NOON, a_proposal, a_run, a_stuck_run, after, put

pytestmark = pytest.mark.django_db

LONG_AGO = after(-3600)


def reported(run, *turns, at=NOON, presence=None):
    store([Arrival(run=run.id, project=run.project_id, turns=turns, presence=presence)], at=at)
    run.refresh_from_db()
    return run


def vouched(run, *, witness="one", at=NOON, for_s=45.0):
    sessions.record_heartbeat(run.id, witness=witness, for_s=for_s, at=at)
    run.refresh_from_db()
    return run


def sweep(run, *, at, since=LONG_AGO):
    deadlines.lose_overdue_clients(at=at, listening_since=since)
    deadlines.end_stopped_sessions(at=at)
    run.refresh_from_db()
    return run


def terminated(run, *, at=NOON):
    tap = Tap(key="end", action="terminate", version=run.version)
    interventions.intervene(run.id, tap, projects=[run.project_id], by="ana", at=at)
    run.refresh_from_db()
    return run


# --- what it does ------------------------------------------------------------------


def test_a_run_works_until_its_client_says_otherwise():
    run = reported(a_run(), a_proposal())

    assert run.meters.presence == "working"


@pytest.mark.parametrize("presence", ["idle", "waiting"])
def test_what_its_client_says_stands_until_its_next_turn(presence):
    run = reported(a_run(), presence=presence)
    assert run.meters.presence == presence

    assert reported(run, a_proposal()).meters.presence == "working"


def test_the_turn_that_ends_its_work_leaves_it_idle():
    last = Turn(role=Role.ASSISTANT, content="Done.")

    assert reported(a_run(), last, presence="idle").meters.presence == "idle"


# --- whether it is there -----------------------------------------------------------


def test_a_client_that_misses_its_heartbeat_is_lost():
    run = vouched(a_run())

    assert sweep(run, at=after(44)).status == "running"
    run = sweep(run, at=after(46))

    assert (run.status, run.meters.presence) == ("lost", "gone")


def test_a_client_with_heartbeats_in_time_is_not_lost():
    run = vouched(vouched(a_run()), at=after(40))

    assert sweep(run, at=after(80)).status == "running"


def test_a_client_without_heartbeats_is_lost_after_thirty_minutes():
    run = reported(a_run(), a_proposal())

    run = sweep(run, at=after(29 * 60))
    assert (run.status, run.meters.presence) == ("running", "working")

    deadlines.lose_silent_runs(at=after(31 * 60), listening_since=LONG_AGO)
    run.refresh_from_db()
    assert (run.status, run.meters.presence) == ("lost", "gone")


def test_a_client_with_heartbeats_may_be_idle_for_hours():
    run = vouched(reported(a_run(), a_proposal(), presence="idle"), at=after(3600))

    deadlines.lose_silent_runs(at=after(3610), listening_since=LONG_AGO)
    run.refresh_from_db()

    assert (run.status, run.meters.presence) == ("running", "idle")


def test_nobody_is_lost_while_the_server_itself_was_away():
    run = vouched(a_run())

    assert sweep(run, at=after(600), since=after(590)).status == "running"
    assert sweep(run, at=after(600), since=after(500)).status == "lost"


def test_nobody_falls_silent_while_the_machine_was_asleep():
    run = reported(a_run(), a_proposal())
    woken = 8 * 3600

    deadlines.lose_silent_runs(at=after(woken + 240), listening_since=after(woken))
    assert sweep(run, at=after(woken + 240)).status == "running"

    deadlines.lose_silent_runs(at=after(woken + 300), listening_since=after(woken))
    assert sweep(run, at=after(woken + 300)).status == "lost"


def test_a_client_whose_process_died_is_lost_at_once():
    run = vouched(a_run())

    sessions.record_process_end(run.id, witness="one", at=after(2))
    run.refresh_from_db()

    assert (run.status, run.meters.presence) == ("lost", "gone")


def test_the_end_of_an_earlier_process_is_no_loss_of_a_resumed_session():
    run = vouched(vouched(a_run(), witness="one"), witness="two", at=after(1))

    sessions.record_process_end(run.id, witness="one", at=after(2))
    run.refresh_from_db()

    assert run.status == "running"


def test_a_heartbeat_brings_a_lost_run_back():
    run = sweep(vouched(a_run()), at=after(60))

    assert vouched(run, at=after(70)).status == "running"
    assert run.meters.presence == "working"


def test_a_process_that_lives_on_does_not_revive_what_was_completed():
    run = vouched(a_run())
    sessions.end_session(run.id, at=after(5))

    assert vouched(run, at=after(20)).status == "completed"


def test_a_held_call_of_a_client_that_is_gone_keeps_its_card():
    run = vouched(a_stuck_run())
    sessions.record_waiting(run.id, at=after(1))

    sessions.record_process_end(run.id, witness="one", at=after(2))
    run.refresh_from_db()

    assert (run.status, run.meters.presence) == ("held", "gone")
    assert run.open_decision is not None


# --- a stop that has done its work ---------------------------------------------------


def test_a_stopped_session_whose_turn_has_ended_is_terminated():
    run = terminated(put(a_run(), a_proposal()).run)
    assert run.status == "stopping"
    reported(run, presence="idle", at=after(3))

    assert sweep(run, at=after(4)).status == "stopping"
    assert sweep(run, at=after(10)).status == "terminated"


def test_a_stopped_session_that_works_on_is_still_stopping():
    run = terminated(put(a_run(), a_proposal()).run)

    assert sweep(run, at=after(600)).status == "stopping"


def test_a_stopped_client_that_is_gone_is_terminated():
    run = terminated(vouched(a_run()))

    assert sweep(run, at=after(60)).status == "terminated"
