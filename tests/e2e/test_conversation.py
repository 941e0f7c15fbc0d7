"""The conversation with a running agent: what was said, how far it came, what it asks."""

import json

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.axe import SCRIPT, in_both_themes
from tests.e2e.screens import FITS
from tests.installations import wait_for

TEXT = "Round per invoice, see docs/billing.md."


# Chromium sends speech to a service that no test reaches: the browser's part is played here.
RECOGNIZER = """
window.webkitSpeechRecognition = window.SpeechRecognition = class {
  start() { window.recognizer = this; }
  stop() { this.onend(); }
};
"""
HEAR = "(said) => recognizer.onresult({ results: [[{ transcript: said }]] })"
NO_RECOGNIZER = "window.webkitSpeechRecognition = window.SpeechRecognition = undefined;"


@pytest.fixture
def working(agent):
    """Return a run at work whose agent has said something."""
    run = agent.open_run(name="refactor-billing", capabilities={"inject": ["at_next_tool"]})
    agent.post_turns(
        run,
        {"role": "user", "content": "Prorate plan changes by the day."},
        a_turn("pytest tests/billing", result="12 passed"),
        {"role": "assistant", "content": "All 12 pass. Next I look at the rounding."},
    )
    return run


def thread(page):
    return page.get_by_role("log", name="Conversation")


def box(page):
    return page.get_by_role("textbox", name="Message the agent")


def reached(agent, run):
    """The agent takes what waits for it, and says so."""
    (message,) = wait_for(lambda: agent.get(f"/api/v1/runs/{run}/directive/")["messages"])
    agent.ask("POST", f"/api/v1/runs/{run}/messages/{message['id']}/delivered/")
    return message["text"]


def test_a_message_is_followed_from_the_box_into_what_the_agent_does(open_page, agent, working):
    page = open_page(f"/runs/{working}")
    expect(thread(page)).to_contain_text("All 12 pass. Next I look at the rounding.")

    page.keyboard.press("m")
    expect(box(page)).to_be_focused()
    box(page).fill(TEXT)
    page.keyboard.press("Enter")
    expect(thread(page)).to_contain_text("queued")

    assert reached(agent, working) == TEXT
    expect(thread(page)).to_contain_text("not read yet")

    agent.post_turns(working, a_turn("git status", result="clean"))
    expect(thread(page).get_by_text("read", exact=False).last).to_be_visible()
    expect(thread(page)).not_to_contain_text("acted on")

    agent.post_turns(working, a_turn("cat docs/billing.md", result="Round half up."))
    expect(thread(page)).to_contain_text("acted on")
    thread(page).get_by_role("link", name="turn 5").click()
    expect(page.get_by_role("region", name="Turn 5 in full")).to_be_visible()


def test_a_queued_message_is_cancelled(open_page, agent, working):
    page = open_page(f"/runs/{working}")
    box(page).fill(TEXT)
    page.get_by_role("button", name="Send").click()

    thread(page).get_by_role("button", name="Cancel").click()

    expect(thread(page)).to_contain_text("cancelled")
    assert agent.get(f"/api/v1/runs/{working}/directive/")["messages"] == []


def test_a_message_that_waits_for_a_run_that_is_stopped_promises_nothing(
    open_page, agent, person, working
):
    page = open_page(f"/runs/{working}")
    box(page).fill(TEXT)
    page.get_by_role("button", name="Send").click()
    expect(thread(page)).to_contain_text("arrives")

    person.tap(working, "terminate")

    expect(thread(page)).to_contain_text("not delivered, the run is stopped")
    expect(thread(page)).not_to_contain_text("arrives")


def test_a_quick_reply_fills_the_box_and_sends_nothing(open_page, agent, working):
    page = open_page(f"/runs/{working}")

    page.get_by_role("button", name="Run the tests").click()

    expect(box(page)).to_have_value("Run the tests now and tell me what fails.")
    expect(box(page)).to_be_focused()
    assert agent.get(f"/api/v1/runs/{working}/directive/")["messages"] == []


def test_a_message_is_dictated_behind_what_is_written(open_page, working):
    page = open_page(f"/runs/{working}")
    page.add_init_script(RECOGNIZER)
    page.reload()
    box(page).fill("See docs/billing.md:")

    page.get_by_role("button", name="Dictate").click()
    page.evaluate(HEAR, "round per invoice")

    expect(box(page)).to_have_value("See docs/billing.md: round per invoice")
    page.get_by_role("button", name="Stop dictating").click()
    expect(page.get_by_role("button", name="Dictate")).to_be_visible()


