"""Logs that leave the actions out: only what was said beside them is known."""

from __future__ import annotations

import pytest

from guard.reading.messages import ANNOUNCES
from tests.guard.build import a_call, a_message, first_trip

STEPS = (
    "Let me run the tests of the cart.",
    "Now I will edit the total of the cart.",
    "Let's run the cart's tests again.",
    "I need to look at the total once more.",
    "Let me edit the cart's total.",
    "Now let me run the tests of the total.",
)


def test_announced_actions_may_each_be_another():
    assert first_trip([a_message(text) for text in STEPS[:5] * 2]) is None


def test_the_same_announcement_counts_as_a_call_without_results():
    assert first_trip([a_message(STEPS[0])] * 5) == 3


def test_announcements_that_never_end_are_found():
    assert first_trip([a_message(text) for text in STEPS * 3]) is not None


def test_a_action_announced_without_a_thing_is_empty_talk():
    sorry = ("Sorry, let me correct that.", "I will correct it now.", "Apologies, let me fix it.")

    assert first_trip([a_message(text) for text in sorry * 3]) in range(3, 8)


def test_where_calls_are_told_announcing_without_doing_is_found_as_ever():
    read = a_call("Read", "total = None", path="cart.py")

    assert first_trip([read, *(a_message(text) for text in STEPS)]) in range(4, 7)


@pytest.mark.parametrize(
    "text",
    [
        "Let\u2019s see.",
        "I'll go on.",
        "Next, I open it.",
        "We should ask.",
    ],
)
def test_it_tells_what_is_about_to_be_done(text):
    assert ANNOUNCES.occurs_in(text)


@pytest.mark.parametrize("text", ["It is done.", "The letter was sent.", "Outlet me.", ""])
def test_it_tells_what_is_only_said(text):
    assert not ANNOUNCES.occurs_in(text)
