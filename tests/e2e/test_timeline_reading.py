"""A run's turns in a browser: where they open, read one by one, by whom, as they come in."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.timeline import (
    in_sight,
    no_page_is_cut,
    row,
    seeded,
)

pytestmark = pytest.mark.screens


@pytest.fixture
def short_run(agent):
    run = agent.open_run(name="short")
    agent.post_turns(run, *[a_turn(f"step {n}", result=f"done {n}") for n in range(1, 6)])
    return run


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

    earlier = page.get_by_role("button", name=re.compile(r"\d+ earlier turns"))
    box, turns = earlier.bounding_box(), page.locator(".record").bounding_box()
    assert box["y"] < turns["y"] + turns["height"] / 3  # they are above
    earlier.click()
    in_sight(page, 0)
    expect(earlier).to_have_count(0)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_turns_are_walked_by_keys_and_the_score_says_why_at_each(open_page, short_run, phone):
    page = open_page(f"/runs/{short_run}", phone=phone)
    story = page.get_by_role("region", name="Progress of the run")
    expect(story).to_contain_text("Turn 5:")

    page.keyboard.press("[")
    page.keyboard.press("[")
    expect(story).to_contain_text("Turn 4:")
    page.keyboard.press("]")
    expect(story).to_contain_text("Turn 5:")


def test_a_fact_that_nobody_told_is_left_out(open_page, agent, short_run):
    page = open_page(f"/runs/{short_run}")
    facts = page.locator("dl.facts").first
    expect(facts).to_contain_text("Turns")
    expect(facts).not_to_contain_text("Cost")
    expect(facts).not_to_contain_text("Tokens")

    agent.post_turns(short_run, a_turn("step 6", cost_usd="0.31"))
    expect(facts).to_contain_text("$0.31")


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


@pytest.mark.parametrize("phone", [False, True])
def test_a_link_beyond_the_end_says_so_and_shows_the_last_turn(open_page, short_run, phone):
    page = open_page(f"/runs/{short_run}/turns/999999", phone=phone)

    notice = page.get_by_role("status").filter(has_text="There is no such turn.")
    expect(notice).to_contain_text("The run has 5 turns")
    in_sight(page, 4)
    expect(page).to_have_url(re.compile("/turns/4$"))
    row(page, 2).click()
    expect(notice).to_have_count(0)


@pytest.mark.parametrize(("phone", "part"), [(False, "RunTurns"), (True, "RunPhoneBody")])
def test_turns_whose_code_did_not_come_are_asked_for_again(
    open_page, installation, short_run, phone, part
):
    page = open_page("/healthz", phone=phone)
    page.route(f"**/{part}-*.js", lambda route: route.abort())
    page.goto(f"{installation.url}/runs/{short_run}/turns/2")
    expect(page.get_by_role("alert")).to_contain_text("The turns could not be loaded.")

    page.unroute_all()
    page.get_by_role("button", name="Try again").click()

    in_sight(page, 2)


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


GROWS = "document.querySelector('.story').style.minHeight = '16rem'"
TO_THE_END = "dispatchEvent(new KeyboardEvent('keydown', { key: 'End', cancelable: true }))"


@pytest.mark.parametrize(
    "steps", [(TO_THE_END, GROWS), (GROWS, TO_THE_END)], ids=["grows after", "grows before"]
)
def test_the_end_stays_in_sight_when_what_stands_above_grows_within_the_same_frame(
    open_page, agent, short_run, steps
):
    agent.post_turns(short_run, *[a_turn(f"more {n}") for n in range(60)])
    page = open_page(f"/runs/{short_run}")
    in_sight(page, 0)

    # In one task: the browser tells of scrolling and of sizes with the next frame.
    page.evaluate(f"() => {{ {'; '.join(steps)}; }}")

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
    messages = [
        ("reviewer", "Is the figure sourced?"),
        ("researcher", "I look."),
        ("reviewer", "Well?"),
    ]
    turns = [
        {"role": "assistant", "content": text, "agent": name, "key": text}
        for name, text in messages
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
    expect(lanes.locator(".pointed")).to_contain_text(rows.nth(1).locator("td").first.inner_text())
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
