"""An agent asks at its terminal; a person who sits elsewhere answers on the screen."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect

from tests.contract.asking import AskingSession
from tests.e2e import axe
from tests.e2e.conftest import BARE
from tests.e2e.stuck import answer_all

COMMAND = "rm -r build/reports"
WRITES = {
    "tool_name": "Write",
    "tool_input": {"file_path": "app/settings.py", "content": "DEBUG = False\nHOSTS = []\n"},
}


@pytest.fixture
def session(agent, person):
    answer_all(person)
    with ThreadPoolExecutor(4) as pool:
        asking = AskingSession(agent, person, pool)
        yield asking
        asking.hook("SessionEnd")


@pytest.fixture
def asked(session):
    """Ask for one command; returns the session and its request, which is open."""
    request = session.ask(command=COMMAND)
    session.card()
    return session, request


def decided(request):
    return request.result(60)["hookSpecificOutput"]["decision"]


def entries_of(session):
    entries = session.person.each("/api/v1/allowlist/?limit=500")
    return [one for one in entries if one["run"] == session.run()["id"]]


def the_card(page):
    return page.get_by_role("article", name="tidepool")


@pytest.mark.parametrize("path", ["/", "/decisions"])
def test_the_board_shows_what_is_asked_and_allows_it_once(asked, open_page, path):
    _, request = asked
    card = the_card(open_page(path))
    expect(card).to_contain_text("asks for permission to use Bash")
    expect(card).to_contain_text(COMMAND)
    expect(card).to_contain_text("Its terminal asks too")

    card.get_by_role("button", name="Allow once").click()

    assert decided(request) == {"behavior": "allow"}
    expect(card).to_have_count(0)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_in_this_run_allows_it_now_and_when_the_run_asks_again(asked, open_page, phone):
    session, request = asked
    page = open_page(f"/runs/{session.run()['id']}", phone=phone)

    the_card(page).get_by_role("button", name="In this run").click()

    assert decided(request)["behavior"] == "allow"
    again = session.ask(command=COMMAND)
    assert decided(again)["behavior"] == "allow"  # nobody was asked
    (entry,) = entries_of(session)
    assert (entry["scope"], entry["match"]) == ("run", "exact")

    other = session.ask(command="rm -r build")
    session.card()
    assert not other.done()


def test_in_this_run_allows_nothing_if_the_answer_comes_too_late(asked, open_page):
    session, request = asked
    page = open_page(f"/runs/{session.run()['id']}")
    button = the_card(page).get_by_role("button", name="In this run")
    expect(button).to_be_visible()
    held = []
    # No method of a list: Playwright marks what it calls.
    page.route("**/interventions/", lambda route: held.append(route))  # noqa: PLW0108 - see above

    with page.expect_request("**/interventions/"):
        button.click()
    session.tap("deny")
    with page.expect_response("**/interventions/") as answer:
        held[0].continue_()

    assert answer.value.status == 409
    assert decided(request)["behavior"] == "deny"
    assert entries_of(session) == []


def test_a_call_with_a_secret_can_only_be_allowed_once(session, open_page):
    session.ask(command="curl -H 'X-Key: sk-ant-api03-abcdefghijklmnop' x.io")
    session.card()
    card = the_card(open_page(f"/runs/{session.run()['id']}"))

    expect(card).to_contain_text("[masked]")
    expect(card.get_by_role("button", name="Allow once")).to_be_visible()
    card.page.wait_for_load_state("networkidle")
    expect(card.get_by_role("button", name="In this run")).to_have_count(0)


def test_keys_answer_it_like_other_cards(asked, desktop):
    _, request = asked
    # A card that has just come takes no key yet.
    expect(the_card(desktop).get_by_role("button", name="Deny")).to_be_enabled()

    desktop.keyboard.press("d")

    assert decided(request)["behavior"] == "deny"


def test_a_denial_includes_the_written_reason(asked, open_page):
    session, request = asked
    page = open_page(f"/runs/{session.run()['id']}")
    page.get_by_label("Reason, sent with Deny").fill("Keep the reports.")

    the_card(page).get_by_role("button", name="Deny").click()

    assert decided(request)["message"].endswith("Keep the reports.")


def test_its_run_waits_for_you_and_is_not_paused(asked, open_page):
    session, _ = asked
    page = open_page(f"/runs/{session.run()['id']}")

    expect(the_card(page)).to_contain_text("waiting for you")
    assert session.run()["status"] == "running"


@pytest.mark.parametrize("path", ["/", "/decisions", "the run", "the card"])
def test_a_phone_answers_it_from_every_place(asked, open_page, path):
    session, request = asked
    places = {
        "the run": f"/runs/{session.run()['id']}",
        "the card": f"/decisions/{session.card()['id']}",
    }
    page = open_page(places.get(path, path), phone=True)
    expect(the_card(page)).to_contain_text(COMMAND)

    the_card(page).get_by_role("button", name="Allow once").tap()

    assert decided(request) == {"behavior": "allow"}


def test_the_line_after_a_tap_says_where_the_answer_is(asked, open_page):
    _, request = asked
    page = open_page("/", phone=True)
    the_card(page).get_by_role("button", name="Allow once").tap()
    decided(request)

    expect(page.get_by_text("may run this call once")).to_be_visible()
    expect(page.get_by_label("Answer status")).to_contain_text("delivered")


def test_the_card_goes_when_it_was_answered_at_the_terminal(asked, desktop):
    session, _ = asked
    expect(the_card(desktop)).to_be_visible()

    session.hook("PostToolUse", **session.call, tool_response={"stdout": ""})

    expect(the_card(desktop)).to_have_count(0)
    desktop.goto(desktop.url + "decisions")
    expect(desktop.get_by_text("answered at its terminal").first).to_be_visible()


@pytest.mark.parametrize("phone", [False, True])
def test_a_call_not_shown_in_full_is_opened_before_it_is_allowed(session, open_page, phone):
    session.ask(command="ls", agent_id="first")
    session.card()
    session.ask(**WRITES)
    page = open_page("/decisions" if phone else "/", phone=phone)
    card = the_card(page).filter(has_text="Write")
    expect(card).to_contain_text("app/settings.py")
    expect(card.get_by_role("button", name="Allow once")).to_have_count(0)

    card.get_by_text(re.compile(r"^Read( it)?(,|$)")).click()

    expect(page.get_by_text("DEBUG = False")).to_be_visible()
    expect(page.get_by_role("button", name="Allow once").first).to_be_visible()


def test_a_permission_card_is_in_german(asked, open_page):
    page = open_page("/", locale="de-DE")

    card = the_card(page)
    expect(card).to_contain_text("bittet um Erlaubnis, Bash zu benutzen")
    expect(card.get_by_role("button", name="Einmal erlauben")).to_be_visible()
    expect(card.get_by_role("button", name="Ablehnen")).to_be_visible()


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_a_permission_card_is_accessible(asked, open_page, size):
    session, _ = asked
    card = session.card()["id"]
    # Past the page's strict policy axe is put in as a script of the browser's own.
    page = open_page(BARE, phone=size == "phone", bypass_csp=True, reduced_motion="reduce")
    page.context.add_init_script(path=axe.SCRIPT)
    page.goto(page.url.replace(BARE, f"/decisions/{card}"))
    expect(page.get_by_text(COMMAND).first).to_be_visible()

    assert axe.in_both_themes(page, "permission", size) == []
