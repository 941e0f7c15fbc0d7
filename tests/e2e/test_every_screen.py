"""Everybody gets along on every screen: read out, by keyboard, by thumb, enlarged, in German.

A screen is opened once for each way of looking at it, and told all that is wrong there.
"""

import pytest

from tests.e2e.axe import in_both_themes
from tests.e2e.conftest import DESKTOP, PHONE, a_page_with_axe, complaints_of
from tests.e2e.reach import (
    TARGETS,
    THUMB,
    cramped_on_a_tablet,
    cramped_on_its_side,
    faults_by_keyboard,
    overflowing,
    too_wide_enlarged,
    too_wide_in_large_text,
)
from tests.e2e.screens import examples, flat_routes, route_kinds, screens, settings_pages, stands

pytestmark = [pytest.mark.screens, pytest.mark.usefixtures("axe_summary")]

NAMES = list(screens(run="", decision=""))


@pytest.fixture(scope="module", params=["desk", "phone", "German desk", "German phone"])
def where(request):
    return request.param


@pytest.fixture(scope="module")
def page(browser, installation, where):
    locale = "de-DE" if "German" in where else "en-US"
    with a_page_with_axe(browser, installation, phone="phone" in where, locale=locale) as page:
        yield page


@pytest.fixture(scope="module")
def complaints(page):
    return complaints_of(page)


def at_a_desk(page, name):
    yield "breaks rules of WCAG", in_both_themes(page, name, "desktop")
    yield "is in the way of the keyboard", faults_by_keyboard(page)
    yield "is cut or too wide in large text", too_wide_in_large_text(page)
    yield "is cramped on a tablet", cramped_on_a_tablet(page)
    page.set_viewport_size(DESKTOP)


def on_a_phone(page, name):
    yield "breaks rules of WCAG", in_both_themes(page, name, "phone")
    # What a pointer needs on a desk, 24 pixels or room around, is axe's "target-size".
    yield "is too small for a thumb", page.evaluate(TARGETS, THUMB)
    yield "is cut or too wide in large text", too_wide_in_large_text(page)
    yield "scrolls sideways when enlarged", too_wide_enlarged(page)
    yield "is cramped on its side", cramped_on_its_side(page)
    page.set_viewport_size(PHONE)


def at_a_german_desk(page, name):
    yield "is cut off in German", overflowing(page)


def on_a_german_phone(page, name):
    yield "is cut off in German", overflowing(page)
    yield "is in the way of the keyboard", faults_by_keyboard(page)


LOOKS = {
    "desk": at_a_desk,
    "phone": on_a_phone,
    "German desk": at_a_german_desk,
    "German phone": on_a_german_phone,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_is_accessible_and_fits(page, complaints, installation, addresses, where, name):
    complaints.clear()
    page.goto(installation.url + addresses[name])
    stands(page, name, loading="Wird geladen" if "German" in where else "Loading")

    assert {fault: found for fault, found in LOOKS[where](page, name) if found} == {}
    assert complaints == []


def test_every_route_has_an_example():
    kinds = set(examples(run="", decision="")) | set(flat_routes())
    kinds |= {"settings"} if settings_pages() else set()

    assert route_kinds() <= kinds
