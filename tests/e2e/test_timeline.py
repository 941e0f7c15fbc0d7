"""A run's turns in a browser: 100,000 of them, hostile ones, found, filtered, compared."""

import json
import re
import subprocess
import sys
import time
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.screens import FITS
from tests.e2e.stuck import an_agent_of, the_person_of
from tests.installations import ROOT, wait_for
from tests.long_run import NEEDLES, TRIPS

pytestmark = pytest.mark.screens

MANY = 100_000
MILLION = 1_000_000
ROWS = "document.querySelectorAll('[id^=turn-]').length"
HOSTILE = {
    "script": "<script>document.title='x'</script><img src=x onerror=\"document.title='x'\">",
    "turned": "safe\u202egpj.exe",
    "controls": "\u001b[31mred\u0007\u0000\u200b",
    "template": "{@html '<b>x</b>'} {{7*7}} ${7*7}",
    "wide": "W" * 5_000,
}


def seeded(installation, agent, turns):
    """Open a run and give it a past; returns its id."""
    run = agent.open_run(name="migrate-orm-v2", budget={"usd": "60"})
    fill_up(installation, run, turns)
    return run


def fill_up(installation, run, turns, *first):
    fill = [sys.executable, "-m", "tests.long_run", run, str(turns), *map(str, first)]
    subprocess.run(fill, cwd=ROOT, env=installation.own_environment(), check=True)


@pytest.fixture(scope="module")
def long_run(installation):
    return seeded(installation, an_agent_of(installation), MANY)


@pytest.fixture
def short_run(agent):
    run = agent.open_run(name="short")
    agent.post_turns(run, *[a_turn(f"step {n}", result=f"done {n}") for n in range(1, 6)])
    return run


def record(page):
    return page.get_by_role("region", name="Turns", exact=True)


def row(page, seq):
    return page.locator(f"#turn-{seq}")


def in_sight(page, seq):
    expect(row(page, seq)).to_be_in_viewport()


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


def follow(page, path):
    """Go to an address of ours as a link or a tapped notification does."""
    page.evaluate(
        """path => { const link = document.createElement("a"); link.href = path;
        document.body.append(link); link.click(); link.remove(); }""",
        path,
    )


def scroll(page, phone, pixels):
    """Scroll as a person does: the wheel tells the page that it is one."""
    (page.locator(".turns").first if phone else record(page)).hover()
    page.mouse.wheel(0, pixels)
    page.wait_for_timeout(300)


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


def no_page_is_cut(page):
    return page.evaluate(FITS)


# --- where it opens -------------------------------------------------------------------


def test_a_held_run_opens_at_its_loop_with_the_turn_before_it(open_page, agent):
    run = agent.open_run(name="stuck late")
    agent.post_turns(run, *[a_turn(f"make part-{n}", result=f"{n * 7} ok") for n in range(60)])
    for _ in range(2):
        agent.post_turns(run, a_turn(error="FileNotFoundError: no tokens.py"))
    agent.post_turns(run, a_turn(phase="proposed"))

    page = open_page(f"/runs/{run}")

    for seq in (59, 60, 61, 62):
        in_sight(page, seq)
    expect(row(page, 0)).not_to_be_in_viewport()


