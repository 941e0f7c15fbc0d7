"""What could not be fetched is asked for again where it stands: by a button, without a reload."""

import re

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.conftest import BARE

pytestmark = pytest.mark.screens

FETCHED = {
    "/history": "**/api/v1/runs/**",
    "/costs": "**/api/v1/costs/account/**",
    "/reports": "**/api/v1/reports/**",
    "/audit": "**/api/v1/audit/?*",
    "/allowlist": "**/api/v1/allowlist/**",
    "/autofixes": "**/api/v1/autofixes/**",
    "/policies": "**/api/v1/projects/**",
    "/settings/channels": "**/api/v1/channels/**",
    "/settings/deliveries": "**/api/v1/deliveries/**",
    "/settings/devices": "**/api/v1/devices/**",
    "/settings/instance": "**/api/v1/instance/**",
    "/settings/keys": "**/api/v1/tokens/**",
}
"""What each screen asks for, beside the address of the screen."""


class Breakdown:
    """Questions of one kind that are answered with an error, until they are mended."""

    def __init__(self, page, asked):
        self._is_over, self.asked = False, 0
        page.route(asked, self._answer)

    def mend(self):
        self._is_over = True

    def _answer(self, route):
        self.asked += 1
        if self._is_over:
            route.continue_()
        else:
            route.fulfill(status=500, json={"title": "No", "status": 500, "code": "no"})


@pytest.fixture
def failing(open_page):
    """Open a screen whose questions fail; returns the page and the breakdown."""

    def open_one(path, asked=None, **options):
        page = open_page("/no/such/page", **options)
        breakdown = Breakdown(page, asked or FETCHED[path])
        page.evaluate("window.here = true")
        go(page, path)
        return page, breakdown

    return open_one


def go(page, path):
    """Go there as a link would: no new page."""
    page.evaluate("(to) => { history.pushState(null, '', to); }", path)
    page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")


def alert_of(page):
    return page.get_by_role("alert").filter(has=page.locator("button"))


@pytest.mark.parametrize("path", FETCHED)
def test_a_failed_screen_is_fetched_again_by_keyboard_without_a_reload(failing, path):
    page, breakdown = failing(path)
    again = page.get_by_role("button", name="Try again")
    expect(again).to_have_count(1)

    again.focus()
    page.keyboard.press("Enter")
    expect(alert_of(page)).to_contain_text("without success")
    expect(again).to_be_focused()
    breakdown.mend()
    page.keyboard.press("Enter")

    expect(again).to_have_count(0)
    expect(page.get_by_role("main")).to_be_focused()
    assert page.evaluate("window.here")


def test_costs_that_cannot_be_fetched_have_no_day_to_step_from(failing):
    page, breakdown = failing("/costs")
    again = page.get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    expect(page.get_by_role("button", name="Earlier")).to_have_count(0)

    breakdown.mend()
    again.click()

    expect(page.get_by_role("button", name="Earlier")).to_be_visible()


def test_a_failure_is_shown_in_german_and_retried_on_a_phone(failing):
    page, breakdown = failing("/audit", phone=True, locale="de-DE")
    again = page.get_by_role("button", name="Erneut versuchen")
    expect(page.get_by_role("alert")).to_contain_text("konnte nicht geladen werden")

    breakdown.mend()
    again.tap()

    expect(again).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_fetched_rows_stay_when_fetching_more_fails(open_page, agent):
    for number in range(3):
        agent.open_run(name=f"listed {number}")
    page = open_page(BARE)
    page.route("**/api/v1/runs/?*", one_row_a_page)
    page.goto(page.url.replace(BARE, "/history"))
    expect(page.get_by_role("link", name="listed 2")).to_be_visible()
    breakdown = Breakdown(page, re.compile("/api/v1/runs/.*cursor="))

    page.get_by_role("button", name="More").click()
    expect(alert_of(page)).to_contain_text("Showing what was loaded before.")
    expect(page.get_by_role("link", name="listed 2")).to_be_visible()
    breakdown.mend()
    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("link", name="listed 1")).to_be_visible()
    expect(page.get_by_role("link", name="listed 2")).to_have_count(1)


def one_row_a_page(route):
    route.continue_(url=f"{route.request.url}&limit=1")


def test_a_failed_new_query_leaves_no_rows_of_the_last_one(open_page, agent):
    agent.open_run(name="answered before")
    page = open_page("/history")
    expect(page.get_by_role("link", name="answered before")).to_be_visible()
    Breakdown(page, "**/api/v1/runs/**")

    go(page, "/history?q=status%3Afailed")

    expect(alert_of(page)).to_be_visible()
    expect(page.get_by_role("link", name="answered before")).to_have_count(0)


def without_code(page, name):
    """Go to a screen whose code is not there."""
    page.route(f"**/assets/{name}-*.js", lambda route: route.fulfill(status=404))
    go(page, f"/{name.lower()}")
    return page.get_by_role("alert")


def test_a_screen_whose_code_is_gone_names_the_build_that_replaced_it(open_page):
    page = open_page("/no/such/page")
    newer = '<script type="module" crossorigin src="/assets/index-newer.js"></script>'
    page.route("**/decisions", lambda route: route.fulfill(body=newer, content_type="text/html"))

    said = without_code(page, "History")

    expect(said).to_contain_text("Mission Control was updated")
    expect(said.get_by_role("button", name="Reload")).to_be_visible()


def test_a_screen_whose_code_could_not_be_fetched_reports_no_new_version(open_page):
    page = open_page("/no/such/page")

    said = without_code(page, "History")

    expect(said).to_contain_text("The connection broke off.")
    expect(said).not_to_contain_text("updated")
    expect(said.get_by_role("button", name="Try again")).to_be_visible()


def test_a_screen_whose_code_is_gone_says_so_without_a_known_build(open_page):
    page = open_page("/no/such/page")
    page.route("**/decisions", lambda _: None)  # asked, and never answered

    said = without_code(page, "History")

    expect(said.get_by_role("button", name="Try again")).to_be_visible()


def test_an_unreachable_server_can_be_retried_at_once(open_page):
    page = open_page(BARE, signed_in=False)
    breakdown = Breakdown(page, "**/api/v1/me/")
    page.goto(page.url.replace(BARE, "/no/such/page"))
    expect(alert_of(page)).to_contain_text("cannot be reached")

    breakdown.mend()
    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("sign-in link")


def test_the_details_of_a_turn_are_fetched_again(open_page, agent):
    run = agent.open_run(name="read twice")
    agent.post_turns(run, a_turn("ls"))
    page = open_page(f"/runs/{run}/turns/0")
    breakdown = Breakdown(page, "**/turns/0/")
    page.get_by_text("JSON", exact=True).click()
    expect(alert_of(page)).to_contain_text("It could not be loaded.")

    breakdown.mend()
    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("region", name="JSON")).to_contain_text('"seq": 0')


def test_the_summary_of_a_run_is_fetched_again_without_another_turn(open_page, agent):
    run = agent.open_run(name="its story")
    agent.post_turns(run, a_turn("ls"))
    page = open_page(BARE)
    breakdown = Breakdown(page, "**/series/**")
    page.goto(page.url.replace(BARE, f"/runs/{run}"))
    expect(alert_of(page)).to_contain_text("The chart could not be loaded.")
    asked = breakdown.asked

    breakdown.mend()
    page.get_by_role("button", name="Try again").click()

    expect(alert_of(page)).to_have_count(0)
    assert breakdown.asked == asked + 1
