"""The policy as a person changes it: edited, refused, tried on recorded runs, saved."""

import re

import pytest
from playwright.sync_api import expect


@pytest.fixture
def at_policies(open_page):
    """Open the page and wait until its rules stand there."""

    def open_one(**options):
        page = open_page("/policies", **options)
        expect(rule(page, "Exact repeat times in a row")).to_be_visible()
        return page

    return open_one


@pytest.fixture
def clean(person, installation):
    """Begin and end with the default policy."""
    path = f"/api/v1/projects/{installation.project}/"
    person.ask("PATCH", path, {"policy": {}})
    yield
    person.ask("PATCH", path, {"policy": {}})


def rule(page, words):
    return page.get_by_label(words, exact=True)


def editor(page):
    return page.get_by_role("region", name="Policy", exact=True)


def backtest(page):
    return page.get_by_role("region", name="Backtest")


def test_a_limit_is_changed_tried_on_recorded_runs_and_saved(clean, stuck, at_policies):
    run = stuck("loops-three-times")
    page = at_policies()

    rule(page, "Exact repeat times in a row").fill("9")
    expect(editor(page)).to_contain_text("1 change")
    expect(editor(page).get_by_role("button", name="Save as")).to_be_disabled()
    page.get_by_role("button", name="Run backtest").click()

    expect(backtest(page).get_by_role("heading")).to_contain_text(re.compile("fewer|as many"))
    expect(page.get_by_role("region", name="What would change")).to_be_visible()
    editor(page).get_by_label("Why, for the record").fill("the suite is slow")
    editor(page).get_by_role("button", name="Save as").click()

    expect(editor(page)).to_contain_text("in force")
    expect(rule(page, "Exact repeat times in a row")).to_have_value("9")
    editor(page).get_by_role("button", name=re.compile("version")).click()
    versions = page.get_by_role("list", name="Versions")
    expect(versions).to_contain_text("the suite is slow")
    expect(versions).to_contain_text("exact_repeat.repeats")
    assert run.card["evidence"]["limit"] == 3


def test_a_value_that_cannot_hold_is_named_where_it_stands(clean, at_policies):
    page = at_policies()

    rule(page, "Exact repeat times in a row").fill("1")

    expect(editor(page)).to_contain_text("Expected a whole number from 2 to 50.")
    expect(editor(page)).to_contain_text("Mend 1 value to save.")
    expect(page.get_by_role("button", name="Run backtest")).to_be_disabled()
    rule(page, "Exact repeat times in a row").fill("4")
    expect(editor(page)).not_to_contain_text("Mend")


@pytest.mark.screens
def test_the_text_of_a_file_and_the_form_are_one_draft(clean, at_policies):
    page = at_policies()

    rule(page, "Exact repeat times in a row").fill("6")
    expect(editor(page)).to_contain_text("1 change")
    page.get_by_text("TOML", exact=True).click()
    text = page.get_by_role("textbox", name=re.compile("TOML or JSON"))
    expect(text).to_have_value(re.compile(r"\[exact_repeat\]\s+repeats = 6"))
    text.fill('[exact_repeat]\nrepeats = 7\n\n[tool."Bash"]\nretry = "sometimes"\n')
    expect(page.get_by_role("alert")).to_contain_text("tool.Bash.retry")
    text.fill('[exact_repeat]\nrepeats = 7\n\n[tool."Bash"]\nretry = "poll"\n')
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(editor(page)).to_contain_text("2 changes")
    page.get_by_text("Form", exact=True).click()

    expect(rule(page, "Exact repeat times in a row")).to_have_value("7")


@pytest.mark.screens
def test_on_a_phone_it_is_in_the_menu_and_nothing_is_cut_off(clean, open_page):
    page = open_page("/", phone=True)

    page.get_by_role("button", name="Menu").tap()
    page.get_by_role("link", name="Policies").tap()

    expect(rule(page, "Exact repeat times in a row")).to_be_visible()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    box = page.get_by_role("button", name="Run backtest").bounding_box()
    assert box["height"] >= 44


@pytest.mark.screens
def test_g_then_p_goes_there(desktop):
    expect(desktop.get_by_role("heading", name="Now")).to_be_visible()
    desktop.keyboard.press("g")
    desktop.keyboard.press("p")

    expect(desktop.get_by_role("heading", name="Policies")).to_be_visible()
