"""The first hour: an agent connected, the demo by a click, the phone without a restart."""

import re

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn, an_agent_of
from tests.installations import an_installation

pytestmark = pytest.mark.screens


@pytest.fixture
def installation(tmp_path):
    """One that no agent has spoken to, at a home that shows which agents there are."""
    home = tmp_path / "home"
    (home / ".gemini").mkdir(parents=True)
    (home / ".claude/projects/-shop").mkdir(parents=True)
    (home / ".claude/projects/-shop/one.jsonl").write_text("{}")
    with an_installation(tmp_path / "data", HOME=str(home)) as running:
        yield running


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_the_agents_of_this_machine_come_first_and_the_first_turn_arrives_live(
    open_page, installation, phone
):
    page = open_page("/", phone=phone)
    agents = page.get_by_role("radiogroup", name="Agent").get_by_role("radio")
    expect(agents.first).to_have_value("claude-code")
    expect(agents.nth(1)).to_have_value("gemini")
    expect(page.get_by_text(re.compile("^used .* ago$"))).to_have_count(1)
    expect(page.get_by_text("Listening since")).to_be_visible()

    agent = an_agent_of(installation)
    run = agent.open_run(name="add-invoice-export")
    agent.post_turns(run, a_turn("cat export.py", cost_usd="0.012"))

    expect(page.get_by_role("heading", name="Your first turn arrived")).to_be_visible()
    page.get_by_role("link", name="Open it").click()
    expect(page).to_have_url(re.compile(f"/runs/{run}"))


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_the_demo_is_one_click_away_and_one_click_removes_it(open_page, phone):
    page = open_page("/", phone=phone)

    page.get_by_role("button", name="Start the demo").click()

    expect(page.get_by_text("library tour").first).to_be_visible()
    if phone:
        page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("library tour")).to_have_count(0)
    expect(page.get_by_role("button", name="Start the demo")).to_be_visible()


def test_access_for_phones_opens_and_closes_without_a_restart(open_page):
    page = open_page("/settings/devices")
    expect(page.get_by_text("opens HTTPS on a free port")).to_be_visible()

    page.get_by_role("button", name="Reach this from my phone").click()

    expect(page.get_by_alt_text(re.compile("QR code"))).to_be_visible()
    expect(page.get_by_text("is open to your local network")).to_be_visible()
    page.get_by_role("button", name="Turn it off").click()
    expect(page.get_by_role("button", name="Reach this from my phone")).to_be_visible()
