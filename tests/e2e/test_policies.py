"""The policy as a person changes it: one choice, one line over their own runs, five limits."""

import re
from functools import partial

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import sign_in
from tests.e2e.people import an_owner

CALLS = "Repeated call, identical output"
FAILURES = "Failures in a row"
LINE = "Asks you from"
KEPT = "Object.keys(sessionStorage).join()"


@pytest.fixture(scope="module")
def with_a_month(installation):
    """Return the cookies of somebody whose project has a month of judged runs behind it."""
    return an_owner(installation, "Mona", month=True)


@pytest.fixture
def at_policies(open_page):
    """Open the page and wait until its limits stand there."""

    def open_one(name=CALLS, **options):
        page = open_page("/policies", **options)
        expect(limit(page, name)).to_be_visible()
        return page

    return open_one


@pytest.fixture
def over_a_month(open_on, with_a_month):
    """The same page over a month of runs."""
    return partial(open_on, with_a_month)


@pytest.fixture
def open_on(open_page, installation):
    """The same page as somebody else, over their project."""

    def open_one(cookies, **options):
        page = open_page("/login/", signed_in=False, **options)
        page.context.add_cookies(
            [{"name": n, "value": v, "url": installation.url} for n, v in cookies.items()]
        )
        page.goto(installation.url + "/policies")
        expect(line(page)).to_be_visible()
        return page

    return open_one


@pytest.fixture
def clean(person, installation):
    """Begin and end with the default policy."""
    path = f"/api/v1/projects/{installation.project}/"
    person.ask("PATCH", path, {"policy": {}, "mode": "pause"})
    yield
    person.ask("PATCH", path, {"policy": {}, "mode": "pause"})


def limit(page, words):
    return page.get_by_role("textbox", name=words, exact=True)


def line(page):
    return page.get_by_role("slider", name=LINE)


def at(page):
    return float(line(page).get_attribute("aria-valuenow"))


def limits(page):
    return page.get_by_role("region", name="Limits", exact=True)


def sentence(page):
    return page.get_by_role("heading", name=re.compile("^Would"))


def test_a_limit_is_changed_replayed_and_saved(clean, stuck, at_policies):
    run = stuck("loops-three-times")
    page = at_policies()
    expect(sentence(page)).to_contain_text("Would have asked you")

    limit(page, CALLS).fill("9")
    expect(limits(page)).to_contain_text("1 change")
    expect(page.get_by_text(re.compile(r"replayed in \d+ s"))).to_be_visible()
    limits(page).get_by_label("Reason, for the audit log").fill("the suite is slow")
    limits(page).get_by_role("button", name="Save as").click()

    expect(limits(page)).to_contain_text("in force")
    expect(limit(page, CALLS)).to_have_value("9")
    limits(page).get_by_role("button", name=re.compile("version")).click()
    versions = page.get_by_role("list", name="Versions")
    expect(versions).to_contain_text("the suite is slow")
    assert run.card["evidence"]["limit"] == 3


def test_an_invalid_value_is_reported_at_its_field(clean, at_policies):
    page = at_policies()

    limit(page, CALLS).fill("1")

    expect(limits(page)).to_contain_text("Expected a whole number from 2 to 50.")
    expect(limits(page)).to_contain_text("Fix 1 value to save.")
    limit(page, CALLS).fill("4")
    expect(limits(page)).not_to_contain_text("Fix 1 value")


def test_the_effect_of_a_typed_limit_is_shown_once_it_was_replayed(over_a_month):
    page = over_a_month()

    limit(page, CALLS).fill("1")
    expect(limits(page)).to_contain_text("Expected a whole number from 2 to 50.")
    expect(page.get_by_role("heading", name="not known yet")).to_be_visible()
    expect(page.get_by_text("the same runs as today")).to_have_count(0)

    limit(page, CALLS).fill("2")
    expect(page.get_by_text(re.compile(r"replayed in \d+ s"))).to_be_visible()
    expect(sentence(page)).to_be_visible()
    expect(limit(page, CALLS)).to_be_focused()


def test_moving_the_line_by_key_shows_at_once_what_it_would_have_asked(over_a_month):
    page = over_a_month()
    before = sentence(page).text_content()

    line(page).focus()
    page.keyboard.press("ArrowDown")
    assert at(page) == 0.79
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    assert at(page) == 0.69

    assert sentence(page).text_content() != before
    added = page.get_by_role("region", name="Added by the draft")
    expect(added.get_by_role("listitem").first).to_be_visible()
    expect(added).to_contain_text(re.compile(r"\d+ runs replayed in \d+ s"))
    page.get_by_role("button", name="Discard").click()
    expect(line(page)).to_have_attribute("aria-valuenow", "0.8")


