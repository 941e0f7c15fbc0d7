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
def test_a_single_setting_is_found_and_brought_into_sight(name, desktop):
    page = desktop
    page.set_viewport_size({"width": 1280, "height": 320})

    page.get_by_role("button", name="Search").click()
    field(page).fill(name)
    page.get_by_role("option", name=f"Setting {name}").click()

    expect(page).to_have_url(re.compile(r"/settings.*\?at="))
    expect(page.get_by_text(name, exact=True)).to_be_in_viewport()
