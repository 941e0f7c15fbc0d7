"""What the agent must do now follows from the columns of its run alone."""

import pytest

from guard.wire import CallAction, DirectiveAction
from missioncontrol.decisions.directives import ControlState, make_directive


def control_state(**fields):
    defaults = {
        "version": 3,
        "status": "running",
        "reason": "",
        "open_decision": None,
        "skip_from_seq": -1,
        "skip_through_seq": -1,
        "queued_messages": 0,
        "last_obs": 9,
        "detected_obs": 9,
        "unconfirmed": None,
        "on_hold": False,
    }
    return ControlState(**{**defaults, **fields})


@pytest.mark.parametrize(
    ("seq", "call"),
    [
        (4, CallAction.RUN),
        (5, CallAction.SKIP),
        (6, CallAction.SKIP),
        (7, CallAction.SKIP),
        (8, CallAction.RUN),
        (None, CallAction.RUN),
    ],
)
def test_the_calls_that_a_correction_answered_are_skipped_from_first_to_last(seq, call):
    answer = make_directive(control_state(skip_from_seq=5, skip_through_seq=7), asked_seq=seq)

    assert answer.call is call


@pytest.mark.parametrize("status", ["stopping", "terminated"])
@pytest.mark.parametrize("on_hold", [True, False])
def test_a_stop_wins_over_a_hold_and_no_call_runs(status, on_hold):
    answer = make_directive(control_state(status=status, on_hold=on_hold), asked_seq=4)

    assert (answer.action, answer.call) == (DirectiveAction.STOP, CallAction.SKIP)


@pytest.mark.parametrize(
    ("status", "on_hold", "action"),
    [
        ("running", False, DirectiveAction.PROCEED),
        ("holding", True, DirectiveAction.HOLD),
        ("held", True, DirectiveAction.HOLD),
        ("completed", True, DirectiveAction.HOLD),
        ("lost", False, DirectiveAction.PROCEED),
    ],
)
def test_a_hold_outlives_the_session_that_it_held(status, on_hold, action):
    answer = make_directive(control_state(status=status, on_hold=on_hold), asked_seq=None)

    assert answer.action is action


def test_a_directive_gives_its_reason_if_there_is_one():
    assert make_directive(control_state(reason="Wait."), asked_seq=None).reason == "Wait."
    assert make_directive(control_state(), asked_seq=None).reason is None