def test_the_line_is_dragged_within_its_range(over_a_month):
    page = over_a_month()
    box = line(page).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 40, steps=4)
    assert 0.6 < at(page) < 0.8
    page.mouse.move(x, y + 600, steps=4)
    page.mouse.up()

    expect(line(page)).to_have_attribute("aria-valuenow", "0.5")


def test_a_preset_is_one_choice_and_says_how_many_runs_reached_its_line(over_a_month):
    page = over_a_month()
    presets = page.get_by_role("radiogroup", name="When it asks you")

    expect(presets).to_contain_text(re.compile(r"Quiet ?0 of \d+ runs reached a score of 0\.95"))
    expect(presets).to_contain_text(
        re.compile(r"Balanced ?[1-9]\d* of \d+ runs reached a score of 0\.80")
    )
    sentence = page.get_by_role("heading", name="Would have asked you").inner_text()
    (asked,) = map(int, re.findall(r"asked you (\d+) times", sentence))
    (reached,) = map(int, re.findall(r"Balanced\s*(\d+) of", presets.inner_text()))
    limits = page.get_by_text(f"{asked - reached} of {asked} by a limit, not by the score.")
    expect(limits).to_have_count(1 if asked > reached else 0)
    presets.get_by_role("radio").first.check()

    expect(page.get_by_role("region", name="Dropped by the draft")).to_be_visible()
    expect(page.get_by_text("Recordings end where you stopped or corrected a run")).to_be_visible()
    assert at(page) > 0.8


def test_on_a_phone_the_handle_is_as_high_as_a_thumb(over_a_month):
    page = over_a_month(phone=True)

    assert line(page).bounding_box()["height"] >= 44
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    limit(page, CALLS).tap()
    page.get_by_role("button", name=f"{CALLS}: one more").tap()
    expect(limits(page)).to_contain_text("1 change")


@pytest.mark.screens
def test_few_runs_are_reported_as_few(open_on, installation):
    page = open_on(an_owner(installation, "Newman"))

    expect(page.get_by_text(re.compile("the presets are based on others"))).to_be_visible()


@pytest.mark.screens
def test_what_happens_when_it_asks_is_saved_with_it(clean, at_policies, person, installation):
    page = at_policies()

    page.get_by_label("When it asks", exact=True).select_option("flag")
    page.get_by_role("button", name="Save", exact=True).click()

    expect(limits(page)).to_contain_text("No changes.")
    path = f"/api/v1/projects/{installation.project}/"
    assert person.get(path)["mode"] == "flag"


def test_the_second_of_two_editors_is_told_and_nothing_is_lost(
    clean, at_policies, person, installation
):
    page = at_policies()
    limit(page, FAILURES).fill("7")
    save = limits(page).get_by_role("button", name="Save as")
    expect(save).to_be_enabled()
    path = f"/api/v1/projects/{installation.project}/"
    person.ask("PATCH", path, {"policy": {"repeat": {"calls": 4}}})
    reason = limits(page).get_by_label("Reason, for the audit log")
    reason.fill("seven is enough")

    save.click()

    expect(limits(page)).to_contain_text("Your changes now apply to that version")
    expect(reason).to_have_value("seven is enough")
    expect(limit(page, CALLS)).to_have_value("4")
    expect(limit(page, FAILURES)).to_have_value("7")
    save.click()
    expect(limits(page)).to_contain_text("in force")
    policy = person.get(path)["policy"]
    assert (policy["repeat"]["calls"], policy["errors"]["same"]) == (4, 7)


@pytest.mark.screens
def test_at_most_twelve_settings_are_outside_advanced(over_a_month):
    page = over_a_month()

    outside = page.locator(".page").locator("input:visible, select:visible, [role=slider]:visible")
    groups = outside.evaluate_all("all => new Set(all.map(one => one.name || one.id || one)).size")
    assert groups <= 12
    page.get_by_text(re.compile(r"\d+ values, none changed")).click()
    assert outside.count() > 12


@pytest.mark.screens
def test_the_text_of_a_file_and_the_form_are_one_draft(clean, at_policies):
    page = at_policies()

    limit(page, CALLS).fill("6")
    expect(limits(page)).to_contain_text("1 change")
    page.get_by_text("TOML", exact=True).click()
    text = page.get_by_role("textbox", name=re.compile("TOML or JSON"))
    expect(text).to_have_value(re.compile(r"= 6"))
    text.fill('sensitivity = 0.7\n\n[tool."Bash"]\nretry = "sometimes"\n')
    expect(page.get_by_role("alert")).to_contain_text("tool.Bash.retry")
    text.fill('sensitivity = 0.7\n\n[tool."Bash"]\nretry = "poll"\n')
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(limits(page)).to_contain_text("2 changes")
    page.get_by_text("Form", exact=True).click()

    expect(line(page)).to_have_attribute("aria-valuenow", "0.7")


