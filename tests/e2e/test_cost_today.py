"""The money that is always visible: today's, of the day's budget, as it is spent."""

import re
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.conftest import BARE

USED = "Daily budget used"
PROJECT = "/api/v1/projects/{}/"


@pytest.fixture
def budget(person, installation):
    """Give the project's day a ceiling; none is left behind."""

    def set_it(usd):
        body = {"budgets": {"day": {"usd": usd} if usd else {}}}
        address = PROJECT.format(installation.project)
        assert person.ask("PATCH", address, body).status == 200

    yield set_it
    set_it(None)


def spent(installation):
    # All that this person sees: other tests leave projects of their own.
    projects = installation.get("/api/v1/costs/today/")["results"]
    return sum((Decimal(today["spent_usd"]) for today in projects), Decimal())


def drawn(usd):
    return f"${usd:,.2f}"


@pytest.mark.parametrize("phone", [False, True])
def test_todays_cost_is_shown_against_the_days_budget(
    open_page, installation, agent, budget, phone
):
    budget("900000")
    agent.post_turns(agent.open_run(name="spender"), a_turn("ls", cost_usd="1.25"))

    page = open_page("/", phone=phone)

    shown, rest = re.escape(drawn(spent(installation))), r"(\s+\+ \d+ unpriced)?\s+of \$900,000"
    words = f"{shown}{rest} today" if phone else f"Today {shown}{rest}"
    expect(page.locator(".money")).to_have_text(re.compile(words))
    expect(page.get_by_role("meter", name=USED)).to_be_visible()


def test_unknown_spending_is_not_shown_as_zero(open_page):
    page = open_page(BARE)
    page.route("**/api/v1/boards/**", lambda route: route.abort())
    page.route_web_socket("**/ws/**", lambda _: None)
    page.goto(page.url.replace(BARE, "/costs"))

    expect(page.locator(".money .burn")).to_have_text("Spending —")


@pytest.mark.screens
def test_without_a_budget_todays_cost_is_shown_alone(open_page, agent, installation):
    agent.post_turns(agent.open_run(name="spender"), a_turn("ls", cost_usd="1.25"))

    page = open_page("/history")

    expect(page.locator(".money")).to_contain_text(f"Today {drawn(spent(installation))}")
    expect(page.locator(".money")).not_to_contain_text(" of ")
    expect(page.get_by_role("meter", name=USED)).to_have_count(0)


def test_new_spending_appears_without_a_reload(open_page, agent, installation):
    run = agent.open_run(name="spender")
    agent.post_turns(run, a_turn("ls", cost_usd="1.25"))
    page = open_page("/")
    expect(page.locator(".money")).to_contain_text(drawn(spent(installation)))

    agent.post_turns(run, a_turn("pwd", cost_usd="2.75"))

    expect(page.locator(".money")).to_contain_text(drawn(spent(installation)))


@pytest.mark.screens
def test_unpriced_calls_are_named_and_in_no_amount(open_page, agent, installation):
    usage = {"input": 900, "output": 20}
    agent.post_turns(agent.open_run(name="house"), a_turn("ls", model="house-model", usage=usage))

    page = open_page("/")

    figure = page.locator(".money .today")
    expect(figure).to_contain_text("unpriced")
    expect(figure).to_have_attribute("title", re.compile(r"\d+ calls? without a known price"))


def test_the_bar_and_the_costs_page_agree(open_page, installation, agent):
    agent.post_turns(agent.open_run(name="spender"), a_turn("ls", cost_usd="1.25"))

    page = open_page("/costs")

    shown = drawn(spent(installation))
    expect(page.locator(".money")).to_contain_text(shown)
    expect(page.get_by_role("main").locator(".page")).to_contain_text(shown)


@pytest.mark.screens
def test_a_stop_today_is_shown_on_now_and_links_to_its_estimate(open_page, stuck):
    run = stuck()
    run.answer("terminate")
    page = open_page("/")

    page.get_by_role("link", name=re.compile("saved by stops|no estimate yet")).click()

    expect(page).to_have_url(re.compile("/costs$"))
    expect(page.get_by_text(re.compile("How .saved. is counted"))).to_be_visible()
