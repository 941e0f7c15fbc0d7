"""A thousand runs on the board, and words meant to break it."""

from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn, an_agent_of
from tests.e2e.axe import SCRIPT, in_both_themes
from tests.e2e.crowd import HOSTILE, Crowd
from tests.e2e.people import agent_of, an_owner
from tests.e2e.stuck import StuckRun
from tests.installations import wait_for

pytestmark = pytest.mark.screens

MOST_ROWS = 80
# Of the middle: a board has room for a thousand, and other tests' runs came after the oldest.
ONE = "0500"
WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"


@pytest.fixture(scope="module")
def thousand(installation):
    crowd = Crowd.of(an_agent_of(installation), 1000)
    Crowd(crowd.agent, crowd.ids[-2 * MOST_ROWS :]).work()  # those that are drawn first, and more
    yield crowd
    crowd.end()


def rows(page, *, phone):
    return page.locator("li[data-row]" if phone else "tr[data-row]")


@pytest.mark.parametrize("phone", [False, True])
def test_of_a_thousand_runs_only_those_in_sight_are_drawn(open_page, thousand, phone):
    page = open_page("/", phone=phone)
    expect(rows(page, phone=phone).first).to_be_visible()
    drawn = rows(page, phone=phone).count()
    first = rows(page, phone=phone).first.inner_text()

    page.evaluate("(document.querySelector('.page') ?? document.scrollingElement).scrollTo(0, 1e9)")

    expect(rows(page, phone=phone).first).not_to_have_text(first)
    expect(rows(page, phone=phone).last).to_be_in_viewport()
    assert (drawn <= MOST_ROWS, rows(page, phone=phone).count() <= MOST_ROWS) == (True, True)


def test_a_search_does_not_follow_to_another_project(open_page, thousand, person):
    name = f"quiet {uuid4().hex[:6]}"
    made = person.ask("POST", "/api/v1/projects/", {"name": name}).json["id"]
    page = open_page("/")
    search = page.get_by_role("searchbox", name="Search running runs")
    search.fill(f"{ONE} crowd")
    expect(rows(page, phone=False)).to_have_count(1)

    switch = page.get_by_role("combobox", name="Project")
    switch.select_option(label=name)
    switch.select_option(index=0)

    expect(search).to_have_value("")
    # The tests that follow find one project, whose settings open without a choice.
    person.ask("PATCH", f"/api/v1/projects/{made}/", {"archived": True})


@pytest.mark.parametrize("phone", [False, True])
def test_the_board_is_searched_by_a_key_and_points_to_history(open_page, thousand, phone):
    page = open_page("/", phone=phone)
    page.add_init_script(path=SCRIPT)
    page.reload()
    expect(rows(page, phone=phone).first).to_be_visible()

    page.keyboard.press("/")
    page.keyboard.type(f"{ONE} crowd")
    expect(rows(page, phone=phone)).to_have_count(1)
    expect(rows(page, phone=phone)).to_contain_text(f"crowd {ONE}")
    assert in_both_themes(page, "now, searched", "phone" if phone else "desktop") == []

    page.keyboard.type("x")
    expect(page.get_by_role("link", name="Search all runs")).to_have_attribute(
        "href", f"/history?q={ONE}+crowdx"
    )
    expect(rows(page, phone=phone)).to_have_count(0)


@pytest.mark.parametrize("phone", [False, True])
def test_the_search_stays_when_fewer_runs_are_left(open_page, installation, phone):
    name = f"Octavia {uuid4().hex[:6]}"
    cookies = an_owner(installation, name)
    page = open_page("/login/", phone=phone, signed_in=False)
    page.context.add_cookies(
        [{"name": n, "value": v, "url": installation.url} for n, v in cookies.items()]
    )
    page.goto(installation.url)
    expect(page.get_by_role("heading", name="Connect your first agent.")).to_be_visible()
    _place, agent, _owner = agent_of(page, installation, name)
    crowd = Crowd.of(agent, 8)
    page.goto(installation.url)
    search = page.get_by_role("searchbox", name="Search running runs")
    search.focus()

    Crowd(agent, crowd.ids[:2]).end()

    expect(rows(page, phone=phone)).to_have_count(6)
    expect(search).to_be_focused()


def test_the_scrollbar_knows_of_all_thousand(open_page, thousand):
    page = open_page("/")
    expect(rows(page, phone=False).first).to_be_visible()

    tall = page.evaluate("document.querySelector('.page').scrollHeight")

    assert tall >= 1000 * rows(page, phone=False).first.bounding_box()["height"]


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_words_stay_words_and_nothing_is_pushed_aside(
    open_page, installation, agent, person, stuck, kind
):
    text = HOSTILE[kind]
    assert stuck  # the board is empty before and after
    run = agent.open_run(name=text, goal=text, agent="coder")
    call = text[:2000]
    for _ in range(2):
        agent.post_turns(run, a_turn(call, error=text, result=text, agent=text[:100]))
    agent.post_turns(run, a_turn(call, phase="proposed", agent=text[:100]))
    card = wait_for(lambda: person.card_of(run))

    for phone in (False, True):
        page = open_page("/healthz", phone=phone)
        for path in ("/", "/decisions", f"/decisions/{card['id']}", f"/runs/{run}"):
            page.goto(installation.url + path)
            expect(page.get_by_role("article").first).to_be_visible()
            page.wait_for_timeout(200)
            wide, seen = page.evaluate(WIDTHS)
            assert wide <= seen, (path, phone, wide, seen)
            assert page.evaluate("window.owned === undefined")
            assert page.locator("main script, main img[src='x']").count() == 0


def test_a_card_with_hostile_words_can_still_be_answered(open_page, agent, person, stuck):
    run = StuckRun.begin(agent, person, HOSTILE["right-to-left"], error=HOSTILE["script"])
    page = open_page(f"/decisions/{run.card['id']}", phone=True)

    page.get_by_role("article").get_by_role("button", name="Continue").tap()

    assert run.next_directive()["action"] == "proceed"
