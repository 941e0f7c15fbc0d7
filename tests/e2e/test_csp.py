"""No screen does what its own policy forbids: nothing inline, no call to another host."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import DESKTOP, PHONE
from tests.e2e.line import link_of
from tests.e2e.screens import screens
from tests.e2e.stuck import StuckRun, an_agent_of, answer_all, the_person_of

pytestmark = pytest.mark.screens

NAMES = list(screens(run="", decision=""))
SIZES = {"desktop": DESKTOP, "phone": PHONE}
LISTEN = """window.violations = [];
document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sample }) =>
  window.violations.push([effectiveDirective, blockedURI, sample].join(" ")));"""
STRAY = """() => {
  document.body.insertAdjacentHTML("beforeend", '<p style="color: red">inline</p>');
  const sheet = document.createElement("style");
  sheet.textContent = "p { color: red }";
  document.head.append(sheet);
  new WebSocket(`ws://elsewhere.test:${location.port}/ws/`);
  fetch("http://elsewhere.test/").catch(() => undefined);
}"""


@pytest.fixture(scope="module")
def addresses(installation):
    agent, person = an_agent_of(installation), the_person_of(installation)
    answer_all(person)
    held = StuckRun.begin(agent, person, "nightly")
    yield screens(run=held.id, decision=held.card["id"])
    answer_all(person)


@pytest.fixture(scope="module", params=list(SIZES))
def page(browser, installation, request):
    phone = request.param == "phone"
    context = browser.new_context(
        viewport=SIZES[request.param], has_touch=phone, is_mobile=phone, service_workers="block"
    )
    context.add_cookies(
        [
            {"name": name, "value": value, "url": installation.url}
            for name, value in installation.cookies().items()
        ]
    )
    context.add_init_script(LISTEN)
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()


def violations(page):
    """Return what was forbidden since the page was opened, once it has drawn what it had."""
    page.evaluate("() => new Promise((drawn) => setTimeout(() => requestAnimationFrame(drawn)))")
    return page.evaluate("window.violations")


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_does_nothing_that_is_forbidden(page, installation, addresses, name):
    page.goto(installation.url + addresses[name])
    page.locator("h1").first.wait_for()
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)

    assert violations(page) == []


def test_the_live_line_is_allowed(page, installation):
    page.goto(installation.url)
    expect(link_of(page)).to_have_text("Live")

    assert violations(page) == []


@pytest.mark.parametrize("path", ["/login/", "/pair/", "/"])
def test_a_page_for_the_signed_out_does_nothing_that_is_forbidden(browser, installation, path):
    context = browser.new_context(service_workers="block")
    context.add_init_script(LISTEN)
    page = context.new_page()
    page.goto(installation.url + path)
    page.locator("h1").first.wait_for()

    assert violations(page) == []
    context.close()


def test_what_is_forbidden_is_noticed(page, installation):
    page.goto(installation.url)
    page.locator("h1").first.wait_for()
    page.evaluate(STRAY)

    page.wait_for_function("window.violations.length === 4")
    assert sorted(one.split()[0] for one in page.evaluate("window.violations")) == [
        "connect-src",
        "connect-src",
        "style-src-attr",
        "style-src-elem",
    ]