def test_a_browser_that_does_not_listen_offers_no_dictation(open_page, working):
    page = open_page(f"/runs/{working}")
    page.add_init_script(NO_RECOGNIZER)
    page.reload()

    expect(box(page)).to_be_visible()
    expect(page.get_by_role("button", name="Dictate")).to_have_count(0)


def test_with_a_card_open_it_is_the_cards_second_tab(open_page, stuck):
    run = stuck()
    page = open_page(f"/runs/{run.id}")
    expect(run.on(page)).to_be_visible()

    page.get_by_role("radio", name="Conversation").check(force=True)

    expect(thread(page)).to_be_visible()
    page.get_by_role("button", name="To the card").click()
    expect(run.on(page)).to_be_visible()


def test_an_agent_that_takes_no_message_says_why_in_place_of_the_box(open_page, agent):
    run = agent.open_run(name="watched only", capabilities={"inject": []})
    agent.post_turns(run, a_turn("ls", result="a"))
    why = agent.get(f"/api/v1/runs/{run}/")["unavailable"]["inject"]
    page = open_page(f"/runs/{run}")

    expect(page.get_by_role("region", name="Conversation")).to_contain_text(why)
    expect(box(page)).to_have_count(0)


def test_on_a_phone_it_has_the_whole_screen(open_page, agent, working):
    page = open_page(f"/runs/{working}", phone=True)
    page.wait_for_load_state("networkidle")  # what comes late above moves the button
    page.get_by_role("button", name="Message the agent").tap()

    box(page).fill(TEXT)
    page.get_by_role("button", name="Send").tap()
    expect(thread(page)).to_contain_text(TEXT)
    assert reached(agent, working) == TEXT
    page.get_by_role("button", name="Close the conversation").tap()
    expect(thread(page)).to_have_count(0)


@pytest.mark.screens
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
def test_it_fits_and_is_accessible(open_page, working, phone, locale):
    page = open_page(f"/runs/{working}", phone=phone, locale=locale, reduced_motion="reduce")
    if phone:
        page.get_by_role(
            "button", name="Message the agent" if locale == "en-GB" else "Nachricht an den Agenten"
        ).tap()
    expect(page.get_by_role("log")).to_contain_text("All 12 pass")

    assert page.evaluate(FITS)
    page.evaluate(SCRIPT.read_text())
    assert in_both_themes(page, "conversation", "phone" if phone else "desktop") == []


def test_what_is_being_written_is_there_again_after_a_look_elsewhere(open_page, working):
    page = open_page(f"/runs/{working}")
    box(page).fill(TEXT)

    page.get_by_role("link", name="History").first.click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    page.go_back()

    expect(box(page)).to_have_value(TEXT)


def refuse_messages(page):
    refusal = json.dumps({"code": "invalid", "detail": "The run has moved on.", "status": 409})
    page.route(
        "**/interventions/",
        lambda route: route.fulfill(
            status=409, body=refusal, headers={"Content-Type": "application/problem+json"}
        ),
    )


@pytest.mark.screens
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_message_that_was_not_taken_says_why_and_keeps_its_words(open_page, working, phone):
    page = open_page(f"/runs/{working}", phone=phone, reduced_motion="reduce")
    refuse_messages(page)
    if phone:
        page.get_by_role("button", name="Message the agent").tap()
    box(page).fill(TEXT)
    page.get_by_role("button", name="Send").click()

    band = page.get_by_role("alert").filter(has_text="The message was not sent.")
    expect(band).to_have_count(1)
    expect(band).to_contain_text("The run has moved on.")
    assert page.evaluate(FITS)
    page.evaluate(SCRIPT.read_text())
    assert in_both_themes(page, "message not sent", "phone" if phone else "desktop") == []

    band.get_by_role("button", name="Write again").click()
    expect(box(page)).to_have_value(TEXT)
    expect(band).to_have_count(0)


def test_away_from_the_conversation_it_is_told_over_the_page(open_page, working):
    page = open_page(f"/runs/{working}")
    refuse_messages(page)
    box(page).fill(TEXT)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_have_count(1)

    page.get_by_role("link", name="Decisions").first.click()

    expect(page.get_by_text("Could not send the message to refactor-billing")).to_be_visible()


def test_where_a_turn_stands_in_its_place_it_is_told_over_the_page_too(open_page, working):
    page = open_page(f"/runs/{working}")
    refuse_messages(page)
    box(page).fill(TEXT)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("The message was not sent.")).to_be_visible()

    page.get_by_role("heading").first.click()
    page.keyboard.press("k")

    expect(box(page)).to_have_count(0)
    expect(page.get_by_text("Could not send the message to refactor-billing")).to_be_visible()
