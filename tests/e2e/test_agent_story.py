"""The whole story: a real agent goes in a circle, a phone frees it, a desk sees it go on."""

import pytest
from playwright.sync_api import expect

from tests.agents.claude_code import binary
from tests.agents.claude_loops import CORRECTION, LOOP, MOST_REQUESTS, looping_with
from tests.agents.conftest import claude, model  # noqa: F401 - fixtures of the real agents
from tests.agents.messages_api import Reply
from tests.e2e.stuck import answer_all
from tests.installations import wait_for

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(binary() is None, reason="Claude Code is missing: run .ci/install-agents"),
]


def reads_until_corrected(conversation):
    if CORRECTION in conversation.text or len(conversation.calls()) > MOST_REQUESTS:
        return Reply(text="Thank you.")
    return Reply(calls=LOOP)


def test_one_tap_on_a_phone_releases_a_real_claude_code(
    installation,
    open_page,
    person,
    model,  # noqa: F811 - as pytest asks for it
    claude,  # noqa: F811 - as pytest asks for them
):
    answer_all(person)
    desk, phone = open_page("/decisions"), open_page("/decisions", phone=True)
    story = looping_with(model, claude)(installation, reads_until_corrected)
    name = story.card["run_name"]
    queued = desk.get_by_role("region", name="Queue").get_by_role("button", name=name)
    expect(queued).to_have_count(1)
    assert story.process.poll() is None
    asked_so_far = len(story.api.conversations)

    phone.goto(f"{installation.url}/decisions/{story.card['id']}")
    card = phone.get_by_role("article", name=name)
    card.get_by_role("button", name="Edit").tap()
    card.get_by_role("textbox").fill(CORRECTION)
    card.get_by_role("button", name="Inject fix").tap()

    assert story.process.wait(60) == 0
    assert "Thank you." in story.client.output()
    assert CORRECTION in story.api.conversations[asked_so_far].last
    expect(queued).to_have_count(0)
    expect(desk.get_by_role("article", name=name)).to_have_count(0)
    wait_for(lambda: person.get(f"/api/v1/runs/{story.run}/")["status"] == "completed")
