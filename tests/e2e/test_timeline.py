"""A run's turns in a browser: 100,000 of them and a million, found, filtered, gone through."""

import time

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import an_agent_of
from tests.e2e.conftest import BARE
from tests.e2e.timeline import (
    ROWS,
    fill_up,
    follow,
    hover,
    in_sight,
    no_page_is_cut,
    record,
    row,
    scroll,
    seeded,
)
from tests.installations import wait_for
from tests.long_run import NEEDLES, TRIPS

pytestmark = pytest.mark.screens
MANY = 100_000
MILLION = 1_000_000
TURN_IN_SIGHT = """() => { const list = document.querySelector(".record").getBoundingClientRect();
    const at = document.elementFromPoint(list.left + 300, list.top + 90);
    return at?.closest("[id^=turn-]")?.id.slice(5); }"""


@pytest.fixture(scope="module")
def long_run(installation):
    return seeded(installation, an_agent_of(installation), MANY)


def after(seconds):
    """Return a route that lets its answer through late."""

    def pass_on(route):
        time.sleep(seconds)
        route.continue_()

    return pass_on


def middle_of(page, seq):
    box = row(page, seq).bounding_box()
    return box["y"] + box["height"] / 2


def resting(page, seq):
    """Return the middle of a row once nothing above it grows any more."""
    places = [middle_of(page, seq)]
    while len(places) < 4 or len(set(places[-4:])) > 1:
        page.wait_for_timeout(300)
        places.append(middle_of(page, seq))
    return places[-1]


def first_in_sight(page):
    """Return the `seq` of a turn that stands whole in what is seen."""
    return page.evaluate(
        """() => { const rows = [...document.querySelectorAll("[id^=turn-]")];
        const box = document.querySelector(".record").getBoundingClientRect();
        const [from, to] = [Math.max(60, box.top + 40), Math.min(innerHeight - 80, box.bottom)];
        const seen = rows.map(row => [row.getBoundingClientRect(), row])
          .filter(([{ top, bottom }]) => top >= from && bottom <= to)
          .sort(([a], [b]) => a.top - b.top);
        return Number(seen[0][1].id.slice(5)); }"""
    )


# --- 100,000 turns --------------------------------------------------------------------


def test_a_hundred_thousand_turns_are_walked_by_key_with_few_rows(open_page, long_run):
    page = open_page(f"/runs/{long_run}")
    in_sight(page, 0)

    page.keyboard.press("End")
    in_sight(page, MANY - 1)
    expect(row(page, MANY - 2)).to_contain_text(f"line {MANY - 2}")
    page.keyboard.press("PageUp")
    expect(row(page, MANY - 1)).not_to_be_in_viewport()
    page.keyboard.press("Home")
    in_sight(page, 0)
    expect(row(page, 1)).to_contain_text("line 1")

    assert page.evaluate(ROWS) < 200


def test_a_hundred_thousand_turns_scroll_by_wheel_to_the_right_ones(open_page, long_run):
    page = open_page(f"/runs/{long_run}")
    in_sight(page, 0)
    page.wait_for_load_state("networkidle")  # the summary above pushes the list down
    list_ = record(page)

    for share in (0.5, 1, 0.25):
        list_.evaluate("(list, share) => { list.scrollTop = list.scrollHeight * share; }", share)
        list_.hover()
        for _ in range(5):
            page.mouse.wheel(0, -300)
            page.wait_for_timeout(50)
        shown = int(wait_for(lambda: page.evaluate(TURN_IN_SIGHT)))
        assert abs(shown - MANY * min(share, 0.9999)) < 120
        text_only = shown % 5 == 4
        if not text_only:
            expect(row(page, shown)).to_contain_text("ok, line" if shown % NEEDLES else "rare")
        assert page.evaluate(ROWS) < 200


def test_the_heap_stays_bounded_on_a_way_through_everything(open_page, long_run):
    page = open_page(f"/runs/{long_run}")
    in_sight(page, 0)
    session = page.context.new_cdp_session(page)

    def heap():
        session.send("HeapProfiler.collectGarbage")
        return session.send("Runtime.getHeapUsage")["usedSize"]

    before = heap()
    for step in range(1, 26):
        seq = step * MANY // 26
        record(page).evaluate("(list, seq) => { list.scrollTop = seq * 36; }", seq)
        expect(row(page, seq + 2)).to_be_attached()
        page.wait_for_timeout(60)
    expect(row(page, seq + 2).get_by_role("cell")).not_to_have_count(2)

    assert heap() - before < 12_000_000


def test_a_link_leads_to_any_turn(open_page, long_run):
    page = open_page(f"/runs/{long_run}/turns/77777")

    in_sight(page, 77_777)
    expect(row(page, 77_777)).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("region", name="Turn 77,778 in full")).to_contain_text("ok, line 77777")


