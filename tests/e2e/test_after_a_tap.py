"""What stands on the screen once an answer was tapped: where it is, and the way back."""

import re

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.reach import CUT_OFF
from tests.e2e.stuck import StuckRun
from tests.installations import wait_for

LINE = "Answer status"


@pytest.fixture
def spent(agent, person):
    """Open a run that is held at its budget of a dollar; return it with its card."""
    run = agent.open_run(name="spent all", budget={"usd": "1"})
    agent.post_turns(run, a_turn("make data", cost_usd="1.25"), a_turn(phase="proposed"))
    return run, wait_for(lambda: person.card_of(run))


def line_of(page):
    return page.get_by_role("list", name=LINE)


def test_a_phone_shows_the_answer_until_the_agent_has_acted_on_it(open_page, stuck):
    run, _other = stuck("first"), stuck("second")
    page = open_page(f"/decisions/{run.card['id']}", phone=True)

    run.on(page).get_by_role("button", name="Continue").tap()

    expect(line_of(page)).to_contain_text("queued")
    # The strip is drawn anew with the next card: for an instant there is none to be measured.
    box = wait_for(page.locator(".snacks:not(.empty)").bounding_box)
    assert box["height"] < 100
    link = page.get_by_role("link", name=f"{run.name} continues")
    expect(link).to_have_attribute("href", f"/runs/{run.id}")
    page.wait_for_timeout(7_000)  # longer than a bar stands at a desk
    expect(line_of(page)).to_be_visible()
    run.next_directive()
    expect(line_of(page)).to_contain_text(re.compile(r"delivered \d\d:\d\d:\d\d"))
    run.agent.post_turns(run.id, a_turn("cat app/token.py"))
    expect(line_of(page)).to_have_count(0)


def test_a_phone_says_when_an_answer_was_not_delivered(open_page, stuck):
    run = stuck()
    run.agent.poll(run.id, run.directive["version"], wait=1)  # it waited, and is gone
    page = open_page(f"/runs/{run.id}", phone=True)
    expect(page.get_by_text("gave up waiting").first).to_be_visible(timeout=60_000)

    run.on(page).get_by_role("button", name="Continue").tap()

    expect(line_of(page)).to_contain_text("not delivered")
    page.get_by_role("button", name="Close").tap()
    expect(line_of(page)).to_have_count(0)


def test_a_phone_names_the_next_card_within_its_button_however_long(open_page, stuck):
    run = stuck()
    page = open_page(f"/decisions/{run.card['id']}", phone=True)
    run.on(page).get_by_role("button", name="Continue").tap()
    other = stuck("tidepool: Make the tests of signing in pass, then write the notes")

    next_card = page.get_by_role("link", name=f"Next card: {other.name}")

    expect(next_card).to_be_visible()
    assert page.evaluate(CUT_OFF) == []


@pytest.mark.parametrize("path", ["/decisions", "/decisions/{card}"])
def test_the_result_of_a_tap_on_a_phone_covers_no_button_of_the_next_card(open_page, stuck, path):
    run, other = stuck("first"), stuck("second")
    page = open_page(path.format(card=run.card["id"]), phone=True)
    expect(run.on(page)).to_be_visible()
    go_on(page, run)

    expect(line_of(page)).to_be_visible()
    expect(other.on(page)).to_be_visible()
    page.wait_for_timeout(800)
    assert covered(page) == []


@pytest.mark.parametrize("path", ["/", "/decisions", "/runs/{run}"])
def test_the_bar_on_a_desktop_covers_no_answer_in_a_low_window(open_page, stuck, path):
    run, other = stuck("first"), stuck("second")
    page = open_page(path.format(run=other.id))
    page.set_viewport_size({"width": 1280, "height": 640})
    expect(other.on(page).or_(run.on(page)).first).to_be_visible()

    card = run if path != "/runs/{run}" else other
    card.on(page).get_by_role("button", name="Continue").click()

    expect(page.get_by_text("continues")).to_be_visible()
    assert covered(page) == []


def go_on(page, run):
    """Continue by the card's own button, or the one that stands for a swipe."""
    page.evaluate(
        """id => { const cards = [...document.querySelectorAll("article, [role=group]")];
        const here = cards.filter(card => card.getAttribute("aria-label") === id);
        const buttons = here.flatMap(card => [...card.querySelectorAll("button")]);
        buttons.find(button => button.textContent.includes("Continue"))?.click(); }""",
        run.name,
    )


def covered(page):
    """Return the cards' buttons of which the middle lies under what stands after a tap."""
    return page.evaluate(
        """() => [...document.querySelectorAll("article button")].filter(button => {
          if (button.closest(".snacks")) return false;
          const box = button.getBoundingClientRect();
          const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
          return at?.closest(".snacks");
        }).map(button => button.textContent.trim())"""
    )


