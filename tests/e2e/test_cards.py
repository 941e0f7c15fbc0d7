"""Cards as a person meets them: they open, they are read, a tap on them counts."""

import re

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.conftest import BARE, DESKTOP
from tests.installations import wait_for

ANSWERS = ("Inject fix", "Continue", "Allowlist", "Terminate")
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def on_run(open_page, stuck):
    """Open the page of a stuck run; returns the run, the page and the card."""

    def open_one(**options):
        run = stuck()
        page = open_page(f"/runs/{run.id}", **options)
        card = run.on(page)
        expect(card.get_by_role("button", name="Inject fix")).to_be_visible()
        return run, page, card

    return open_one


@pytest.fixture
def on_board(desktop, stuck):
    """Let a card open on the board; returns the run, the page and the card."""

    def open_one():
        expect(desktop.get_by_role("status").filter(has_text="Live")).to_be_visible()
        run = stuck()
        card = run.on(desktop)
        # One that has just opened rests for a moment: a tap on its way was not for it.
        expect(card.get_by_role("button", name="Inject fix")).to_be_enabled()
        return run, desktop, card

    return open_one


# --- a card opens ----------------------------------------------------------------------


def test_a_card_opens_on_the_board_without_a_reload(desktop, stuck):
    expect(desktop.get_by_role("status").filter(has_text="Live")).to_be_visible()

    run = stuck()

    expect(run.on(desktop)).to_be_visible()


def test_a_card_shows_what_repeated_what_it_cost_and_the_four_answers(desktop, stuck):
    run = stuck()

    card = run.on(desktop)
    expect(card).to_contain_text("ran the same test 2 times")
    expect(card).to_contain_text("Bash pytest -q")
    expect(card).to_contain_text("$0.50")
    for answer in ANSWERS:
        expect(card.get_by_role("button", name=answer)).to_be_enabled()


@pytest.mark.screens
def test_a_card_says_on_both_screens_that_the_agent_gave_up_waiting(open_page, stuck):
    run = stuck()
    run.agent.poll(run.id, run.directive["version"], wait=1)  # it waited, and is gone

    for page in (open_page(f"/runs/{run.id}"), open_page(f"/runs/{run.id}", phone=True)):
        expect(page.get_by_text("gave up waiting").first).to_be_visible(timeout=60_000)
        happened = page.get_by_role("region", name="What happened")
        expect(happened).to_contain_text("Agent gave up waiting")
    listed = page.context.new_page()
    listed.set_viewport_size(DESKTOP)
    listed.goto(page.url.replace(f"/runs/{run.id}", "/history"))
    row = listed.get_by_role("row", name=run.name)
    expect(row).to_contain_text("gave up")
    expect(row.get_by_title("Agent gave up waiting")).to_be_visible()


def test_a_message_to_a_run_without_a_card_is_in_its_next_directive(open_page, agent):
    run = agent.open_run(name="tide tables", capabilities={"inject": ["at_next_tool"]})
    page = open_page(f"/runs/{run}")

    page.get_by_role("textbox", name="Message the agent").fill("The flag is --dry-run.")
    expect(page.get_by_text("reads at its next tool call")).to_be_visible()
    page.get_by_role("button", name="Send").click()

    messages = wait_for(lambda: agent.get(f"/api/v1/runs/{run}/directive/")["messages"])
    assert [message["text"] for message in messages] == ["The flag is --dry-run."]


# --- on a phone ------------------------------------------------------------------------


def test_a_tap_on_a_phone_reaches_the_agent(open_page, stuck):
    run = stuck()
    page = open_page(f"/decisions/{run.card['id']}", phone=True)

    run.on(page).get_by_role("button", name="Inject fix").tap()

    directive = run.next_directive()
    assert (directive["action"], directive["call"]) == ("proceed", "skip")
    assert [message["text"] for message in directive["messages"]] == [run.card["verdict"]["fix"]]


def test_the_agent_reads_exactly_what_a_person_writes_on_a_phone(open_page, stuck):
    run = stuck()
    page = open_page(f"/decisions/{run.card['id']}", phone=True)

    run.on(page).get_by_role("button", name="Edit").tap()
    run.on(page).get_by_role("textbox").fill("The file is token.py.")
    run.on(page).get_by_role("button", name="Inject fix").tap()

    texts = [message["text"] for message in run.next_directive()["messages"]]
    assert texts == ["The file is token.py."]


@pytest.mark.screens
def test_the_run_page_on_a_phone_shows_an_injectable_fix_in_full(open_page, stuck):
    run = stuck()
    page = open_page(f"/runs/{run.id}", phone=True)

    expect(run.on(page).get_by_role("button", name="Inject fix")).to_be_visible()
    expect(run.on(page)).to_contain_text(run.card["verdict"]["fix"])


