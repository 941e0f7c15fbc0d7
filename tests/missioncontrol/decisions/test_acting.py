"""Whether a turn takes up what a message says, by what it names."""

import pytest

from missioncontrol.decisions.conversation import find_acting_turn


@pytest.mark.parametrize(
    ("message", "turn"),
    [
        ("Per invoice, half up. See docs/billing.md, section 4.", "Read docs/billing.md"),
        ("Change it in app/auth/token.py.", '{"file_path": "app/auth/token.py"}'),
        ("Then run `make check`, please.", "make check && echo done"),
        ("Use round_half_up for it", "def total(): return round_half_up(x)"),
        ("Skip the two legacy plans, they end in December.", "I leave the legacy plans out."),
    ],
)
def test_a_turn_that_names_the_file_command_or_words_acts_on_the_message(message, turn):
    assert find_acting_turn(message, [], [(7, "ls -l"), (8, turn)]) == 8


@pytest.mark.parametrize(
    ("message", "turn"),
    [
        ("Skip the two legacy plans, they end in December.", "pytest tests/plans"),
        ("Please go on", "I go on, please wait."),
        ("Read docs/billing.md", "cat docs/other.md"),
        ("", "anything"),
    ],
)
def test_a_turn_that_names_nothing_of_the_message_does_not_act_on_it(message, turn):
    assert find_acting_turn(message, [], [(7, turn)]) is None


def test_what_it_did_before_anyway_proves_nothing():
    before = ["pytest tests/billing", "pytest tests/billing"]

    assert (
        find_acting_turn("Run only tests/billing.", before, [(7, "pytest tests/billing")]) is None
    )
