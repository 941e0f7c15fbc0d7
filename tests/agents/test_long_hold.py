"""A hold as long as a person's lunch: longer than any default time-out of the client.

Outside `.ci/run`: `pytest -m long`, about sixteen minutes.
"""

import time

import pytest

from tests.agents.claude_loops import CORRECTION, LOOP, MOST_REQUESTS, looping_with
from tests.agents.messages_api import Reply
from tests.agents.person import Person
from tests.installations import PATIENCE_S

pytestmark = pytest.mark.long

HELD_S = 15 * 60
"""Claude Code gives an HTTP hook 600 s unless its settings say more."""


def reads_until_corrected(conversation):
    if CORRECTION in conversation.text or len(conversation.calls()) > MOST_REQUESTS:
        return Reply(text="Thank you.")
    return Reply(calls=LOOP)


@pytest.mark.parametrize("via", ["http", "command"])
def test_a_hold_of_fifteen_minutes_ends_with_the_persons_answer(installation, model, claude, via):
    story = looping_with(model, claude)(installation, reads_until_corrected, "--via", via)
    person = Person(installation)

    for _ in range(HELD_S // 30):
        time.sleep(30)
        assert story.process.poll() is None
        assert person.run(story.run)["status"] == "held"
    person.tap(person.open_card(story.run), "inject", message=CORRECTION)

    assert story.process.wait(PATIENCE_S) == 0
    assert len(story.api.conversations) == 4
    assert CORRECTION in story.api.conversations[3].last
