"""The run's life as a table."""

import pytest

from missioncontrol.errors import NoSuchMove
from missioncontrol.runs.lifecycle import (
    ENDED,
    FORBIDDEN,
    TABLE,
    Move,
    Status,
    after,
    moves_version,
)


def test_a_held_agent_that_is_released_runs():
    assert after(Status.HELD, Move.RELEASE) is Status.RUNNING


def test_a_stop_wins_over_a_continue_that_crosses_it():
    assert after(Status.STOPPING, Move.RELEASE) is Status.STOPPING


def test_an_end_reported_while_stopping_is_a_termination():
    assert after(Status.STOPPING, Move.COMPLETE) is Status.TERMINATED
    assert after(Status.STOPPING, Move.FAIL) is Status.TERMINATED


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.LOST])
def test_an_ended_run_that_speaks_again_runs(status):
    assert after(status, Move.SPEAK) is Status.RUNNING


@pytest.mark.parametrize("move", list(Move))
def test_a_terminated_run_stays_terminated(move):
    if (Status.TERMINATED, move) in TABLE:
        assert after(Status.TERMINATED, move) is Status.TERMINATED


def test_a_move_that_is_not_in_the_table_is_refused():
    with pytest.raises(NoSuchMove, match="completed cannot hold"):
        after(Status.COMPLETED, Move.HOLD)


def test_every_status_can_hear_a_stop_and_none_leaves_it_running():
    for status in Status:
        assert after(status, Move.STOP) in FORBIDDEN


def test_knowing_that_the_agent_waits_does_not_move_the_version():
    assert not moves_version(Status.HOLDING, Status.HELD)
    assert not moves_version(Status.HELD, Status.HOLDING)


def test_an_end_and_a_comeback_move_the_version():
    assert moves_version(Status.RUNNING, Status.COMPLETED)
    assert moves_version(Status.LOST, Status.RUNNING)


def test_another_end_moves_the_version_and_the_same_one_does_not():
    assert moves_version(Status.COMPLETED, Status.FAILED)
    assert not moves_version(Status.COMPLETED, Status.COMPLETED)


def test_every_row_of_the_table_names_real_states():
    assert {status for status, _ in TABLE} == set(Status)
    assert set(Status) > ENDED


def test_a_lost_run_that_says_goodbye_is_known_to_have_ended():
    assert after(Status.LOST, Move.END) is Status.COMPLETED
