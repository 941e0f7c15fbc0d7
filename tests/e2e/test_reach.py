"""Who has no pointer, sees little or hears the screen gets everywhere: focus, titles, motion.

What holds for each screen alike is looked at in `test_every_screen.py`.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.reach import TARGETS, THUMB, TOO_WIDE
from tests.e2e.screens import screens, stands
from tests.e2e.stuck import StuckRun, go_in_circles, several_stuck
from tests.installations import wait_for

pytestmark = pytest.mark.screens

MOVING = "document.getAnimations().filter((a) => a.effect.getTiming().duration > 0).length"
READ_OUT = """() => {
  window.readOut = [];
  // Text that is put there anew is read out; text that stays is not.
  const note = (all) => all.forEach(({ addedNodes }) =>
    addedNodes.forEach(({ textContent }) => window.readOut.push(textContent)));
  for (const one of document.querySelectorAll("[data-announces]"))
    new MutationObserver(note).observe(one, { childList: true });
}"""


@pytest.fixture(scope="module")
def stuck_run(installation):
    with several_stuck(installation, "reach", count=3) as first:
        yield first


@pytest.fixture
def visit(open_page, stuck_run):
    addresses = screens(run=stuck_run.id, decision=stuck_run.card["id"])

    def visit_one(name, **options):
        return stands(open_page(addresses[name], **options), name)

    return visit_one


# --- narrow, enlarged --------------------------------------------------------------------


def test_history_needs_no_sideways_scrolling_however_large_its_figures(visit):
    page = visit("history", phone=True)
    page.set_viewport_size({"width": 320, "height": 640})
    page.locator(".facts dd").first.wait_for()

    page.evaluate("document.querySelectorAll('.facts dd').forEach((one) => one.append(' 12,345'))")

    assert page.evaluate(TOO_WIDE) == []


def test_a_card_at_twice_its_size_is_read_whole_above_its_answers(visit):
    page = visit("decision", phone=True)

    page.set_viewport_size({"width": 720, "height": 450})

    read = page.get_by_text("Adds to the allowlist").bounding_box()
    answers = page.locator("article footer").bounding_box()
    assert read["y"] + read["height"] <= answers["y"]


def test_the_links_of_a_verification_are_large_enough_for_a_thumb(visit, person, stuck_run):
    page = visit("audit", phone=True)
    fault = {"kind": "changed", "project": "", "run": stuck_run.id, "row": None, "seq": 1}
    verdict = person.get("/api/v1/audit/verify/") | {"ok": False, "faults": [fault]}

    page.route("**/api/v1/audit/verify/**", lambda route: route.fulfill(json=verdict))
    page.reload()
    page.locator(f'main a[href="/runs/{stuck_run.id}"].md').wait_for()

    assert page.evaluate(TARGETS, THUMB) == []


# --- keyboard ----------------------------------------------------------------------------


def test_the_first_tab_skips_to_the_content(visit):
    page = visit("history")

    page.keyboard.press("Tab")
    skip = page.get_by_role("button", name="Skip to the content")
    expect(skip).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.get_by_role("main")).to_be_focused()


def test_the_keys_keep_the_focus_and_give_it_back(visit):
    page = visit("now")
    opener = page.get_by_role("button", name="Keyboard shortcuts")
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_be_visible()

    for _ in range(4):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('dialog, body').tagName") in (
            "DIALOG",
            "BODY",  # the browser's own bar is next in a dialog's round
        )
    page.keyboard.press("Escape")

    expect(dialog).to_have_count(0)
    expect(opener).to_be_focused()


def test_the_phones_menu_is_left_by_escape_and_gives_the_focus_back(visit):
    page = visit("now", phone=True)
    opener = page.get_by_role("button", name="Menu")
    opener.click()
    expect(page.get_by_role("link", name="Policies")).to_be_visible()

    page.keyboard.press("Escape")

    expect(page.get_by_role("link", name="Policies")).to_have_count(0)
    expect(opener).to_be_focused()


def test_the_focused_element_is_visible(visit):
    page = visit("now")

    for _ in range(12):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        inner = page.evaluate("document.activeElement.matches('input[type=radio]')")
        assert outline != "none" or inner


# --- what is read out, what moves --------------------------------------------------------


def test_a_new_hold_is_announced_once_to_screen_readers(visit, stuck_run):
    page = visit("history")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()

    run = StuckRun.begin(stuck_run.agent, stuck_run.person, "announced")

    urgent = page.locator("[data-announces][aria-live=assertive]")
    expect(urgent).to_contain_text(run.name)
    expect(page.locator("[data-announces][aria-live=polite]")).to_be_empty()


def test_the_tab_counts_the_open_cards_and_names_the_screen(visit):
    page = visit("history")

    expect(page).to_have_title(re.compile(r"^\(\d+\) History · Mission Control$"))
    page.get_by_role("link", name="Settings").click()
    expect(page).to_have_title(re.compile(r"^\(\d+\) Settings · Mission Control$"))


def test_nothing_moves_for_those_who_want_it_still(visit):
    page = visit("now", reduced_motion="reduce")

    moving = page.evaluate(MOVING)
    assert moving == 0


def test_edges_stand_in_for_shadows_when_the_system_chooses_the_colours(visit):
    page = visit("decisions", forced_colors="active")

    for what in (".panel", ".btn", ".need-card"):
        style = page.locator(what).first.evaluate("(one) => getComputedStyle(one).borderTopStyle")
        assert style == "solid", what


def test_a_field_has_an_edge_when_the_system_chooses_the_colours(visit):
    field = visit("settings members", forced_colors="active").get_by_label("Name or note")

    assert field.evaluate("(one) => getComputedStyle(one).borderTopStyle") == "solid"


def test_a_button_has_the_focus_again_once_it_was_answered(visit):
    page = visit("settings members")
    button = page.get_by_role("button", name="Create invitation link")
    button.focus()

    page.keyboard.press("Enter")

    expect(page.get_by_role("button", name="Copy the invitation link")).to_be_visible()
    expect(button).to_be_focused()


def test_a_run_that_is_held_again_is_told_of_again_in_the_same_words(visit, stuck_run):
    page = visit("history")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    run = StuckRun.begin(stuck_run.agent, stuck_run.person, "twice")
    urgent = page.locator("[data-announces][aria-live=assertive]")
    expect(urgent).to_contain_text(run.name)
    page.evaluate(READ_OUT)

    run.answer("continue")
    run.next_directive()
    go_in_circles(run.agent, run.id)

    named = "name => window.readOut.some((text) => text.includes(name))"
    wait_for(lambda: page.evaluate(named, run.name))


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_after_an_answer_the_focus_stands_at_the_next_card(visit, stuck_run, phone):
    run = StuckRun.begin(stuck_run.agent, stuck_run.person, "answered")
    page = visit("decisions", phone=phone)
    row = page.get_by_role("button", name=re.compile(run.name)).first
    if not phone:
        row.click()
    answer = page.get_by_role("button", name=re.compile(f"Continue.*{run.name}"))
    expect(answer).to_be_enabled()
    answer.focus()

    page.keyboard.press("Enter")

    expect(run.on(page)).to_have_count(0)
    expect(page.locator("article[data-card]:focus, main:focus")).to_have_count(1)


def test_a_field_keeps_the_focus_while_another_card_is_answered_elsewhere(visit, stuck_run):
    other = StuckRun.begin(stuck_run.agent, stuck_run.person, "elsewhere")
    page = visit("decision")
    field = page.get_by_role("article").get_by_role("textbox").first
    field.focus()  # which puts the caret behind the text: chosen before, it would not be replaced
    field.fill("Read")
    queued = page.get_by_role("button", name=re.compile(other.name))
    expect(queued).not_to_have_count(0)
    expect(field).to_have_value("Read")

    other.answer("continue")

    expect(queued).to_have_count(0)
    expect(field).to_be_focused()
    page.keyboard.type(" it.")
    expect(field).to_have_value("Read it.")


def test_the_seconds_before_an_end_are_not_read_out_one_by_one(visit, stuck_run):
    run = StuckRun.begin(stuck_run.agent, stuck_run.person, "counted")
    page = stands(visit("now"), "now")
    page.goto(page.url + f"runs/{run.id}")
    page.get_by_role("button", name="Terminate").focus()
    page.keyboard.press("Enter")

    bar = page.get_by_role("status").filter(has=page.get_by_role("button", name="Undo"))
    expect(bar.locator("[aria-live=off]")).to_contain_text("ends in")
    expect(page.get_by_role("button", name="Terminate: tap again")).to_be_focused()
    page.get_by_role("button", name="Undo").click()