def test_a_chosen_filter_under_the_pointer_can_be_read(open_page, short_run):
    page = open_page(f"/runs/{short_run}")
    chip = page.get_by_role("button", name="Bash 5")

    chip.click()
    chip.hover()

    expect(chip).to_have_attribute("aria-pressed", "true")
    page.wait_for_timeout(400)  # until its colours rest
    ink, ground = chip.evaluate(
        "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    )
    assert contrast(ink, ground) >= 4.5


def contrast(*colours):
    """Return the ratio of two colours as a browser writes them (WCAG 2)."""
    dark, light = sorted(luminance(colour) for colour in colours)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


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
        shown = page.evaluate(
            """() => { const list = document.querySelector(".record").getBoundingClientRect();
            const at = document.elementFromPoint(list.left + 300, list.top + 90);
            return Number(at.closest("[id^=turn-]").id.slice(5)); }"""
        )
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
    page = open_page("/", phone=True)
    for part in ("series", "tree", "facets"):
        page.route(f"**/runs/*/{part}/**", after(1.0))
    page.goto(page.url.rstrip("/") + f"/runs/{long_run}/turns/{seq}")

    in_sight(page, seq)
    before = middle_of(page, seq)
    expect(page.get_by_text("Stuck score by turn")).to_be_attached()
    page.wait_for_timeout(600)

    in_sight(page, seq)
    assert abs(middle_of(page, seq) - before) < 3
    expect(row(page, seq)).to_contain_text(f"{seq + 1}")


@pytest.mark.parametrize("phone", [False, True])
def test_a_link_beyond_the_end_says_so_and_shows_the_last_turn(open_page, short_run, phone):
    page = open_page(f"/runs/{short_run}/turns/999999", phone=phone)

    said = page.get_by_role("status").filter(has_text="There is no such turn.")
    expect(said).to_contain_text("The run has 5 turns")
    in_sight(page, 4)
    expect(page).to_have_url(re.compile("/turns/4$"))
    row(page, 2).click()
    expect(said).to_have_count(0)


@pytest.mark.parametrize("phone", [False, True])
def test_back_and_forward_lead_to_where_one_was(open_page, long_run, phone):
    page = open_page(f"/runs/{long_run}/turns/500", phone=phone)
    in_sight(page, 500)

    follow(page, f"/runs/{long_run}/turns/90000")
    in_sight(page, 90_000)
    scroll(page, phone, 3_000)
    expect(row(page, 90_000)).not_to_be_in_viewport()
    left = first_in_sight(page)
    page.wait_for_timeout(300)
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
    scroll(page, phone, 0)  # a pointer brings what it stands on into the window
    before = resting(page, MILLION // 2 + 200)
    scroll(page, phone, 200)
    assert abs(before - resting(page, MILLION // 2 + 200) - 200) < 3
    assert page.evaluate(ROWS) < 200


# --- reading ---------------------------------------------------------------------------


def test_a_turn_is_read_beside_the_one_before_and_as_json(open_page, short_run):
    page = open_page(f"/runs/{short_run}/turns/3")
    detail = page.get_by_role("region", name="Turn 4 in full")
    expect(detail).to_contain_text("done 4")

    detail.get_by_text("Diff to 3").click()
    expect(detail.locator(".gone", has_text="done 3")).to_be_visible()
    expect(detail.locator(".come", has_text="done 4")).to_be_visible()
    detail.get_by_text("JSON", exact=True).click()

    written = json.loads(detail.get_by_role("region", name="JSON").inner_text())
    assert (written["seq"], written["result"]) == (3, "done 4")


def test_keys_walk_the_turns_and_the_address_follows(open_page, short_run):
    page = open_page(f"/runs/{short_run}")
    expect(row(page, 0)).to_be_visible()

    page.keyboard.press("j")
    expect(row(page, 0)).to_have_attribute("aria-current", "true")
    page.keyboard.press("j")
    page.keyboard.press("]")
    page.keyboard.press("k")

    expect(row(page, 1)).to_have_attribute("aria-current", "true")
    expect(row(page, 1).get_by_role("button")).to_be_focused()
    assert page.url.endswith("/turns/1")


def test_new_turns_stay_in_sight_unless_a_person_reads_above(open_page, agent, short_run):
    agent.post_turns(short_run, *[a_turn(f"more {n}") for n in range(60)])
    page = open_page(f"/runs/{short_run}")
    in_sight(page, 0)
    page.keyboard.press("End")
    in_sight(page, 64)

    agent.post_turns(short_run, a_turn("the newest"))
    in_sight(page, 65)
    page.keyboard.press("Home")
    in_sight(page, 0)
    agent.post_turns(short_run, a_turn("unseen"))

    expect(page.get_by_role("table", name="Turns")).to_have_attribute("aria-rowcount", "68")
    in_sight(page, 0)


GROWS = "document.querySelector('.story').style.minHeight = '16rem'"
TO_THE_END = "dispatchEvent(new KeyboardEvent('keydown', { key: 'End', cancelable: true }))"


@pytest.mark.parametrize(
    "deeds", [(TO_THE_END, GROWS), (GROWS, TO_THE_END)], ids=["grows after", "grows before"]
)
def test_the_end_stays_in_sight_when_what_stands_above_grows_within_the_same_frame(
    open_page, agent, short_run, deeds
):
    agent.post_turns(short_run, *[a_turn(f"more {n}") for n in range(60)])
    page = open_page(f"/runs/{short_run}")
    in_sight(page, 0)

    # In one task: the browser tells of scrolling and of sizes with the next frame.
    page.evaluate(f"() => {{ {'; '.join(deeds)}; }}")

    in_sight(page, 64)
    agent.post_turns(short_run, a_turn("the newest"))
    in_sight(page, 65)


def test_the_way_it_went_and_the_list_move_together(open_page, agent, installation):
    run = seeded(installation, agent, 900)
    page = open_page(f"/runs/{run}")
    story = page.get_by_role("region", name="Progress of the run")
    story.get_by_text("Cost and tokens").click()
    expect(story.get_by_role("img", name="Cost so far", exact=False)).to_be_visible()

    story.get_by_text("Last 200").click()
    expect(story.get_by_text("701 \u2013 900")).to_be_visible()
    box = story.locator(".strip").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)

    in_sight(page, 800)


# --- several agents ---------------------------------------------------------------------


def test_hand_offs_are_told_with_what_was_asked(open_page, agent):
    run = agent.open_run(name="crew")
    said = [
        ("reviewer", "Is the figure sourced?"),
        ("researcher", "I look."),
        ("reviewer", "Well?"),
    ]
    turns = [
        {"role": "assistant", "content": text, "agent": name, "key": text} for name, text in said
    ]
    agent.post_turns(run, *turns, wait=60)

    page = open_page(f"/runs/{run}")
    page.get_by_text("Hand-offs 2").click()

    table = page.get_by_role("region", name="Hand-offs 2").get_by_role("row")
    expect(table.nth(1)).to_contain_text("researcher → reviewer")
    expect(table.nth(2)).to_contain_text("“Is the figure sourced?”")
    expect(page.get_by_role("region", name="Agents and hand-offs")).to_be_visible()


def test_a_hand_off_pointed_at_is_lit_in_the_lanes_and_in_the_table(open_page, agent, installation):
    page = open_page(f"/runs/{seeded(installation, agent, 400)}")
    page.get_by_text("Hand-offs 15").click()
    rows = page.get_by_role("region", name="Hand-offs 15").get_by_role("row")
    lanes = page.get_by_role("region", name="Agents and hand-offs")

    rows.nth(1).get_by_role("button").focus()
    expect(lanes.locator(".pointed")).to_contain_text(rows.nth(1).locator("td").nth(1).inner_text())
    expect(lanes.locator("path.lit")).to_have_count(1)
    expect(rows.nth(1)).to_have_class(re.compile("lit"))
    lanes.locator("rect.work").nth(3).hover()

    expect(rows.nth(1)).not_to_have_class(re.compile("lit"))
    expect(page.locator("tr.lit")).to_have_count(1)


def test_a_phone_unfolds_the_charts_and_who_hands_on(open_page, agent, installation):
    run = seeded(installation, agent, 400)
    page = open_page(f"/runs/{run}", phone=True)
    picture = page.get_by_role("img", name="Cost so far", exact=False)
    expect(picture).to_have_count(0)

    page.get_by_text("Cost and tokens").click()
    expect(picture.locator("canvas")).to_be_visible()
    page.get_by_text("Hand-offs 15").click()

    expect(page.get_by_role("region", name="Agents and hand-offs")).to_be_visible()
    assert no_page_is_cut(page)


# --- hostile text ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile_run(installation):
    """A run whose every field is somebody's attack."""
    agent, person = an_agent_of(installation), the_person_of(installation)
    run = agent.open_run(name=HOSTILE["script"])
    for text in HOSTILE.values():
        turn = {
            "role": "assistant",
            "tool": text[:190],
            "args": {text[:190]: text, "command": text},
            "content": text,
            "result": text,
            "error": text,
            "files": [text],
            "agent": text[:90],
            "model": text[:90],
            "state": text[:190],
            "key": text[:150],
        }
        assert agent.post_turns(run, turn, wait=60).status == 200
    agent.post_turns(run, a_turn("big", result="R" * 1_000_000), wait=60)
    wait_for(lambda: person.get(f"/api/v1/runs/{run}/")["turns"] == len(HOSTILE) + 1)
    if person.card_of(run):
        person.tap(run, "continue")
    return run


@pytest.mark.parametrize("phone", [False, True])
def test_hostile_text_is_text_and_breaks_nothing(open_page, installation, hostile_run, phone):
    page = open_page("/no/such/page", phone=phone)
    for seq in range(len(HOSTILE) + 1):
        page.goto(f"{installation.url}/runs/{hostile_run}/turns/{seq}")
        if phone:
            row(page, seq).click()
        expect(
            page.get_by_text("Copy link").or_(page.get_by_label("Copy link to this turn")).first
        ).to_be_visible()
        page.get_by_text("JSON", exact=True).click()
        expect(page.get_by_role("region", name="JSON")).to_be_visible()

        assert page.title() != "x"
        assert page.locator("img[src=x]").count() == 0
        assert "\u202e" not in page.locator("main").inner_text()
        assert no_page_is_cut(page)


def test_a_million_signs_are_cut_and_read_when_asked_for(open_page, hostile_run):
    page = open_page(f"/runs/{hostile_run}/turns/{len(HOSTILE)}")
    detail = page.get_by_role("region", name=f"Turn {len(HOSTILE) + 1} in full")
    expect(detail).to_contain_text("Only the beginning")

    detail.get_by_role("button", name="Show all").click()

    expect(detail.get_by_text("Only the beginning")).to_have_count(0)
    assert len(detail.inner_text()) >= 1_000_000


def test_a_search_for_markup_finds_it(open_page, hostile_run):
    page = open_page(f"/runs/{hostile_run}?q={quote('<script>')}")

    expect(page.get_by_role("search").get_by_role("status")).to_have_text("1 match")


def test_a_button_leads_to_the_latest_turn_and_from_there_the_list_follows(open_page, agent):
    run = agent.open_run(name="followed")
    agent.post_turns(run, *[a_turn(f"step {n}", result=f"done {n}") for n in range(60)])
    page = open_page(f"/runs/{run}/turns/3")
    in_sight(page, 3)

    page.get_by_role("button", name="Jump to latest").click()
    in_sight(page, 59)
    expect(page.get_by_role("button", name="Jump to latest")).to_have_count(0)

    agent.post_turns(run, *[a_turn(f"more {n}", result=f"done {n}") for n in range(9)])
    in_sight(page, 68)
