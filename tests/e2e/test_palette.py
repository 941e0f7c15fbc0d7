"""One line to reach anything: by keys on a desk, by a button on a phone."""

import re
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.axe import SCRIPT, in_both_themes
from tests.e2e.screens import FITS

pytestmark = pytest.mark.screens


@pytest.fixture
def named(agent):
    """Return the id and name of an ended run, which no board lists for long."""
    name = f"migrate {uuid4().hex[:8]}"
    run = agent.open_run(name=name)
    agent.post_turns(run, a_turn())
    agent.ask("PATCH", f"/api/v1/runs/{run}/", {"status": "completed"})
    return run, name


def field(page):
    return page.get_by_role("combobox", name="Search runs, screens and actions")


def a_run_called(page, name):
    return page.get_by_role("option", name=re.compile(f"^Run .*{name}"))


@pytest.mark.parametrize("keys", ["Control+k", "Meta+k"])
def test_a_run_is_reached_by_keys_alone(open_page, named, keys):
    run, name = named
    page = open_page("/costs")
    expect(page.locator("h1").first).to_be_visible()

    page.keyboard.press(keys)
    expect(field(page)).to_be_focused()
    page.keyboard.type(name)
    expect(a_run_called(page, name)).to_be_visible()  # before it comes, History is offered
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(f"/runs/{run}$"))
    expect(field(page)).to_have_count(0)


def test_screens_settings_and_actions_are_found_and_escape_leaves(desktop):
    page = desktop
    page.get_by_role("button", name="Search").click()

    field(page).fill("costliest")
    chosen = page.get_by_role("listbox").get_by_role("option", selected=True)
    expect(chosen).to_contain_text("Costliest runs")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/history\?sort=-cost$"))
    expect(field(page)).to_have_count(0)

    page.keyboard.press("Control+k")
    field(page).fill("devi")
    expect(page.get_by_role("option", name="Setting Devices")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("listbox").get_by_role("option", selected=True)).to_have_count(1)
    page.keyboard.press("Escape")
    expect(field(page)).to_have_count(0)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_it_stands_on_both_sizes_and_axe_finds_nothing(open_page, named, phone):
    run, name = named
    page = open_page("/", phone=phone, reduced_motion="reduce")
    page.get_by_role("button", name="Search").click()
    field(page).fill(name)
    option = a_run_called(page, name)
    expect(option).to_be_visible()
    assert page.evaluate(FITS)
    page.evaluate(SCRIPT.read_text())
    assert in_both_themes(page, "palette", "phone" if phone else "desktop") == []

    option.click()
    expect(page).to_have_url(re.compile(f"/runs/{run}$"))


def test_the_button_and_its_key_stand_within_the_rail(desktop):
    rail = desktop.get_by_role("navigation", name="Main")
    button = desktop.get_by_role("button", name="Search")

    expect(button).to_contain_text("⌘K")
    assert rail.evaluate("one => one.scrollWidth <= one.clientWidth")


@pytest.mark.parametrize("name", ["Keep turn contents", "Your devices"])
def test_a_single_setting_is_found_and_scrolled_into_view(name, desktop):
    page = desktop
    page.set_viewport_size({"width": 1280, "height": 320})

    page.get_by_role("button", name="Search").click()
    field(page).fill(name)
    page.get_by_role("option", name=f"Setting {name}").click()

    expect(page).to_have_url(re.compile(r"/settings.*\?at="))
    expect(page.get_by_text(name, exact=True)).to_be_in_viewport()


def test_a_card_is_answered_and_a_long_fix_is_only_read(open_page, stuck):
    run = stuck()
    page = open_page("/costs")
    expect(page.locator("h1").first).to_be_visible()

    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", name=f"Card {run.name}")).to_be_visible()
    field(page).fill(run.name)
    chosen = page.get_by_role("listbox").get_by_role("option", selected=True)
    expect(chosen).to_have_accessible_name(re.compile(f"^Run {run.name}"))  # no answer by Enter
    expect(chosen.locator("u")).to_have_text(run.name)

    field(page).fill(f"read {run.name}")
    expect(chosen).to_contain_text("Read the fix")

    field(page).fill(f"continue {run.name}")
    expect(chosen).to_contain_text("Continue")
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"{run.name} continues")).to_be_visible()


