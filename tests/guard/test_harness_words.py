"""What a harness writes around an agent's turns, or instead of an answer, moves nothing."""

from __future__ import annotations

import pytest

from tests.guard.build import a_call, a_message, first_trip

OPEN = a_call("browser_open", "A form with a name and a password.", url="https://mill.example")
CLICK = "Eval: unknown\nGoal: click the Enter button."


@pytest.mark.parametrize(
    "stamp",
    [
        "📍 Step {}",
        "=== STEP {} ===",
        "Executing step {}/20",
        "[Turn {}/30]",
        "**Iteration {}**",
        "[12:03:1{}]",
        "[2026-11-25T12:03:1{}Z] The form is open.",
    ],
)
def test_a_stamp_over_a_message_does_not_make_it_another(stamp):
    said = [a_message(f"{stamp.format(at)}\n{CLICK}") for at in range(2, 6)]

    assert first_trip([OPEN, *said]) == 3


@pytest.mark.parametrize("counted", ["Batch {} of 9 is in.", "Step {}: oil the wheel.", "Page {}"])
def test_what_counts_its_own_work_goes_on(counted):
    said = [a_message(counted.format(at)) for at in range(1, 7)]

    assert first_trip([OPEN, *said]) is None