@pytest.mark.parametrize("seq", [77_777, 3, MANY - 2])
def test_a_link_opened_cold_on_a_phone_stays_on_its_turn_while_the_page_loads(
    open_page, long_run, seq
):
    page = open_page(BARE, phone=True)
    for part in ("series", "tree", "facets"):
        page.route(f"**/runs/*/{part}/**", after(1.0))
    page.goto(page.url.removesuffix(BARE) + f"/runs/{long_run}/turns/{seq}")

    in_sight(page, seq)
    before = middle_of(page, seq)
    expect(page.get_by_text("Stuck score by turn")).to_be_attached()
    page.wait_for_timeout(600)

    in_sight(page, seq)
    assert abs(middle_of(page, seq) - before) < 3
    expect(row(page, seq)).to_contain_text(f"{seq + 1}")


@pytest.mark.parametrize("phone", [False, True])
def test_back_and_forward_lead_to_where_one_was(open_page, long_run, phone):
    page = open_page(f"/runs/{long_run}/turns/500", phone=phone)
    in_sight(page, 500)

    follow(page, f"/runs/{long_run}/turns/90000")
    in_sight(page, 90_000)
    scroll(page, phone, 3_000)
    expect(row(page, 90_000)).not_to_be_in_viewport()
    left = first_in_sight(page)
    page.go_back()
    in_sight(page, 500)
    page.go_forward()
    in_sight(page, left)

    follow(page, "/history")
    expect(row(page, left)).to_have_count(0)
    page.go_back()

    in_sight(page, left)
    page.reload()
    in_sight(page, left)


def test_the_table_tells_how_long_it_is_and_where_each_row_stands(open_page, long_run):
    page = open_page(f"/runs/{long_run}/turns/500")

    expect(page.get_by_role("table", name="Turns")).to_have_attribute(
        "aria-rowcount", str(MANY + 1)
    )
    expect(row(page, 500)).to_have_attribute("aria-rowindex", "502")


def test_a_search_finds_all_and_walks_from_one_to_the_next(open_page, long_run):
    page = open_page(f"/runs/{long_run}")
    page.get_by_role("searchbox", name="Search in this run").fill("rare words")
    status = page.get_by_role("search").get_by_role("status")
    expect(status).to_have_text(f"{MANY // NEEDLES} matches")

    page.get_by_role("button", name="Next match").click()
    page.get_by_role("button", name="Next match").click()

    expect(status).to_have_text(f"Match 2 of {MANY // NEEDLES}, turn {NEEDLES + 1:,}")
    in_sight(page, NEEDLES)
    page.get_by_role("button", name="Previous match").click()
    page.get_by_role("button", name="Previous match").click()
    in_sight(page, MANY - NEEDLES)


def test_keys_go_from_match_to_match_in_the_field_and_outside(open_page, long_run):
    page = open_page(f"/runs/{long_run}?q=rare+words")
    status = page.get_by_role("search").get_by_role("status")
    expect(status).to_have_text(f"{MANY // NEEDLES} matches")

    page.keyboard.press("n")
    page.keyboard.press("n")
    page.keyboard.press("Shift+N")
    expect(status).to_have_text(f"Match 1 of {MANY // NEEDLES}, turn 1")
    page.get_by_role("searchbox", name="Search in this run").press("Enter")

    expect(status).to_contain_text(f"Match 2 of {MANY // NEEDLES}")
    in_sight(page, NEEDLES)


def test_filters_stand_in_the_address_and_outlive_a_reload(open_page, long_run):
    page = open_page(f"/runs/{long_run}")

    page.get_by_role("button", name="Signals 100").click()
    in_sight(page, TRIPS)
    expect(row(page, 0)).to_have_count(0)
    assert "flagged=1" in page.url
    page.reload()

    expect(page.get_by_role("button", name="Signals 100")).to_have_attribute("aria-pressed", "true")
    in_sight(page, TRIPS)


def test_a_phone_scrolls_through_all_of_it_newest_first(open_page, long_run):
    page = open_page(f"/runs/{long_run}", phone=True)
    expect(row(page, MANY - 1)).to_contain_text("fixtures")

    page.evaluate("document.documentElement.scrollTop = 1e9")

    expect(row(page, 1)).to_contain_text("line 1")
    assert page.evaluate(ROWS) < 200
    assert no_page_is_cut(page)


# --- a million turns ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def longest_run(installation):
    """Return a run of a million turns of which 900 are there: no browser holds its height."""
    run = seeded(installation, an_agent_of(installation), 300)
    for first in (MILLION // 2, MILLION - 300):
        fill_up(installation, run, 300, first)
    return run


@pytest.mark.parametrize("phone", [False, True])
def test_a_million_turns_have_a_first_a_middle_and_a_last(open_page, longest_run, phone):
    page = open_page(f"/runs/{longest_run}/turns/{MILLION // 2 + 100}", phone=phone)
    in_sight(page, MILLION // 2 + 100)
    expect(row(page, MILLION // 2 + 100)).to_contain_text(f"{MILLION // 2 + 101}")

    page.keyboard.press("End")
    in_sight(page, 0 if phone else MILLION - 1)
    page.keyboard.press("Home")
    in_sight(page, MILLION - 1 if phone else 0)

    follow(page, f"/runs/{longest_run}/turns/{MILLION // 2 + 200}")
    in_sight(page, MILLION // 2 + 200)
    hover(page, phone)
    before = resting(page, MILLION // 2 + 200)
    scroll(page, phone, 200)
    assert abs(before - resting(page, MILLION // 2 + 200) - 200) < 3
    assert page.evaluate(ROWS) < 200
