"""A device whose clock is wrong: what it asks of the server is right all the same."""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.e2e.people import an_owner

WRONG_BY = (timedelta(minutes=10), timedelta(days=365), timedelta(days=-365))


@pytest.fixture(params=WRONG_BY, ids=str)
def open_wrong(request, open_page, installation):
    """Open a page on a device with a wrong clock, which has heard of the server's by then."""

    def open_one(path):
        page = open_page("/login/", signed_in=False)
        cookies = an_owner(installation, f"clock {uuid4().hex[:6]}").items()
        page.context.add_cookies(
            [{"name": name, "value": value, "url": installation.url} for name, value in cookies]
        )
        page.clock.install(time=datetime.now(UTC) + request.param)
        page.goto(installation.url + path)
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        return page

    return open_one


def test_what_is_asked_for_thirty_days_is_over_thirty_days_from_now(open_wrong):
    page = open_wrong("/settings/keys")
    ends = []

    @contextmanager
    def noting_its_end(path):
        with page.expect_response(
            lambda to: to.request.method == "POST" and path in to.url
        ) as made:
            yield
        ends.append(datetime.fromisoformat(made.value.json()["expires_at"]))

    keys = page.get_by_role("region", name="Agent keys").first
    keys.get_by_label("Name of the key").fill("laptop")
    keys.get_by_role("radiogroup", name="Valid for").get_by_text("30 days").click()
    with noting_its_end("/keys/"):
        keys.get_by_role("button", name="Create key").click()

    page.get_by_role("link", name="Members").click()
    people = page.get_by_role("region", name="Invitations")
    people.get_by_text("30 days", exact=True).first.click()
    with noting_its_end("/invitations/"):
        people.get_by_role("button", name="Create invitation link").click()

    page.get_by_role("link", name="Allowlist").click()
    page.get_by_role("button", name="Add a pattern").click()
    page.get_by_label("Call", exact=True).fill("Bash make")
    page.get_by_label("Ends").select_option("month")
    with noting_its_end("/allowlist/"):
        page.get_by_role("button", name="Add to allowlist").click()

    in_days = [round((end - datetime.now(UTC)) / timedelta(days=1), 1) for end in ends]
    assert in_days == [30, 30, 30]


def test_the_line_that_connects_an_agent_stays_as_long_as_its_code_is_good(open_wrong):
    page = open_wrong("/")

    codes = set()
    for _ in range(3):
        with page.expect_response("**/api/v1/setup-codes/*/") as looked:
            pass
        codes.add(looked.value.json()["id"])

    assert len(codes) == 1
