"""The run's life as a table."""

import pytest

from missioncontrol.errors import NoSuchMove
from missioncontrol.runs.lifecycle import (
    ENDED,
    MUST_STOP,
    TABLE,
    Move,
    Status,
    next_status,
    raises_version,
)


def test_a_held_agent_that_is_released_runs():
    assert next_status(Status.HELD, Move.RELEASE) is Status.RUNNING


def test_a_stop_wins_over_a_continue_that_crosses_it():
    assert next_status(Status.STOPPING, Move.RELEASE) is Status.STOPPING


def test_an_end_reported_while_stopping_is_a_termination():
    assert next_status(Status.STOPPING, Move.COMPLETE) is Status.TERMINATED
    assert next_status(Status.STOPPING, Move.FAIL) is Status.TERMINATED


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.LOST])
def test_an_ended_run_that_speaks_again_runs(status):
    assert next_status(status, Move.SPEAK) is Status.RUNNING


@pytest.mark.parametrize("move", list(Move))
def test_a_terminated_run_stays_terminated(move):
    if (Status.TERMINATED, move) in TABLE:
        assert next_status(Status.TERMINATED, move) is Status.TERMINATED


def test_a_move_that_is_not_in_the_table_is_refused():
    with pytest.raises(NoSuchMove, match="completed cannot hold"):
        next_status(Status.COMPLETED, Move.HOLD)


def test_a_stop_is_possible_in_every_status_and_none_stays_running():
    for status in Status:
        assert next_status(status, Move.STOP) in MUST_STOP


def test_knowing_that_the_agent_waits_does_not_move_the_version():
    assert not raises_version(Status.HOLDING, Status.HELD)
    assert not raises_version(Status.HELD, Status.HOLDING)


def test_an_end_and_a_comeback_move_the_version():
    assert raises_version(Status.RUNNING, Status.COMPLETED)
    assert raises_version(Status.LOST, Status.RUNNING)


def test_another_end_moves_the_version_and_the_same_one_does_not():
    assert raises_version(Status.COMPLETED, Status.FAILED)
    assert not raises_version(Status.COMPLETED, Status.COMPLETED)


def test_every_row_of_the_table_names_real_states():
    assert {status for status, _ in TABLE} == set(Status)
    assert set(Status) > ENDED


def test_a_lost_run_that_reports_its_end_has_ended():
    assert next_status(Status.LOST, Move.END) is Status.COMPLETED
