"""Whatever a pointer can do, a keyboard can (`test_every_screen.py` walks them all by Tab)."""

import re

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.reach import MOST_STEPS
from tests.e2e.screens import screens, stands
from tests.e2e.stuck import StuckRun, several_stuck

pytestmark = pytest.mark.screens


@pytest.fixture(scope="module")
def stuck_run(installation):
    usage = {"input": 900, "output": 20}
    with several_stuck(installation, "keys", count=2) as first:
        house = first.agent.open_run(name="house")
        first.agent.post_turns(house, a_turn("ls", model="keys-model", usage=usage))
        yield first


@pytest.fixture
def visit(open_page, stuck_run):
    addresses = screens(run=stuck_run.id, decision=stuck_run.card["id"])

    def visit_one(name):
        return stands(open_page(addresses[name], reduced_motion="reduce"), name)

    return visit_one


def test_a_card_is_answered_by_tab_and_enter(visit, open_page, agent, person):
    run = StuckRun.begin(agent, person, "tabbed")
    page = open_page(f"/runs/{run.id}")
    answer = run.on(page).get_by_role("button", name="Continue")
    expect(answer).to_be_enabled()

    for _ in range(MOST_STEPS):
        page.keyboard.press("Tab")
        if answer.evaluate("(one) => one === document.activeElement"):
            break
    page.keyboard.press("Enter")

    assert run.next_directive()["action"] == "proceed"


def test_a_key_answers_no_card_before_it_is_drawn(open_page, agent, person):
    run = StuckRun.begin(agent, person, "not drawn yet")
    page = open_page("/history")
    expect(page.get_by_role("link", name=re.compile("Decisions.*[1-9]"))).to_be_visible()
    late = []
    page.route("**/assets/Now-*.js", lambda route: late.append(route))  # noqa: PLW0108 - a builtin is refused

    page.get_by_role("link", name="Now").first.click()
    for key in ("c", "t"):
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    for route in late:
        route.continue_()

    expect(run.on(page)).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    assert person.card_of(run.id)["id"] == run.card["id"]


def test_terminate_by_keyboard_is_asked_twice(open_page, agent, person):
    run = StuckRun.begin(agent, person, "ended")
    page = open_page(f"/runs/{run.id}")
    expect(run.on(page).get_by_role("button", name="Terminate")).to_be_enabled()

    page.keyboard.press("t")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.keyboard.press("t")

    assert run.next_directive()["action"] == "stop"


def test_a_price_is_set_by_keyboard_and_its_dialog_gives_the_focus_back(visit):
    page = visit("costs")
    page.get_by_text("Model", exact=True).click()
    expect(page.get_by_role("columnheader", name="Model")).to_be_visible()
    opener = page.get_by_role("row", name=re.compile("keys-model")).get_by_role("button")
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()

    for _ in range(12):
        page.keyboard.press("Tab")
        inside = (
            "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
        )
        assert page.evaluate(inside)
    page.keyboard.press("Escape")

    expect(dialog).to_have_count(0)
    expect(opener).to_be_focused()


def test_g_and_a_letter_go_to_each_screen_on_the_sheet(visit):
    page = visit("settings")

    for letter, path in zip(
        "ndhcpa", ["", "decisions", "history", "costs", "policies", "audit"], strict=True
    ):
        page.keyboard.press("g")
        page.keyboard.press(letter)
        expect(page).to_have_url(re.compile(f"/{path}$"))
