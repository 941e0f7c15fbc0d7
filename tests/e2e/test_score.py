"""The stuck score's line, and the row under it that says why it moved."""

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.axe import SCRIPT, in_both_themes
from tests.e2e.screens import FITS

pytestmark = pytest.mark.screens

ERROR = "ModuleNotFoundError: no module 'app.tokens'"


@pytest.fixture
def climbing(agent):
    """Return a run that read two files, then ran one failing test twice."""
    run = agent.open_run(name="fix-auth-tests")
    agent.post_turns(run, a_turn("cat a.py", result="def a(): return 1"))
    agent.post_turns(run, a_turn("cat b.py", result="def b(): return 2"))
    agent.post_turns(run, a_turn(error=ERROR))
    agent.post_turns(run, a_turn(error=ERROR))
    return run


def story(page):
    return page.get_by_role("region", name="Progress of the run")


def why(page):
    return story(page).locator(".why")


def line(page):
    return story(page).locator(".strip")


FIRST = {"x": 2, "y": 20}
"""Of a line of 24 turns and more, the place of its first."""


def test_at_rest_it_says_why_it_rose_last_and_each_reason_leads_to_its_turn(open_page, climbing):
    page = open_page(f"/runs/{climbing}")

    expect(story(page).get_by_text("asks you at 0.80")).to_be_visible()
    expect(why(page)).to_contain_text("Turn 4:")
    expect(why(page)).to_contain_text("same call as")
    why(page).get_by_role("link", name="turn 3").first.click()
    expect(page.get_by_role("region", name="Turn 3 in full")).to_be_visible()


def test_it_follows_the_pointer_and_the_keys(open_page, climbing):
    page = open_page(f"/runs/{climbing}")
    expect(why(page)).to_contain_text("Turn 4:")

    line(page).hover(position=FIRST)
    expect(why(page)).to_contain_text("Turn 1:")

    page.mouse.move(5, 5)
    expect(why(page)).to_contain_text("Turn 4:")
    page.keyboard.press("]")
    expect(why(page)).to_contain_text("Turn 1:")
    page.keyboard.press("]")
    expect(why(page)).to_contain_text("Turn 2:")


def test_a_finger_on_the_line_says_why_and_stays_on_the_page(open_page, climbing):
    page = open_page(f"/runs/{climbing}", phone=True)
    expect(why(page)).to_contain_text("Turn 4:")

    line(page).tap(position=FIRST)

    expect(why(page)).to_contain_text("Turn 1:")
    expect(page).to_have_url(f"{page.url.split('/runs/')[0]}/runs/{climbing}")


def test_a_phone_with_an_open_card_has_the_line_below_it(open_page, stuck):
    run = stuck("climbs")
    page = open_page(f"/runs/{run.id}", phone=True)

    expect(run.on(page)).to_be_visible()
    expect(story(page).get_by_text("asks you at 0.80")).to_be_visible()
    expect(why(page)).to_contain_text("Turn")
    assert page.evaluate(FITS)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
def test_it_fits_and_is_accessible(open_page, climbing, phone, locale):
    page = open_page(f"/runs/{climbing}", phone=phone, locale=locale, reduced_motion="reduce")
    expect(page.locator(".why a").first).to_be_visible()

    assert page.evaluate(FITS)
    page.evaluate(SCRIPT.read_text())
    assert in_both_themes(page, "score", "phone" if phone else "desktop") == []
