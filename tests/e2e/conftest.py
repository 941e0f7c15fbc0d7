"""A real Mission Control and a real browser for the tests in this folder."""

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import Caller, an_agent_of, the_person_of
from tests.e2e import axe
from tests.e2e.chromium import FLAGS, chromium, why_not
from tests.e2e.connection import Connection, link_of
from tests.e2e.screens import screens
from tests.e2e.stuck import StuckRun, answer_all, several_stuck

DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
BARE = "/healthz"
"""Where a page is prepared before it opens what a test looks at: it loads nothing of the app."""


def pytest_collection_modifyitems(items):
    for item in items:
        if "e2e" in item.path.parts:
            item.add_marker(pytest.mark.e2e)


# By module, not by session: Playwright's loop would be in the way of async tests.
@pytest.fixture(scope="module")
def browser(request):
    # Pushes belong to a window: a module that needs one says so.
    path = chromium(whole=getattr(request.module, "NEEDS_A_WINDOW", False))
    if path is None:
        pytest.skip(why_not())
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield running
        running.close()


def complaints_of(page):
    """Return a list that gets what goes wrong on a page: errors, and what its policy forbids."""
    texts = []

    def note(message):
        if "Content Security Policy" in message.text:
            texts.append(message.text)

    page.on("pageerror", lambda error: texts.append(str(error)))
    page.on("console", note)
    return texts


def sign_in(context, installation):
    """Let a window of the browser be the person who started an installation."""
    cookies = installation.cookies().items()
    context.add_cookies(
        [{"name": name, "value": value, "url": installation.url} for name, value in cookies]
    )


@contextmanager
def a_page_with_axe(browser, installation, *, phone, **options):
    """Open a signed-in window that stands still, with axe in every page."""
    context = browser.new_context(
        viewport=PHONE if phone else DESKTOP,
        has_touch=phone,
        is_mobile=phone,
        reduced_motion="reduce",
        service_workers="block",
        **options,
    )
    sign_in(context, installation)
    # As a script of the browser's own: past the page's strict policy.
    context.add_init_script(path=axe.SCRIPT)
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()


@pytest.fixture
def open_page(browser, installation):
    """Open signed-in pages: `open_page("/", phone=True)`; console errors fail the test."""
    contexts, complaints = [], []

    def open_one(path="/", *, phone=False, signed_in=True, url=installation.url, **options):
        # A service worker is what test_phone.py is about; elsewhere it would answer
        # pages from its cache, where a test's own routes do not reach.
        more = {"service_workers": "block", **options}
        context = browser.new_context(
            viewport=PHONE if phone else DESKTOP, has_touch=phone, is_mobile=phone, **more
        )
        contexts.append(context)
        if signed_in:
            sign_in(context, installation)
        page = context.new_page()
        page.set_default_timeout(60_000)
        complaints.append(complaints_of(page))
        page.goto(url + path)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert [text for texts in complaints for text in texts] == []


@pytest.fixture(scope="module")
def addresses(installation):
    """Where each screen is, with five held runs for all that is looked at: rows, sides, a list."""
    with several_stuck(installation, "nightly", count=5) as first:
        yield screens(run=first.id, decision=first.card["id"])


@pytest.fixture(scope="module")
def axe_summary():
    """All that axe looked at, in one file once it is done."""
    yield
    axe.write_summary()


@pytest.fixture
def desktop(open_page):
    return open_page()


@pytest.fixture
def phone(open_page):
    return open_page(phone=True)


@pytest.fixture
def agent(installation) -> Caller:
    return an_agent_of(installation)


@pytest.fixture
def person(installation) -> Caller:
    return the_person_of(installation)


@pytest.fixture
def stuck(agent, person):
    """Return a maker of runs with an open card, on a board with no other cards."""
    answer_all(person)
    yield lambda name="stuck", **fields: StuckRun.begin(agent, person, name, **fields)
    answer_all(person)


@pytest.fixture
def on_line(open_page):
    """Open a page whose line can be cut; returns both."""

    def open_one(path, **options):
        page = open_page(BARE, **options)
        line = Connection(page)
        page.goto(page.url.removesuffix(BARE) + path)
        expect(link_of(page)).to_have_text("Live")
        return page, line

    return open_one