@pytest.mark.screens
def test_a_restored_earlier_version_is_replayed(clean, at_policies, person, installation):
    path = f"/api/v1/projects/{installation.project}/"
    for calls in (6, 7):
        person.ask("PATCH", path, {"policy": {"repeat": {"calls": calls}}})
    page = at_policies()

    limits(page).get_by_role("button", name=re.compile("version")).click()
    page.get_by_role("button", name="Use as draft").nth(1).click()

    expect(page.get_by_text(re.compile(r"replayed in \d+ s"))).to_be_visible()
    expect(sentence(page)).to_be_visible()


@pytest.mark.screens
def test_on_a_phone_it_is_in_the_menu_and_nothing_is_cut_off(clean, open_page):
    page = open_page("/", phone=True)

    page.get_by_role("button", name="Menu").tap()
    page.get_by_role("link", name="Policies").tap()

    expect(limit(page, CALLS)).to_be_visible()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]


@pytest.mark.screens
def test_g_then_p_goes_there(desktop):
    expect(desktop.get_by_role("heading", name="Now")).to_be_visible()
    desktop.keyboard.press("g")
    desktop.keyboard.press("p")

    expect(desktop.get_by_role("heading", name="Policies")).to_be_visible()


STANDS_APART = """(days) => {
  const boxes = [...days.children].map((label) => label.getBoundingClientRect());
  return boxes.every((box, at) => at === 0 || boxes[at - 1].right + 4 <= box.left);
}"""


def test_what_is_written_in_the_plot_is_apart_and_no_link_at_320_pixels(over_a_month):
    page = over_a_month(phone=True)
    page.set_viewport_size({"width": 320, "height": 640})
    written = page.locator(".line .tag")

    assert written.evaluate("tag => getComputedStyle(tag).textDecorationLine") == "none"
    assert page.locator(".frame .days").evaluate(STANDS_APART)


def test_a_draft_survives_a_visit_to_another_screen(over_a_month):
    page = over_a_month()
    limit(page, CALLS).fill("9")
    limits(page).get_by_label("Reason, for the audit log").fill("the suite is slow")

    page.get_by_role("link", name="Audit").click()
    expect(page.get_by_role("heading", name="Audit", exact=True)).to_be_visible()
    page.get_by_role("link", name="Policies").click()

    expect(limit(page, CALLS)).to_have_value("9")
    expect(limits(page).get_by_label("Reason, for the audit log")).to_have_value(
        "the suite is slow"
    )
    expect(limits(page)).to_contain_text("1 change")
    limits(page).get_by_role("button", name="Discard").click()
    expect(limits(page)).not_to_contain_text("1 change")


def test_a_draft_survives_a_reload_and_says_that_it_was_restored(over_a_month):
    page = over_a_month()
    limit(page, CALLS).fill("9")
    expect(limits(page)).to_contain_text("1 change")

    page.reload()

    expect(limit(page, CALLS)).to_have_value("9")
    expect(limits(page)).to_contain_text("Your unsaved changes are back.")
    limits(page).get_by_role("button", name="Discard").click()
    page.reload()
    expect(limit(page, CALLS)).to_be_visible()
    expect(limits(page)).not_to_contain_text("1 change")


def test_a_draft_is_not_kept_for_the_next_person(over_a_month, installation):
    page = over_a_month()
    limit(page, CALLS).fill("9")
    expect(limits(page)).to_contain_text("1 change")
    assert "unfinished" in page.evaluate(KEPT)
    page.context.clear_cookies()
    sign_in(page.context, installation)

    page.reload()

    expect(limit(page, CALLS)).to_be_visible()
    assert "unfinished" not in page.evaluate(KEPT)


def test_a_restored_draft_still_shows_its_problems(over_a_month):
    page = over_a_month()
    limit(page, CALLS).fill("a few")
    expect(limits(page)).to_contain_text("Fix 1 value to save.")

    page.reload()

    expect(limits(page)).to_contain_text("Your unsaved changes are back. Fix 1 value to save.")
    limits(page).get_by_role("button", name="Discard").click()


def test_a_decimal_comma_is_accepted_and_thousands_separators_are_refused(at_policies):
    page = at_policies(locale="de-DE", name="Gleicher Aufruf, identische Ausgabe")
    budget = limit(page, "Budget je Lauf")

    budget.press_sequentially("8,05")
    expect(budget).to_have_value("8,05")
    expect(page.get_by_text("1 Änderung").first).to_be_visible()

    budget.fill("1.000")
    expect(page.get_by_text("Erwartet: eine Zahl, etwa 5 oder 5,50.")).to_be_visible()
