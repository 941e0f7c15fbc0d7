"""A run that its policy ended, as a person meets it: why, and how it begins again."""

import pytest
from playwright.sync_api import expect

from tests.installations import wait_for

STUCK = {"role": "assistant", "content": "I will look at the parser once more before I decide."}
CORRECTION = "The parser lives in src/grammar.py; begin there."


@pytest.fixture
def ended(agent):
    """A run that the broker's rule has ended."""
    run = agent.open_run(name="fix-parser", policy={"preset": "broker"})
    for _ in range(6):
        reply = agent.post_turns(run, STUCK)
    assert reply.json["directive"]["action"] == "stop"
    return run


def restarted_by(person, run):
    rows = person.get("/api/v1/runs/?limit=100")["results"]
    return next((row for row in rows if row["parent"] == run), None)


def test_an_ended_run_begins_again_with_the_persons_text(open_page, ended, agent, person):
    page = open_page(f"/runs/{ended}")
    panel = page.get_by_role("region", name="Restart")
    expect(panel.get_by_role("button", name="Restart")).to_be_disabled()

    panel.get_by_label("Restart with a correction").fill(CORRECTION)
    panel.get_by_role("button", name="Restart").click()

    expect(panel.get_by_role("link", name="the new run")).to_be_visible()
    fresh = wait_for(lambda: restarted_by(person, ended))
    response = agent.post_turns(fresh["id"], {"role": "assistant", "content": "I begin."})
    assert [one["text"] for one in response.json["directive"]["messages"]] == [CORRECTION]


@pytest.mark.screens
def test_the_link_leads_to_the_fresh_run_on_a_phone_too(open_page, ended, person):
    page = open_page(f"/runs/{ended}", phone=True)
    panel = page.get_by_role("region", name="Restart")
    panel.get_by_label("Restart with a correction").fill(CORRECTION)
    panel.get_by_role("button", name="Restart").click()

    panel.get_by_role("link", name="the new run").click()

    fresh = wait_for(lambda: restarted_by(person, ended))
    expect(page).to_have_url(f"{page.url.split('/runs/')[0]}/runs/{fresh['id']}")
    expect(page.get_by_role("region", name="Restart")).to_have_count(0)


@pytest.mark.screens
def test_a_run_that_goes_on_offers_no_restart(open_page, agent):
    run = agent.open_run(name="healthy")
    agent.post_turns(run, STUCK)

    page = open_page(f"/runs/{run}")

    expect(page.get_by_role("button", name="Terminate")).to_be_visible()
    expect(page.get_by_role("region", name="Restart")).to_have_count(0)
