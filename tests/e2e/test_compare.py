"""Two runs side by side: selected in History or from a run's page, and where they part."""

import os
import re
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.axe import SCRIPT, in_both_themes
from tests.e2e.reach import faults_by_keyboard, too_wide_enlarged
from tests.e2e.screens import FITS, stands

pytestmark = pytest.mark.screens

PICTURES = os.environ.get("COMPARE_PICTURES")
"""A folder in which the screens are kept, to be looked at."""


def picture(page, name):
    if PICTURES:
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=Path(PICTURES) / f"{name}-{scheme}.png")


@pytest.fixture
def two(agent):
    """Two runs that read the same three files and then go two ways; their names."""
    mark = uuid4().hex[:6]
    names = []
    for word, edits, cost in (("slow", 4, "0.31"), ("quick", 1, "0.12")):
        names.append(f"{word}-{mark}")
        run = agent.open_run(name=names[-1], goal="Make the auth tests pass again")
        reads = [a_turn(f"cat app/auth/part_{n}.py", result="def a(): ...") for n in range(3)]
        tries = [a_turn(f"sed -i s/{n}/token/ app/auth/{word}.py") for n in range(edits)]
        ends = a_turn("pytest tests/auth -q", result="47 passed in 2.1s", cost_usd=cost)
        agent.post_turns(run, *reads, *tries, ends, wait=60)
        agent.ask("PATCH", f"/api/v1/runs/{run}/", {"status": "completed"})
    return names


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_two_runs_are_selected_in_history_and_compared(open_page, two, phone):
    page = open_page("/history", phone=phone, reduced_motion="reduce")
    page.get_by_role("button", name="Select runs to compare").click()
    expect(page.get_by_text("Select two runs of one project.")).to_be_visible()
    for name in two:
        page.get_by_role("checkbox", name=f"Select {name}").check()
    picture(page, f"selecting-{'phone' if phone else 'desktop'}")
    page.get_by_role("link", name="Compare selected runs").click()

    verdict = page.get_by_role("heading", name="B cost $0.19 less and took 3 turns fewer.")
    expect(verdict).to_be_visible()
    expect(page.get_by_text("The first 3 turns are the same.")).to_be_visible()
    steps = page.get_by_role("region", name="Turns")
    expect(steps.get_by_text("pytest tests/auth -q")).to_have_count(2)
    assert page.evaluate(FITS)
    picture(page, f"compare-{'phone' if phone else 'desktop'}")
    page.evaluate(SCRIPT.read_text())
    assert in_both_themes(page, "compare", "phone" if phone else "desktop") == []

    steps.get_by_role("button", name="1\u20133 3 same turns").first.click()
    expect(steps.get_by_text("app/auth/part_1.py")).to_have_count(2)
    page.get_by_role("link", name="Swap").click()
    expect(
        page.get_by_role("heading", name=re.compile("B cost .* more and took 3"))
    ).to_be_visible()


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_run_is_compared_from_its_own_page(open_page, two, phone):
    slow, quick = two
    page = open_page("/history", phone=phone)
    page.get_by_role("link", name=slow).click()
    page.get_by_role("link", name="Compare with another run").click()
    expect(page.get_by_role("heading", name=f"Compare {slow} with")).to_be_visible()
    picture(page, f"with-{'phone' if phone else 'desktop'}")

    page.get_by_role("link", name=quick).click()

    expect(page.get_by_text("The first 3 turns are the same.")).to_be_visible()
    page.get_by_role("region", name="Turns").get_by_role("link", name="Turn 4").first.click()
    expect(page).to_have_url(re.compile("/runs/.*/turns/3$"))


def test_the_other_run_is_searched_for_in_history(open_page, two):
    slow, quick = two
    page = open_page("/history")
    page.get_by_role("link", name=slow).click()
    page.get_by_role("link", name="Compare with another run").click()
    page.get_by_role("link", name="Search in History").click()
    expect(page.get_by_text(f"Selected: {slow}")).to_be_visible()

    page.get_by_label("Search runs").fill(quick)
    page.keyboard.press("Enter")
    expect(page.get_by_role("checkbox", name=f"Select {slow}")).to_have_count(0)
    page.get_by_role("checkbox", name=f"Select {quick}").check()
    page.get_by_role("link", name="Compare selected runs").click()

    verdict = page.get_by_role("heading", name="B cost $0.19 less and took 3 turns fewer.")
    expect(verdict).to_be_visible()


@pytest.fixture
def compared(open_page, person, two):
    """Open both runs side by side."""
    found = person.get("/api/v1/runs/")["results"]
    a, b = (next(run["id"] for run in found if run["name"] == name) for name in two)
    return lambda **options: stands(
        open_page(f"/compare?a={a}&b={b}", reduced_motion="reduce", **options), "compare"
    )


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_two_runs_are_compared_by_keyboard(compared, phone):
    page = compared(phone=phone)

    assert faults_by_keyboard(page) == {}


def test_two_runs_are_compared_however_far_the_page_is_enlarged(compared):
    assert too_wide_enlarged(compared(phone=True)) == []


def test_two_runs_are_compared_in_german(compared):
    page = compared(locale="de-DE")

    expect(page.get_by_text("Die ersten 3 Schritte sind gleich.")).to_be_visible()
    assert too_wide_enlarged(page) == []


def test_without_runs_it_says_how_two_are_chosen(open_page):
    page = open_page("/compare")

    expect(page.get_by_text("Choose two runs to compare.")).to_be_visible()
    page.get_by_role("link", name="To History").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("History")


def test_a_run_that_is_not_there_is_not_compared(open_page, installation, two):
    page = open_page(f"/compare?a={uuid4()}&b={uuid4()}")

    expect(page.get_by_text("These two runs cannot be compared.")).to_be_visible()