@pytest.mark.screens
def test_every_button_of_a_card_is_large_enough_for_a_thumb(open_page, stuck):
    run = stuck()
    page = open_page(f"/decisions/{run.card['id']}", phone=True)
    expect(run.on(page).get_by_role("button", name="Inject fix")).to_be_visible()

    buttons = run.on(page).get_by_role("button").all()

    assert len(buttons) >= len(ANSWERS)
    small = [b.inner_text() for b in buttons if b.bounding_box()["height"] < 44]
    assert small == []


@pytest.mark.screens
def test_a_card_fits_the_width_of_a_phone(open_page, stuck):
    run = stuck()
    page = open_page(f"/decisions/{run.card['id']}", phone=True)
    expect(run.on(page).get_by_role("button", name="Inject fix")).to_be_visible()

    assert page.evaluate("document.documentElement.scrollWidth") <= 390


# --- keys ------------------------------------------------------------------------------


def test_c_continues(on_board):
    run, page, _ = on_board()

    page.keyboard.press("c")

    directive = run.next_directive()
    assert (directive["action"], directive["call"]) == ("proceed", "run")


def test_a_allowlists_the_repeated_call(on_board, person):
    run, page, card = on_board()

    page.keyboard.press("a")

    expect(card).to_be_hidden()
    entries = person.get("/api/v1/allowlist/")["results"]
    assert [entry["pattern"] for entry in entries if entry["run"] == run.id] == (
        run.card["evidence"]["calls"]
    )


def test_i_injects_what_the_judge_proposed(on_board):
    run, page, _ = on_board()

    page.keyboard.press("i")

    texts = [message["text"] for message in run.next_directive()["messages"]]
    assert texts == [run.card["verdict"]["fix"]]


@pytest.mark.screens
def test_t_counts_down_before_it_terminates_the_run(on_board):
    run, page, card = on_board()

    page.keyboard.press("t")

    expect(card.get_by_role("button", name="Terminate: tap again")).to_be_visible()
    assert run.person.card_of(run.id)["status"] == "open"


def test_undo_cancels_a_terminate(on_board):
    run, page, card = on_board()
    page.keyboard.press("t")

    page.get_by_role("button", name="Undo").click()

    expect(card.get_by_role("button", name=re.compile("^Terminate ?ends"))).to_be_visible()
    assert run.person.card_of(run.id)["version"] == run.card["version"]


def test_t_twice_ends_the_run_at_once(on_board):
    run, page, card = on_board()
    page.keyboard.press("t")
    expect(card.get_by_role("button", name="Terminate: tap again")).to_be_visible()

    page.wait_for_timeout(600)  # sooner, it is one press that slipped
    page.keyboard.press("t")

    assert run.next_directive()["action"] == "stop"


def test_enter_held_down_on_terminate_presses_it_once(on_board):
    run, page, card = on_board()
    button = card.get_by_role("button", name="Terminate")
    button.focus()
    page.keyboard.down("Enter")
    expect(button).to_contain_text("Ends in")

    page.wait_for_timeout(600)  # later, a second press would end it at once
    page.keyboard.down("Enter")  # the same, repeated

    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    expect(button).to_contain_text("Ends in")
    assert run.person.card_of(run.id)["version"] == run.card["version"]


@pytest.mark.screens
def test_a_key_in_a_field_is_a_letter(on_run):
    run, _, card = on_run()
    field = card.get_by_role("textbox")

    field.focus()
    field.press_sequentially("tci")

    expect(field).to_have_value(run.card["verdict"]["fix"] + "tci")
    expect(card.get_by_role("button", name=re.compile("^Terminate ?ends"))).to_be_visible()


def test_i_spends_nothing_and_the_dollar_key_allows_more(desktop, agent, person):
    run = agent.open_run(name="spent all", budget={"usd": "1"})
    agent.post_turns(run, a_turn("make data", cost_usd="1.25"), a_turn(phase="proposed"))
    card = desktop.get_by_role("article", name="spent all")
    allow = card.get_by_role("button", name="Allow $0.50 more")
    expect(allow).to_be_enabled()  # a card that has just come takes no key yet

    desktop.keyboard.press("i")
    expect(allow).to_be_enabled()
    assert person.card_of(run)["status"] == "open"
    desktop.keyboard.press("$")

    expect(card).to_be_hidden()
    # From what was spent on, not from the ceiling: that much more may be spent.
    assert person.get(f"/api/v1/runs/{run}/")["budget"]["usd"] == "1.75"


