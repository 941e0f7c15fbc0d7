"""Runs whose words are meant to break the screens; not beside the thousand of test_crowd.py."""

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.conftest import BARE
from tests.e2e.crowd import HOSTILE
from tests.e2e.stuck import StuckRun
from tests.installations import wait_for

pytestmark = pytest.mark.screens

WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_words_stay_words_and_nothing_is_pushed_aside(
    open_page, installation, agent, person, stuck, kind
):
    text = HOSTILE[kind]
    assert stuck  # the board is empty before and after
    run = agent.open_run(name=text, goal=text, agent="coder")
    call = text[:2000]
    for _ in range(2):
        agent.post_turns(run, a_turn(call, error=text, result=text, agent=text[:100]))
    agent.post_turns(run, a_turn(call, phase="proposed", agent=text[:100]))
    card = wait_for(lambda: person.card_of(run))

    for phone in (False, True):
        page = open_page(BARE, phone=phone)
        for path in ("/", "/decisions", f"/decisions/{card['id']}", f"/runs/{run}"):
            page.goto(installation.url + path)
            expect(page.get_by_role("article").first).to_be_visible()
            page.wait_for_timeout(200)
            wide, seen = page.evaluate(WIDTHS)
            assert wide <= seen, (path, phone, wide, seen)
            assert page.evaluate("window.owned === undefined")
            assert page.locator("main script, main img[src='x']").count() == 0


def test_a_card_with_hostile_words_can_still_be_answered(open_page, agent, person, stuck):
    run = StuckRun.begin(agent, person, HOSTILE["right-to-left"], error=HOSTILE["script"])
    page = open_page(f"/decisions/{run.card['id']}", phone=True)

    page.get_by_role("article").get_by_role("button", name="Continue").tap()

    assert run.next_directive()["action"] == "proceed"
