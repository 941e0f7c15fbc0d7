"""What is on screen stays true: for two people, after a lost line, a reload, a restart."""

import re

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.conftest import BARE
from tests.e2e.connection import link_of
from tests.e2e.reach import LARGE_TEXT, text_of
from tests.e2e.screens import FITS
from tests.installations import wait_for


def test_two_people_see_the_same_answer(open_page, stuck):
    run = stuck()
    ana, ben = open_page(f"/runs/{run.id}"), open_page(f"/decisions/{run.card['id']}", phone=True)
    expect(run.on(ben).get_by_role("button", name="Continue")).to_be_visible()

    run.on(ana).get_by_role("button", name="Continue").click()

    expect(run.on(ben)).to_contain_text("You continued")
    expect(run.on(ben).get_by_role("button", name="Continue")).to_have_count(0)


def test_a_tools_name_stands_apart_from_what_it_was_given(open_page, agent):
    agent.open_run(name="second")  # a lone run has a screen of its own
    agent.post_turns(agent.open_run(name="linter"), a_turn("make lint"))

    for phone in (False, True):
        page = open_page("/", phone=phone)
        # Rows are drawn as they come into sight, and other tests' runs may stand above.
        page.set_viewport_size({**page.viewport_size, "height": 20_000})
        expect(page.get_by_text("Bash make lint")).to_be_visible()


CLOCK_TEN_MINUTES_AHEAD = """
const right = Date;
window.Date = class extends right {
  constructor(...given) { super(...(given.length ? given : [right.now() + 600_000])); }
  static now() { return right.now() + 600_000; }
};
"""


def test_a_device_whose_clock_is_wrong_goes_by_the_servers(open_page, stuck):
    run = stuck()
    page = open_page(BARE)
    page.add_init_script(CLOCK_TEN_MINUTES_AHEAD)
    page.goto(page.url.replace(BARE, f"/decisions/{run.card['id']}"))
    expect(link_of(page)).to_have_text("Live")

    expect(run.on(page)).to_contain_text(re.compile(r"paused.{0,40}\b0:\d\d\b", re.IGNORECASE))


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_lost_connection_is_shown_without_moving_anything(on_line, stuck, phone):
    run = stuck()
    page, line = on_line("/", phone=phone, reduced_motion="reduce")
    answer = run.on(page).locator("a, button").last
    expect(answer).to_be_visible()
    before = answer.bounding_box()

    line.cut()

    expect(page.get_by_text("Offline since")).to_be_visible()
    assert answer.bounding_box() == before
    assert page.evaluate(FITS)


def test_a_lost_connection_is_shown_on_a_phones_decision(on_line, stuck):
    run = stuck()
    page, line = on_line("/", phone=True)
    page.get_by_role("link", name="Read fix").tap()
    inject = run.on(page).get_by_role("button", name="Inject fix")
    expect(inject).to_be_enabled()
    before = inject.bounding_box()

    line.sever()

    expect(page.get_by_role("status").filter(has_text="Offline")).to_be_visible()
    assert inject.bounding_box() == before
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    line.mend()
    expect(page.get_by_role("status").filter(has_text="Offline")).to_have_count(0)


def test_a_lost_connection_is_shown_with_its_time_beside_a_long_name(on_line, stuck):
    run = stuck("reconcile-invoices-of-the-third-quarter")
    page, line = on_line(f"/runs/{run.id}")
    line.cut()
    page.set_viewport_size({"width": 800, "height": 700})

    since = page.get_by_text("Offline since")

    expect(since).to_be_visible()
    assert since.evaluate("(words) => words.scrollWidth <= words.clientWidth")


def test_a_lost_connection_covers_nothing_in_large_text(on_line):
    page, line = on_line("/", phone=True)
    since = page.get_by_text("Offline since")
    with text_of(page, LARGE_TEXT):
        line.cut()
        expect(since).to_be_visible()

        told = since.bounding_box()
        search = page.get_by_role("button", name="Search").bounding_box()

    assert told["y"] + told["height"] <= search["y"]


