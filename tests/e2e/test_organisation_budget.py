"""A budget of all projects: an owner sets it, a run is held at it, one tap lets all go on."""

import re
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.people import a_member
from tests.e2e.screens import FITS
from tests.e2e.stuck import answer_all
from tests.installations import wait_for

pytestmark = pytest.mark.screens


@pytest.fixture
def settings(open_page, person):
    """The page of the installation; what is set there is removed at the end."""
    page = open_page("/settings/instance")
    yield page
    page.goto(page.url)
    page.get_by_role("button", name="Check again").wait_for()
    remove = page.get_by_role("button", name="Remove budget")
    if remove.count():
        remove.click()
        expect(remove).to_have_count(0)
    answer_all(person)


def set_to(page, dollars):
    page.get_by_label("Dollars a day").fill(dollars)
    page.get_by_role("button", name="Set budget").click()


def test_an_owner_sets_and_removes_it(settings):
    expect(settings.get_by_text("None set.")).to_be_visible()

    set_to(settings, "90000")
    expect(settings.get_by_text("of $90,000 spent today")).to_be_visible()

    settings.get_by_role("button", name="Remove budget").click()
    expect(settings.get_by_text("None set.")).to_be_visible()


def test_an_invalid_budget_is_refused_with_a_reason(settings):
    set_to(settings, "0")

    expect(settings.get_by_role("alert")).to_be_visible()
    assert settings.evaluate(FITS)


@pytest.fixture
def held(settings, agent, person):
    """A run that is held at half a dollar of all projects; and its card."""
    run = agent.open_run(name="everybodys")
    # Another test's tap may have allowed more for today.
    extra = Decimal(person.get("/api/v1/instance/")["budget"]["extra_usd"])
    agent.post_turns(run, a_turn(cost_usd=str(extra + 1)), wait=60)
    set_to(settings, "0.50")
    expect(settings.get_by_text("of $0.50 spent today")).to_be_visible()
    agent.post_turns(run, a_turn(cost_usd="0.01"), wait=60)
    return run, wait_for(lambda: person.card_of(run))


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_an_operator_reads_on_the_card_who_raises_it(held, phone, open_page, installation):
    page = open_page("/login/", signed_in=False, phone=phone)
    cookies = a_member(installation, "olu").items()
    page.context.add_cookies([{"name": n, "value": v, "url": installation.url} for n, v in cookies])
    page.goto(f"{installation.url}/decisions/{held[1]['id']}")

    # Another test's tap may have allowed more for today.
    more = page.get_by_role("button", name=re.compile(r"Allow \$[\d.]+ more")).first
    expect(more).to_have_attribute("aria-disabled", "true")
    expect(more).to_contain_text("Only a project owner can raise it.")
    expect(page.get_by_role("button", name="Stop", disabled=False).first).to_be_visible()
    assert page.evaluate(FITS)


def test_a_run_is_held_at_it_and_goes_on_for_today_by_one_tap(settings, held, open_page, person):
    run, card = held
    page = open_page(f"/runs/{run}")
    expect(
        page.get_by_text("The organisation's budget of $0.50 for today is reached.").first
    ).to_be_visible()
    expect(page.get_by_text("for all projects, today only").first).to_be_visible()
    page.get_by_role("button", name="Allow $0.25 more").first.click()

    wait_for(lambda: person.get(f"/api/v1/runs/{run}/")["status"] == "running")
    settings.get_by_role("button", name="Check again").click()
    expect(settings.get_by_text("allowed for today")).to_be_visible()
    assert card["evidence"]["spent"] is None
