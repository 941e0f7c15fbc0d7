"""What was spent, as who pays reads it: today, a week, an agent, a model without a price."""

import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.installations import ROOT, an_installation

pytestmark = pytest.mark.screens


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """One of its own: its money is known."""
    with an_installation(tmp_path_factory.mktemp("spent")) as running:
        subprocess.run(
            [sys.executable, "-m", "tests.e2e.fortnight", running.project],
            cwd=ROOT,
            env=running.own_environment(),
            check=True,
        )
        yield running


def rows(page):
    return page.get_by_role("table").last.get_by_role("row")


def test_today_stands_against_the_budget_and_who_spent_it(open_page, installation):
    page = open_page("/costs")
    account = installation.get("/api/v1/costs/account/")

    expect(page.get_by_role("heading", name="Spent today")).to_be_visible()
    expect(page.get_by_role("meter", name="daily budget used", exact=True)).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Spent so far"))).to_be_visible()
    expect(page.get_by_text("≈").or_(page.get_by_text("nothing stopped")).first).to_be_visible()
    for group in account["groups"]:
        if group["unpriced_calls"]:
            # Drawn by its name (OpenAI Agents), told by its slug (openai-agents).
            name = re.compile(group["name"].replace("-", "[ -]"), re.IGNORECASE)
            expect(page.get_by_role("row", name=name)).to_contain_text("unpriced")


def test_the_address_keeps_what_is_looked_at(open_page):
    page = open_page("/costs")

    page.get_by_text("Week", exact=True).click()
    page.get_by_text("Model", exact=True).click()
    expect(page).to_have_url(re.compile(r"range=week&by=model|by=model&range=week"))
    page.reload()

    expect(page.get_by_role("heading", name="Spent in the week")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Model")).to_be_visible()


def test_an_agents_row_leads_to_its_models_and_back(open_page):
    page = open_page("/costs?range=month")

    page.get_by_role("link", name="Codex").click()
    expect(page).to_have_url(re.compile("agent=codex"))
    expect(page.get_by_role("rowheader", name="gpt-5-codex")).to_be_visible()
    page.get_by_role("button", name="Remove the filter").click()

    expect(page).not_to_have_url(re.compile("agent="))


def test_the_figures_of_a_chart_are_also_in_a_table(open_page):
    page = open_page("/costs")

    page.get_by_text("As a table").first.click()

    region = page.get_by_role("region", name=re.compile("Hour by hour"))
    expect(region.get_by_role("row")).not_to_have_count(0)
    expect(region).to_contain_text("$")


def test_setting_a_price_prices_calls_without_one(open_page, installation):
    page = open_page("/costs?by=model")
    row = page.get_by_role("row", name=re.compile("^qwen3"))

    row.get_by_role("button", name="set a price").click()
    page.get_by_label(re.compile("^Input")).fill("1")
    page.get_by_label(re.compile("^Output")).fill("5")
    page.get_by_role("button", name="Set price").click()
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text(
        "1 call recounted: $0.01"
    )
    page.get_by_role("dialog").get_by_role("button", name="Close").click()

    expect(row).to_contain_text("$0.01")
    account = installation.get("/api/v1/costs/account/?model=qwen3")
    assert account["spent"]["unpriced_calls"] == 0


@pytest.mark.parametrize("phone", [False, True])
def test_the_reports_have_a_list_and_a_page_on_both_sizes(open_page, phone):
    page = open_page("/reports", phone=phone)

    expect(page.get_by_role("heading", name="Daily reports")).to_be_visible()
    expect(page.get_by_text("No day has been completed yet.")).to_be_visible()


def test_the_phone_shows_the_total_first(open_page):
    page = open_page("/costs", phone=True)

    expect(page.get_by_text("Saved by stops")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^\$\d+\.\d\d$")).first).to_be_visible()


def test_a_model_of_unknown_price_is_unpriced_in_its_row_and_in_the_sum(open_page, agent):
    run = agent.open_run(name="mystery")
    agent.post_turns(run, a_turn("ls", model="mystery-1", usage={"input": 1000, "output": 100}))

    page = open_page("/costs?by=agent&model=mystery-1")

    expect(page.get_by_role("row", name=re.compile("^Total with judge"))).to_contain_text(
        re.compile(r"unpriced.*agents unpriced")
    )
    expect(page.locator(".sum .big")).to_have_text("unpriced")