# --- somebody was faster ---------------------------------------------------------------


def test_a_tap_on_an_answered_card_is_refused_and_says_who_answered(on_run):
    run, page, card = on_run()

    def answer_first(route):
        run.answer("continue")
        route.continue_()

    page.route("**/interventions/", answer_first)
    card.get_by_role("button", name="Inject fix").click()

    notice = page.get_by_role("status").filter(has_text="This card has changed.")
    expect(notice).to_contain_text("You continued it at")
    assert run.next_directive()["messages"] == []


# --- the run's page --------------------------------------------------------------------


@pytest.mark.screens
def test_the_run_page_lists_the_turns_in_order(on_run):
    _, page, _ = on_run()

    numbers = page.get_by_role("button", name="Turn ")

    expect(numbers).to_have_text(["1", "2", "3"])


@pytest.mark.screens
def test_the_card_sets_the_repeated_turns_side_by_side(on_run):
    _, _, card = on_run()

    evidence = card.get_by_role("region", name="Evidence")

    expect(evidence).to_contain_text("Turns 1 and 2 compared")
    expect(evidence).to_contain_text("No such file: tokens.py")


def test_the_mode_switch_changes_the_runs_mode(on_run, person):
    run, page, _ = on_run()
    modes = page.get_by_role("radiogroup", name="When it loops")

    with page.expect_response(f"**/runs/{run.id}/"):
        modes.get_by_text("Flag").click()

    expect(modes.get_by_role("radio", name="Flag")).to_be_checked()
    assert person.get(f"/api/v1/runs/{run.id}/")["mode"] == "flag"


@pytest.mark.screens
def test_the_judges_reason_is_shown_before_what_allowlist_would_add(on_run):
    _, _, card = on_run()

    reason = card.get_by_text("Local judge: a loop").bounding_box()
    added = card.get_by_text("Adds to the allowlist").bounding_box()

    assert reason["y"] + reason["height"] <= added["y"]


@pytest.mark.screens
@pytest.mark.parametrize(("width", "height"), [(1366, 768), (1280, 720), (1024, 768)])
def test_the_answers_are_in_view_on_a_low_screen_without_scrolling(on_run, width, height):
    _, page, card = on_run()

    page.set_viewport_size({"width": width, "height": height})

    for name in ANSWERS:
        expect(card.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)


def test_what_allowlist_would_add_is_in_view_beside_the_run(on_run):
    _, _, card = on_run()

    expect(card.get_by_text('Bash {"command":"pytest -q"}')).to_be_in_viewport(ratio=1)


def test_a_message_to_a_run_without_a_card_is_not_called_a_fix(open_page, agent):
    run = agent.open_run(name="tide tables")
    agent.post_turns(run, a_turn("make tides"))
    page = open_page(f"/runs/{run}")

    page.get_by_role("textbox", name="Message the agent").fill("The flag is --dry-run.")
    page.get_by_role("button", name="Send").click()

    expect(page.get_by_text("gets your message")).to_be_visible()
    expect(page.get_by_role("region", name="Turns", exact=True)).to_contain_text(
        "You sent a message"
    )
    expect(page.get_by_role("main").get_by_text(re.compile(r"\bfix\b"))).to_have_count(0)


# --- the inbox -------------------------------------------------------------------------


@pytest.mark.screens
def test_the_inbox_lists_the_oldest_first(open_page, stuck):
    first, second = stuck("first"), stuck("second")

    page = open_page("/decisions")

    queue = page.get_by_role("region", name="Queue").get_by_role("button")
    expect(queue.filter(has_text="first").or_(queue.filter(has_text="second"))).to_contain_text(
        [first.name, second.name]
    )


@pytest.mark.screens
def test_j_and_k_walk_the_inbox(open_page, stuck):
    first, second = stuck("first"), stuck("second")
    page = open_page("/decisions")
    expect(first.on(page)).to_be_visible()

    page.keyboard.press("j")
    expect(second.on(page)).to_be_visible()
    page.keyboard.press("k")

    expect(first.on(page)).to_be_visible()


# --- hostile text ----------------------------------------------------------------------


def test_hostile_names_and_output_are_shown_as_text(open_page, stuck):
    dialogs = []
    run = stuck(HOSTILE, error=f"Error: {HOSTILE}")
    page = open_page(BARE)
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))

    page.goto(page.url.replace(BARE, f"/runs/{run.id}"))

    expect(run.on(page).get_by_role("region", name="Evidence")).to_contain_text(HOSTILE)
    assert page.locator("img[src=x]").count() == 0
    assert dialogs == []
