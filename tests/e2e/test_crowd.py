"""A thousand runs on the board."""

from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import an_agent_of
from tests.e2e.axe import SCRIPT, in_both_themes
from tests.e2e.crowd import Crowd
from tests.e2e.people import agent_of, an_owner

pytestmark = pytest.mark.screens

MOST_ROWS = 80
# Of the middle: a board has room for a thousand, and other tests' runs came after the oldest.
ONE = "0500"


@pytest.fixture(scope="module")
def thousand(installation):
    crowd = Crowd.of(an_agent_of(installation), 1000)
    Crowd(crowd.agent, crowd.ids[-2 * MOST_ROWS :]).work()  # those that are drawn first, and more
    yield crowd
    crowd.end()


def rows(page, *, phone):
    return page.locator("li[data-row]" if phone else "tr[data-row]")


@pytest.mark.parametrize("phone", [False, True])
def test_only_the_visible_of_a_thousand_runs_are_drawn(open_page, thousand, phone):
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
def test_the_search_field_stays_when_few_runs_are_left(open_page, installation, phone):
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


def test_the_scrollbar_covers_all_thousand_runs(open_page, thousand):
    page = open_page("/")
    expect(rows(page, phone=False).first).to_be_visible()

    tall = page.evaluate("document.querySelector('.page').scrollHeight")

    assert tall >= 1000 * rows(page, phone=False).first.bounding_box()["height"]
