"""Nothing there yet, or answers that are errors: screens say what is so and what comes next."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e import axe
from tests.e2e.axe import in_both_themes
from tests.e2e.conftest import DESKTOP, PHONE
from tests.installations import an_installation

pytestmark = pytest.mark.screens

SIZES = {"desktop": DESKTOP, "phone": PHONE}
EMPTY = {
    "/": "guard connect",
    "/decisions": "opens here when something does",
    "/history": "once an agent has reported one",
    "/costs": "reports tokens or money",
    "/allowlist": "Tap Allowlist on a card",
    "/autofixes": "each correction stands here",
    "/reports": "To Costs|stands here|day",
    "/settings/deliveries": "A card, a budget or a test appears here",
    "/settings/channels": "A card reaches your paired phones",
}
FAILING = ["/history", "/costs", "/audit", "/allowlist", "/autofixes", "/policies"]
NOT_FETCHED = re.compile("could not be (fetched|read|loaded)")


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """One that no agent has spoken to."""
    with an_installation(tmp_path_factory.mktemp("fresh")) as running:
        yield running
    axe.write_summary()


@pytest.fixture(params=list(SIZES))
def size(request):
    return request.param


@pytest.fixture
def visit(open_page, size):
    def visit_one(path, meanwhile=None):
        page = open_page("/no/such/page", phone=size == "phone", reduced_motion="reduce")
        page.context.add_init_script(path=axe.SCRIPT)
        if meanwhile:
            page.route("**/api/v1/**", meanwhile)
        page.goto(re.sub("/no/such/page$", path, page.url))
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        return page

    return visit_one


def refusing(status):
    """Answer every question but who is here with an error."""

    def answer(route):
        if "/me" in route.request.url:
            route.continue_()
        else:
            route.fulfill(status=status, json={"title": "No", "status": status, "code": "no"})

    return answer


@pytest.mark.parametrize("path", EMPTY)
def test_a_screen_with_nothing_on_it_says_what_will_be(visit, size, path):
    page = visit(path)
    expect(page.get_by_role("main")).to_contain_text(re.compile(EMPTY[path]))

    assert in_both_themes(page, f"empty {path.strip('/').replace('/', ' ') or 'now'}", size) == []


@pytest.mark.parametrize("status", [403, 404, 500])
@pytest.mark.parametrize("path", FAILING)
def test_an_answer_that_is_an_error_is_said(visit, size, path, status):
    page = visit(path, meanwhile=refusing(status))
    expect(page.get_by_text(NOT_FETCHED).first).to_be_visible()

    assert in_both_themes(page, f"{path.strip('/')} {status}", size) == []
