"""No state of a screen breaks WCAG 2.2 AA, as far as axe can tell: any size, dark and light.

The screens themselves are looked at in `test_every_screen.py`, empty and failing ones in
`test_empty_screens.py`.
"""

import pytest
from playwright.sync_api import expect

from tests.e2e import axe
from tests.e2e.axe import complaints, in_both_themes
from tests.e2e.conftest import DESKTOP, PHONE, a_page_with_axe
from tests.e2e.screens import stands

pytestmark = [pytest.mark.screens, pytest.mark.usefixtures("axe_summary")]

SIZES = {"desktop": DESKTOP, "phone": PHONE}


@pytest.fixture(scope="module", params=list(SIZES))
def size(request):
    return request.param


@pytest.fixture(scope="module")
def page(browser, installation, size):
    with a_page_with_axe(browser, installation, phone=size == "phone") as page:
        yield page


@pytest.fixture
def visit(page, installation, addresses):
    """Go to a screen and wait until it stands."""

    def visit_one(name):
        page.goto(installation.url + addresses[name])
        return stands(page, name)

    return visit_one


def test_a_signed_out_person_reads_what_to_do(browser, installation, size):
    context = browser.new_context(viewport=SIZES[size])
    context.add_init_script(path=axe.SCRIPT)
    page = context.new_page()
    page.goto(installation.url)
    expect(page.get_by_role("heading", level=1)).to_contain_text("sign-in link")

    assert in_both_themes(page, "signed-out", size) == []
    context.close()


def test_the_keyboard_sheet_breaks_no_accessibility_rule(visit, size):
    page = visit("now")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()

    assert in_both_themes(page, "keys", size) == []
    page.keyboard.press("Escape")


def test_an_open_menu_breaks_no_accessibility_rule(visit, size):
    if size == "desktop":
        return  # the rail stands open
    page = visit("now")
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_role("link", name="Policies")).to_be_visible()

    assert in_both_themes(page, "menu", size) == []


def test_a_fix_being_written_breaks_no_accessibility_rule(visit, size):
    page = visit("decision")
    if size == "phone":
        page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Fix to inject").fill("Read the file first.")

    assert in_both_themes(page, "fix", size) == []


def test_a_terminate_countdown_breaks_no_accessibility_rule(visit, size):
    page = visit("decision")
    page.get_by_role("button", name="Terminate").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()

    found = complaints(page, "counting", size, "light")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    assert found == []


def test_an_unreachable_server_is_reported_accessibly(browser, installation, size):
    context = browser.new_context(viewport=SIZES[size], service_workers="block")
    context.add_init_script(path=axe.SCRIPT)
    page = context.new_page()
    page.route("**/api/v1/**", lambda route: route.abort())
    page.goto(installation.url)
    expect(page.get_by_text("cannot be reached")).to_be_visible()

    assert in_both_themes(page, "unreachable", size) == []
    context.close()