def test_the_main_button_on_a_phone_says_that_a_tap_is_sent_once_online(on_line, stuck):
    run = stuck()
    page, line = on_line("/", phone=True)
    run.on(page).get_by_role("link", name="Read fix").tap()
    main = page.get_by_role("button", name="Inject fix")
    expect(main.get_by_text("skips the call")).to_be_visible()

    line.cut()

    expect(main.get_by_text("sent when online")).to_be_visible()


def test_turns_from_while_the_connection_was_lost_appear_once(on_line, agent, person):
    run = agent.open_run(name="away")
    agent.post_turns(run, a_turn("ls"))
    page, line = on_line(f"/runs/{run}")
    expect(_turns(page)).to_have_text(["1"])

    line.cut()
    agent.post_turns(run, a_turn("pwd"), a_turn("id"))
    line.mend()

    expect(link_of(page)).to_have_text("Live")
    kept = person.get(f"/api/v1/runs/{run}/turns/")["results"]
    expect(_turns(page)).to_have_text([str(turn["seq"] + 1) for turn in kept])


def test_a_card_opened_while_the_connection_was_lost_appears_once(on_line, stuck, person):
    page, line = on_line("/decisions")

    line.cut()
    run = stuck()
    line.mend()

    queue = page.get_by_role("region", name="Queue").get_by_role("button", name=run.name)
    expect(queue).to_have_count(1)
    opened = person.get("/api/v1/decisions/?status=open")["results"]
    assert [card["run_name"] for card in opened] == [run.name]


def test_a_card_answered_while_the_connection_was_lost_is_closed(on_line, stuck):
    run = stuck()
    page, line = on_line("/")
    expect(run.on(page)).to_be_visible()

    line.cut()
    run.answer("continue")
    line.mend()

    expect(run.on(page)).to_have_count(0)


def test_turns_of_many_runs_reach_a_board_without_refetching_it(open_page, agent, person):
    page, snapshots = open_page("/"), []
    # The board is drawn before its socket stands, which is not to be counted.
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    # Rows are drawn as they come into sight, and other tests' runs may stand above.
    page.set_viewport_size({**page.viewport_size, "height": 20_000})
    page.on("websocket", lambda socket: socket.on("framereceived", note_snapshot(snapshots)))
    page.reload()
    boards = len(person.get("/api/v1/projects/")["results"])
    # Until each board was read for the first time.
    wait_for(lambda: page.wait_for_timeout(20) or len(snapshots) >= boards)

    runs = [agent.open_run(name=f"fleet {number}") for number in range(20)]
    for command in ("ls", "pwd", "id"):
        for run in runs:
            agent.post_turns(run, a_turn(command))
    agent.post_turns(agent.open_run(name="the last to come"), a_turn("make last"))

    expect(page.get_by_text("the last to come").first).to_be_visible()
    page.wait_for_timeout(3_000)  # a page reads anew at most every two seconds
    assert len(snapshots) == boards


def note_snapshot(snapshots):
    def note(frame):
        if '"type":"snapshot"' in str(frame)[:60]:
            snapshots.append(frame)

    return note


def test_a_reload_shows_the_same_card(open_page, stuck):
    run = stuck()
    page = open_page(f"/runs/{run.id}")
    buttons = run.on(page).get_by_role("button")
    expect(buttons.filter(has_text="Inject fix")).to_be_visible()
    before = buttons.all_inner_texts()

    page.reload()

    expect(buttons).to_have_text(before, use_inner_text=True)


def test_a_page_outlives_a_restart_of_the_server(installation, open_page, stuck):
    run = stuck("patient")
    page = open_page("/")
    expect(run.on(page)).to_be_visible()

    with installation.away():
        expect(link_of(page)).to_have_text("Offline")

    expect(link_of(page)).to_have_text("Live", timeout=60_000)
    expect(run.on(page).get_by_role("button", name="Continue")).to_be_enabled()


def _turns(page):
    return page.get_by_role("table").get_by_role("button", name="Turn ")
