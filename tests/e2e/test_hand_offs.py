"""Several agents in one run: who waits for whom, a word to one of them, who is folded."""

import pytest
from playwright.sync_api import expect

from tests.e2e.axe import SCRIPT, in_both_themes
from tests.e2e.hand_offs import work_together
from tests.e2e.screens import FITS

pytestmark = pytest.mark.screens


def lanes_on(page):
    return page.get_by_role("region", name="Agents and hand-offs")


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_message_goes_to_the_agent_at_the_end_of_the_chain_alone(open_page, agent, phone):
    run = work_together(agent)
    page = open_page(f"/runs/{run}", phone=phone, reduced_motion="reduce")
    page.get_by_text("Hand-offs").first.click()
    expect(lanes_on(page)).to_contain_text("writer works now")

    lanes_on(page).get_by_role("button", name="Message writer").click()
    box = page.get_by_role("textbox", name="Message the agent")
    expect(box).to_be_focused()
    box.fill("Name the field in the notes.")
    page.get_by_role("button", name="Send", exact=True).click()

    said = page.get_by_role("log", name="Conversation")
    expect(said).to_contain_text("to writer")
    expect(said).to_contain_text("queued")
    told = agent.get(f"/api/v1/runs/{run}/directive/")["messages"]
    assert [(one["text"], one["agent"]) for one in told] == [
        ("Name the field in the notes.", "writer")
    ]
    expect(page.get_by_role("button", name="To all agents of the run")).to_have_count(0)


def test_the_draft_of_a_message_keeps_its_recipient(open_page, agent):
    page = open_page(f"/runs/{work_together(agent)}")
    page.get_by_text("Hand-offs").first.click()
    lanes_on(page).get_by_role("button", name="Message writer").click()
    page.get_by_role("textbox", name="Message the agent").fill("Name the field in the notes.")

    page.get_by_role("link", name="History").first.click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    page.go_back()

    expect(page.get_by_role("textbox", name="Message the agent")).to_have_value(
        "Name the field in the notes."
    )
    expect(page.get_by_role("button", name="To all agents of the run")).to_be_visible()
    page.keyboard.press("m")
    expect(page.get_by_role("button", name="To all agents of the run")).to_be_visible()


def test_a_recipient_named_by_mistake_is_removed(open_page, agent):
    page = open_page(f"/runs/{work_together(agent)}")
    page.get_by_text("Hand-offs").first.click()
    lanes_on(page).get_by_role("button", name="Message writer").click()

    page.get_by_role("button", name="To all agents of the run").click()

    expect(page.get_by_text("to writer", exact=True)).to_have_count(0)


def test_a_long_wait_names_the_agent_it_is_for(open_page, agent):
    page = open_page(f"/runs/{work_together(agent)}")
    page.get_by_text("Hand-offs").first.click()

    words = lanes_on(page).get_by_text("handed to tester")
    expect(words).to_be_visible()
    expect(words).to_have_attribute("title", "Both are there. Please test again.")


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_quiet_agents_are_folded_when_there_are_more_than_eight(open_page, agent, phone):
    run = agent.open_run(name="many hands")
    agent.post_turns(
        run,
        *(
            {
                "role": "assistant",
                "content": f"Part {n}.",
                "agent": f"agent {n}",
                "key": f"part {n}",
            }
            for n in range(11)
        ),
        wait=60,
    )
    page = open_page(f"/runs/{run}", phone=phone, reduced_motion="reduce")
    page.get_by_text("Hand-offs").first.click()
    names = lanes_on(page).get_by_role("listitem")
    expect(names).to_have_count(8)
    expect(lanes_on(page)).to_contain_text("10 of 11 agents")

    unfold = lanes_on(page).get_by_role("button", name="3 more agents, quiet for longest")
    unfold.click()

    expect(names).to_have_count(11)
    agent.post_turns(run, {"role": "assistant", "content": "Mine again.", "agent": "agent 3"})
    expect(lanes_on(page)).to_contain_text("agent 3 works now; 10 of 11 agents")
    expect(names).to_have_count(11)
    assert page.evaluate(FITS)
    page.evaluate(SCRIPT.read_text())
    assert in_both_themes(page, "crew", "phone" if phone else "desktop") == []
    lanes_on(page).get_by_role("button", name="Fold the agents").click()
    expect(names).to_have_count(8)
