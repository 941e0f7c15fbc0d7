"""A run's page shows whom it belongs to and what it started, and ends all of it."""

import os

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.installations import wait_for

FAILURE = "ModuleNotFoundError: no module 'app.tokens'"


@pytest.fixture
def lead(agent):
    """Open a run with two children that have spent something."""
    run = agent.open_run(name="chief")
    for name in ("reader", "writer"):
        child = agent.open_run(name=name, agent=name, parent=run)
        agent.post_turns(child, a_turn("ls", agent=name, result="a.py", cost_usd="0.25"))
    return run


def photograph(page, name):
    """Keep a picture where somebody asked for one: PICTURES=DIR."""
    if where := os.environ.get("PICTURES"):
        page.screenshot(path=f"{where}/{name}.png")


@pytest.mark.parametrize("phone", [False, True])
def test_it_lists_the_children_with_links_and_what_all_cost(open_page, lead, phone):
    page = open_page(f"/runs/{lead}", phone=phone)
    relatives = page.get_by_role("region", name="Linked runs")

    expect(relatives.get_by_role("link", name="reader")).to_be_visible()
    expect(relatives).to_contain_text("All 3 runs $0.50")
    photograph(page, f"kin-{'phone' if phone else 'desktop'}")

    relatives.get_by_role("link", name="writer").click()
    expect(page.get_by_role("region", name="Linked runs")).to_contain_text("Started by chief")


@pytest.mark.screens
@pytest.mark.parametrize("phone", [False, True])
def test_lanes_show_who_started_whom(open_page, lead, phone):
    page = open_page(f"/runs/{lead}", phone=phone)
    relatives = page.get_by_role("region", name="Linked runs")

    relatives.get_by_text("Who started whom, and when").click()
    lanes = relatives.get_by_role("list", name="Who started whom, and when").get_by_role("listitem")

    expect(lanes).to_have_count(3)
    expect(lanes.nth(1)).to_contain_text("started by chief")
    lanes.nth(2).get_by_role("link", name="writer").click()
    expect(
        page.get_by_role("heading", name="writer").or_(page.get_by_text("Now / writer")).first
    ).to_be_visible()


def test_a_child_that_is_started_meanwhile_appears(open_page, agent, lead):
    page = open_page(f"/runs/{lead}")
    expect(page.get_by_role("link", name="reader")).to_be_visible()

    agent.open_run(name="latecomer", parent=lead)

    expect(page.get_by_role("link", name="latecomer")).to_be_visible()


def test_the_button_says_how_many_it_ends_and_ends_them(open_page, person, lead):
    page = open_page(f"/runs/{lead}")

    page.get_by_role("button", name="Terminate all 3").click()

    def statuses():
        return {run["status"] for run in person.get(f"/api/v1/runs/?tree={lead}")["results"]}

    wait_for(lambda: statuses() == {"stopping"}, seconds=60)


def test_a_card_about_several_runs_names_and_links_them(open_page, agent, person):
    lead = agent.open_run(name="lead of a relay")
    for name in ("first", "second"):
        child = agent.open_run(name=name, agent=name, parent=lead)
        agent.post_turns(child, a_turn(agent=name, error=FAILURE))
        agent.ask("PATCH", f"/api/v1/runs/{child}/", {"status": "failed"})
    third = agent.open_run(name="third", agent="third", parent=lead)
    agent.post_turns(third, a_turn(agent="third", error=FAILURE))

    page = open_page(f"/runs/{third}")
    evidence = page.get_by_role("region", name="Evidence")

    expect(evidence.get_by_role("link", name="first")).to_be_visible()
    expect(evidence.get_by_role("link", name="second")).to_be_visible()
    photograph(page, "relay-desktop")
    person.tap(lead, "terminate")