# --- the way back ----------------------------------------------------------------------


def test_undo_removes_an_allowlist_entry_and_reopens_the_card(desktop, stuck, person):
    run: StuckRun = stuck()
    card = run.on(desktop)
    card.get_by_role("button", name="Allowlist").click()
    expect(card).to_be_hidden()
    assert [one for one in person.get("/api/v1/allowlist/")["results"] if one["run"] == run.id]

    desktop.get_by_role("button", name="Undo").click()

    expect(card).to_be_visible()
    assert [
        one for one in person.get("/api/v1/allowlist/")["results"] if one["run"] == run.id
    ] == []
    assert person.get(f"/api/v1/runs/{run.id}/")["status"] in {"holding", "held"}


def test_undo_lowers_a_raised_budget_again_and_holds_the_run(desktop, spent, person):
    run, _ = spent
    card = desktop.get_by_role("article", name="spent all")
    card.get_by_role("button", name="Allow $0.50 more").click()
    expect(card).to_be_hidden()

    desktop.get_by_role("button", name="Undo").click()

    expect(card).to_contain_text("$1.25 of $1.00")
    row = person.get(f"/api/v1/runs/{run}/")
    assert (row["budget"], row["status"]) == ({"usd": "1"}, "holding")


def test_undo_withdraws_an_undelivered_fix_and_reopens_its_card(desktop, stuck, person):
    run: StuckRun = stuck()
    card = run.on(desktop)
    card.get_by_role("button", name="Inject fix").click()
    expect(card).to_be_hidden()

    desktop.get_by_role("button", name="Undo").click()

    expect(card).to_be_visible()
    assert person.get(f"/api/v1/runs/{run.id}/")["status"] == "holding"
    assert run.agent.poll(run.id, run.directive["version"]).json["messages"] == []


def test_a_delivered_fix_offers_no_undo(open_page, stuck):
    run = stuck()
    page = open_page(f"/runs/{run.id}", phone=True)
    run.on(page).get_by_role("button", name="Inject fix").tap()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()

    assert [message["text"] for message in run.next_directive()["messages"]]

    expect(line_of(page)).to_contain_text("delivered")
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_undo_withdraws_a_message_and_the_run_goes_on(open_page, agent, person):
    run = agent.open_run(name="reads on")
    agent.post_turns(run, a_turn("ls"))
    page = open_page(f"/runs/{run}")
    page.get_by_role("textbox", name="Message the agent").fill("The file is token.py.")
    page.get_by_role("button", name="Send").click()

    page.get_by_role("button", name="Undo").click()

    expect(page.get_by_text("Your answer to reads on is undone")).to_be_visible()
    assert agent.post_turns(run, a_turn("cat a")).json["directive"]["messages"] == []
    assert person.get(f"/api/v1/runs/{run}/")["status"] == "running"


WORDS = {
    "en-GB": ("It ended while paused", "Continue", "continues once resumed", "Undo"),
    "de-DE": ("endete angehalten", "Weiter", "läuft weiter, sobald er fortgesetzt", "Rückgängig"),
}


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
@pytest.mark.parametrize("locale", WORDS)
def test_a_hold_that_outlived_its_session_is_lifted_from_the_run_page(
    open_page, stuck, person, locale, phone
):
    says, go_on, goes_on, back = WORDS[locale]
    run = stuck()
    run.agent.ask("PATCH", f"/api/v1/runs/{run.id}/", {"status": "completed"})
    page = open_page(f"/runs/{run.id}", phone=phone, locale=locale)
    expect(page.get_by_text(says)).to_be_visible()

    page.get_by_role("button", name=go_on, exact=True).click()
    expect(page.get_by_text(goes_on)).to_be_visible()
    expect(page.get_by_text(says)).to_have_count(0)
    assert not person.get(f"/api/v1/runs/{run.id}/")["hold_stands"]
    page.get_by_role("button", name=back).click()
    expect(page.get_by_text(says)).to_be_visible()
    page.get_by_role("button", name=go_on, exact=True).click()
    expect(page.get_by_text(says)).to_have_count(0)

    response = run.agent.post_turns(run.id, a_turn("cat app/token.py", phase="proposed")).json
    assert response["directive"]["action"] == "proceed"


def test_z_undoes_the_last_answer(desktop, stuck):
    run = stuck()
    # A card that has just come takes no key yet.
    expect(run.on(desktop).get_by_role("button", name="Continue")).to_be_enabled()
    desktop.keyboard.press("a")
    expect(desktop.get_by_role("button", name="Undo")).to_be_visible()

    desktop.keyboard.press("z")

    expect(run.on(desktop)).to_be_visible()