def test_enter_on_the_name_of_a_held_run_goes_to_it(open_page, stuck):
    run = stuck()
    page = open_page("/costs")
    expect(page.locator("h1").first).to_be_visible()

    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", name=f"Card {run.name}")).to_be_visible()
    page.keyboard.type(run.name)
    expect(page.get_by_role("option", name=f"Action Continue: {run.name}")).to_be_visible()
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(f"/runs/{run.id}$"))
    assert run.person.card_of(run.id)["status"] == "open"


def test_keys_typed_before_the_palette_loads_are_its_own_and_answer_no_card(open_page, stuck):
    run = stuck()
    page = open_page("/decisions")
    expect(run.on(page)).to_be_visible()
    held = []
    # No method of a list: Playwright marks what it calls.
    page.route("**/Palette-*.js", lambda route: held.append(route))  # noqa: PLW0108 - see above

    with page.expect_request("**/Palette-*.js"):
        page.keyboard.press("Control+k")
    page.keyboard.type("cost")
    held[0].continue_()

    expect(field(page)).to_have_value("cost")
    assert run.person.card_of(run.id)["status"] == "open"


def test_while_it_loads_other_keys_are_the_browsers_and_escape_cancels_it(desktop):
    page = desktop
    expect(page.locator("h1").first).to_be_visible()
    held = []
    # No method of a list: Playwright marks what it calls.
    page.route("**/Palette-*.js", lambda route: held.append(route))  # noqa: PLW0108 - see above
    page.evaluate(
        "window.left = []; addEventListener('keydown', "
        "(event) => event.defaultPrevented || left.push(event.key))"
    )

    with page.expect_request("**/Palette-*.js"):
        page.keyboard.press("Control+k")
    for key in ("c", "Enter", "Tab", "Control+e", "Escape"):
        page.keyboard.press(key)
    with page.expect_response("**/Palette-*.js"):
        held[0].continue_()
    page.keyboard.press("Control+k")

    expect(field(page)).to_have_value("")
    assert page.evaluate("left") == ["Control", "Tab", "Control", "e", "Control"]


@pytest.mark.parametrize("picks", [[], ["ArrowDown", "ArrowUp"]], ids=["unasked", "picked"])
def test_enter_answers_no_other_card_in_place_of_one_that_was_answered(open_page, stuck, picks):
    one, other = stuck("twin"), stuck("twin")
    page = open_page("/costs")
    expect(page.locator("h1").first).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("continue twin")
    expect(page.get_by_role("option", name="Action Continue: twin")).to_have_count(2)
    for key in picks:
        page.keyboard.press(key)
    chosen = page.get_by_role("listbox").get_by_role("option", selected=True)
    expect(chosen).to_contain_text(one.name)

    one.answer("continue")
    expect(page.get_by_role("option", name="Action Continue: twin")).to_have_count(1)
    expect(chosen).to_have_count(0)
    page.keyboard.press("Enter")
    expect(field(page)).to_be_visible()
    page.keyboard.press("ArrowDown")

    expect(chosen).to_contain_text(other.name)
    assert other.person.card_of(other.id)["status"] == "open"


def test_what_ends_a_run_is_listed_when_typed_last_and_waits(open_page, agent):
    name = f"endless {uuid4().hex[:8]}"
    run = agent.open_run(name=name)
    agent.post_turns(run, a_turn())
    page = open_page("/")
    expect(page.locator("h1").first).to_be_visible()

    page.keyboard.press("Control+k")
    field(page).fill(name)
    expect(page.get_by_role("option", name=f"Run {name}")).to_be_visible()
    expect(page.get_by_role("option", name="Terminate")).to_have_count(0)

    field(page).fill(f"terminate {name}")
    last = page.get_by_role("option").last
    expect(last).to_contain_text("Terminate")
    last.click()
    expect(page.get_by_text(re.compile(r"ends in \d s"))).to_be_visible()
    page.get_by_role("button", name=re.compile("^Undo")).first.click()


def test_a_search_without_a_match_is_offered_for_all_turns(desktop):
    page = desktop
    expect(page.locator("h1").first).to_be_visible()
    page.keyboard.press("Control+k")
    field(page).fill("auhtzzz")

    expect(page.get_by_role("option")).to_have_count(1)
    expect(page.get_by_role("option")).to_contain_text("Nothing matches")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/history\?q=auhtzzz"))
