"""A tap is taken where the card stands still, and a card that just came says that it does not."""

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import Caller
from tests.e2e.conftest import BARE

# In seconds, as Playwright counts; after a minute without a word the line counts as lost.
PAUSE = 10


def button(run, page, name="Continue"):
    return run.on(page).get_by_role("button", name=name)


@pytest.fixture
def without_board(open_page):
    """Open a page whose board never comes: its socket opens and stays silent."""

    def open_one(path):
        page = open_page(BARE)
        page.route_web_socket("**/ws/projects/**", lambda _ours: None)
        page.goto(page.url.replace(BARE, path))
        return page

    return open_one


def test_a_runs_page_has_its_cards_keys_before_the_board_has_come(without_board, stuck):
    run = stuck()
    page = without_board(f"/runs/{run.id}")
    expect(button(run, page)).to_be_enabled()

    page.keyboard.press("c")

    assert run.next_directive()["action"] == "proceed"


def test_a_runs_page_takes_a_tap_before_the_board_has_come(without_board, stuck):
    run = stuck()
    page = without_board(f"/runs/{run.id}")
    button(run, page).hover()
    expect(button(run, page)).to_be_enabled()

    button(run, page).click()

    assert run.next_directive()["action"] == "proceed"


@pytest.fixture
def second_card(open_page, stuck):
    """Show a card that took the place of another, at the very moment when it did."""
    first, second = stuck("first"), stuck("second")
    page = open_page("/decisions")
    expect(button(first, page)).to_be_enabled()
    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + PAUSE)

    first.answer("continue")

    expect(button(second, page)).to_be_visible()
    return second, page


def test_a_card_that_takes_anothers_place_says_that_it_takes_no_tap_yet(second_card):
    run, page = second_card
    expect(button(run, page)).to_be_disabled()

    page.clock.run_for(700)

    expect(button(run, page)).to_be_enabled()


def test_a_tap_meant_for_the_card_before_answers_nothing(second_card, person: Caller):
    run, page = second_card

    button(run, page).click(force=True)
    page.keyboard.press("c")

    assert person.card_of(run.id)["status"] == "open"
    page.clock.run_for(700)
    button(run, page).click()
    assert run.next_directive()["action"] == "proceed"
