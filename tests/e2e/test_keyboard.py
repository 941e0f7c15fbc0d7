"""Whatever a pointer can do, a keyboard can: screens walked by Tab, dialogs left by Escape."""

import re

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.screens import screens, stands
from tests.e2e.stuck import StuckRun, several_stuck

pytestmark = pytest.mark.screens

NAMES = list(screens(run="", decision=""))
MOST_STEPS = 500
WHERE = {"desk": {}, "German phone": {"phone": True, "locale": "de-DE"}}
# A group of radio buttons is one stop; its own arrows go through it.
WALK = """() => {
  window.walked = new Set();
  const groupOf = (one) => one.matches("input[type=radio]") ? `radio ${one.name}` : one;
  window.told = (one) => one.outerHTML.replace(/<svg.*?<\\/svg>/g, "").slice(0, 160);
  window.stepped = () => {
    const at = document.activeElement;
    if (!at || at === document.body || window.walked.has(groupOf(at))) return null;
    window.walked.add(groupOf(at)).add(window.told(at));
    return { what: window.told(at), ring: isRinged(at), seen: isSeen(at), native: isNative(at) };
  };
  const outlined = ({ outlineStyle, outlineWidth }) =>
    outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
  const isRinged = (at) => [at, at.parentElement, at.closest("label"), at.nextElementSibling]
    .some((one) => one && [null, "::after"].some((part) => outlined(getComputedStyle(one, part))));
  const isSeen = (at) => {
    const aimed = at.closest("label") ?? at;
    const { left, right, top, bottom } = aimed.getBoundingClientRect();
    const x = (Math.max(0, left) + Math.min(innerWidth, right)) / 2;
    const y = (Math.max(0, top) + Math.min(innerHeight, bottom)) / 2;
    const there = document.elementFromPoint(x, y);
    return there !== null && (aimed.contains(there) || there.contains(aimed));
  };
  const NATIVE = "button, a[href], input, select, textarea, summary";
  const ACTS = "[role=button], [role=link], [role=checkbox], [role=menuitem], [role=tab]";
  const isNative = (at) => at.matches(NATIVE) || !at.matches(ACTS);
  window.left = () => [...document.querySelectorAll(`${NATIVE}, [tabindex]`)].filter((one) =>
    one.tabIndex >= 0 && !one.disabled && !one.closest("[inert], [data-row]")
    && one.checkVisibility({ visibilityProperty: true })
    && !window.walked.has(groupOf(one)) && !window.walked.has(window.told(one)))
    .map(window.told);
  // What looks as if it could be clicked, with nothing in or around it that takes the focus.
  // Dragging over a run's strip has buttons beside it for who uses keys.
  window.pointerOnly = () => [...document.querySelectorAll("body *")].filter((one) =>
    one.checkVisibility() && getComputedStyle(one).cursor === "pointer"
    && !one.closest(`${NATIVE}, label, [tabindex="0"], .strip`)
    && !one.querySelector(`${NATIVE}, [tabindex="0"]`)).map(window.told);
}"""


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

    def visit_one(name, **options):
        page = open_page(addresses[name], reduced_motion="reduce", **options)
        return stands(page, name, loading="Wird geladen" if "locale" in options else "Loading")

    return visit_one


def walk(page):
    """Press Tab until the round is done; return each stop."""
    page.evaluate(WALK)
    stops = []
    while len(stops) < MOST_STEPS:
        page.keyboard.press("Tab")
        stop = page.evaluate("window.stepped()")
        if stop is None:
            break
        stops.append(stop)
    return stops


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("where", WHERE)
def test_tab_gets_to_everything_and_what_has_the_focus_is_seen(visit, where, name):
    page = visit(name, **WHERE[where])

    stops = walk(page)

    faults = {
        "has the focus and no ring": [one["what"] for one in stops if not one["ring"]],
        "has the focus out of sight": [one["what"] for one in stops if not one["seen"]],
        "acts by pointer alone": [one["what"] for one in stops if not one["native"]]
        + page.evaluate("window.pointerOnly()"),
        "was never reached": page.evaluate("window.left()"),
    }
    assert {fault: found for fault, found in faults.items() if found} == {}


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


def test_g_and_a_letter_go_to_each_place_that_the_sheet_tells_of(visit):
    page = visit("settings")

    for letter, path in zip(
        "ndhcpa", ["", "decisions", "history", "costs", "policies", "audit"], strict=True
    ):
        page.keyboard.press("g")
        page.keyboard.press(letter)
        expect(page).to_have_url(re.compile(f"/{path}$"))
