"""What a person is doing stays theirs while turns and cards come in."""

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.connection import link_of
from tests.e2e.stuck import go_in_circles

SELECTED = "(field) => [field.selectionStart, field.selectionEnd]"
SCROLLED = "(well) => Math.round(well.scrollTop)"
LONG = "\n".join(f"line {number} of a long report" for number in range(400))

PRESS_AT_ONCE = """
new MutationObserver(() => {
  const button = document.querySelector("article [aria-keyshortcuts=C i]");
  if (button && !window.pressed) {
    window.pressed = true;
    button.click();
  }
}).observe(document.body, { childList: true, subtree: true });
"""
"""A thumb that was on its way when a card came under it."""


@pytest.fixture
def working(agent):
    run = agent.open_run(name="tidy-changelog", capabilities={"inject": ["at_next_tool"]})
    agent.post_turns(run, a_turn("git log", result=LONG), a_turn("git status", result="clean"))
    return run


def box(page):
    return page.get_by_role("textbox", name="Message the agent")


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_card_that_opens_leaves_the_message_that_is_being_written(
    open_page, agent, stuck, person, working, phone
):
    page = open_page(f"/runs/{working}", phone=phone)
    if phone:
        page.get_by_role("button", name="Message the agent").click()
    box(page).press_sequentially("Please ")

    go_in_circles(agent, working)
    expect(page.get_by_role("button", name="To the card")).to_be_visible()
    page.keyboard.type("act")  # each of them a key that answers a card

    expect(box(page)).to_have_value("Please act")
    expect(box(page)).to_be_focused()
    assert person.card_of(working)["status"] == "open"


def test_whoever_was_writing_gets_to_the_card_with_one_click(open_page, agent, stuck, working):
    page = open_page(f"/runs/{working}")
    box(page).fill("Please ")
    go_in_circles(agent, working)

    page.get_by_role("button", name="To the card").click()

    expect(page.get_by_role("article")).to_be_visible()


def test_a_card_that_opens_is_shown_to_whoever_wrote_before(open_page, agent, stuck, working):
    page = open_page(f"/runs/{working}")
    expect(box(page)).to_be_visible()
    page.keyboard.press("m")
    expect(box(page)).to_be_focused()
    box(page).blur()

    go_in_circles(agent, working)

    expect(page.get_by_role("article")).to_be_visible()


def test_a_card_that_opens_leaves_the_turn_that_is_being_read(open_page, agent, stuck, working):
    page = open_page(f"/runs/{working}")
    page.get_by_role("button", name="Turn 1", exact=True).click()
    expect(page.get_by_text("line 7 of a long report").first).to_be_visible()

    go_in_circles(agent, working)

    expect(page.get_by_role("article")).to_be_visible()
    expect(page.get_by_text("line 7 of a long report").first).to_be_visible()


def test_a_tap_on_its_way_answers_no_card_that_opens_under_it(open_page, agent, stuck, person):
    agent.post_turns(agent.open_run(name="beside it"), a_turn())
    page = open_page("/")
    expect(link_of(page)).to_have_text("Live")
    expect(page.get_by_role("table", name="Running now")).to_be_visible()
    page.evaluate(PRESS_AT_ONCE)

    run = stuck()

    expect(run.on(page)).to_be_visible()
    assert page.evaluate("window.pressed") is True
    expect(run.on(page).get_by_role("button", name="Continue")).to_be_enabled()
    assert person.card_of(run.id)["status"] == "open"


def test_the_caret_stays_in_a_fix_whose_card_comes_anew(on_line, stuck):
    run = stuck()
    page, line = on_line(f"/decisions/{run.card['id']}")
    fix = run.on(page).get_by_role("textbox")
    fix.fill("Read docs/billing.md before the next try.")
    fix.evaluate("(field) => field.setSelectionRange(4, 4)")

    line.cut()
    line.mend()
    expect(link_of(page)).to_have_text("Live")
    expect(fix).to_be_focused()

    assert fix.evaluate(SELECTED) == [4, 4]


def test_a_turn_that_is_read_as_json_stays_where_it_was_scrolled_to(on_line, agent, working):
    page, line = on_line(f"/runs/{working}")
    page.get_by_role("button", name="Turn 1", exact=True).click()
    page.get_by_text("JSON", exact=True).first.click()
    well = page.get_by_role("region", name="JSON")
    expect(well).to_be_visible()
    well.evaluate("(well) => (well.scrollTop = 500)")
    before = well.evaluate(SCROLLED)

    line.cut()
    line.mend()
    expect(link_of(page)).to_have_text("Live")
    agent.post_turns(working, a_turn("git diff", result="nothing"))
    expect(page.get_by_text("git diff").first).to_be_visible()

    assert well.evaluate(SCROLLED) == before


def test_a_tool_keeps_its_place_among_the_filters_while_others_are_used_more(
    open_page, agent, working
):
    page = open_page(f"/runs/{working}")
    filters = page.get_by_role("group", name="Which turns")
    expect(filters.get_by_role("button", name="Bash 2")).to_be_visible()
    agent.post_turns(working, *(a_turn(f"cat {n}.md", tool="Read") for n in range(4)))
    expect(filters.get_by_role("button", name="Read 4")).to_be_visible()

    assert "Bash" in filters.get_by_role("button").nth(1).inner_text()
