"""Coming in and going out, as a person does it."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from missioncontrol.up.addresses import OWN_HOST


def test_a_tap_on_the_one_button_signs_in(open_page, installation):
    page = open_page("/login/", signed_in=False, phone=True)
    page.goto(installation.login_link())

    page.get_by_role("button", name="Sign in").tap()

    page.wait_for_url(f"{installation.url}/")
    cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
    assert cookies["mc_session"]["httpOnly"]
    assert cookies["mc_session"]["sameSite"] == "Lax"


def test_on_a_name_of_our_own_no_other_page_of_this_machine_is_sent_our_cookies(
    open_page, installation
):
    ours = installation.url.replace("127.0.0.1", OWN_HOST)
    page = open_page("/login/", signed_in=False)
    page.context.clear_cookies()
    page.goto(installation.login_link().replace(installation.url, ours))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{ours}/")
    expect(page.get_by_role("main")).to_be_visible()

    states = {
        urlsplit(place).hostname: page.context.cookies(place)
        for place in (ours, "http://127.0.0.1:9/", "http://localhost:9/")
    }

    assert {name: bool(cookies) for name, cookies in states.items()} == {
        OWN_HOST: True,
        "127.0.0.1": False,
        "localhost": False,
    }


@pytest.mark.screens
def test_the_button_is_large_enough_for_a_thumb(open_page, installation):
    page = open_page("/login/", signed_in=False, phone=True)
    page.goto(installation.login_link())

    box = page.get_by_role("button").bounding_box()

    assert box["height"] >= 44
    assert box["x"] + box["width"] <= 390


def test_a_link_works_once(open_page, installation):
    link = installation.login_link()
    first = open_page("/login/", signed_in=False)
    first.goto(link)
    first.get_by_role("button").click()
    first.wait_for_url(f"{installation.url}/")

    second = open_page("/login/", signed_in=False)
    second.goto(link)

    assert second.get_by_text("This link no longer works").is_visible()


def test_without_a_session_it_says_where_a_link_comes_from(open_page):
    page = open_page("/login/", signed_in=False)

    assert page.get_by_text("uv run --no-dev manage.py login_link").is_visible()


def test_who_follows_a_link_and_signs_in_first_goes_on_to_where_it_leads(open_page, installation):
    page = open_page("/costs?range=week", signed_in=False)
    expect(page.get_by_role("heading", name="Open the sign-in link")).to_be_visible()

    page.goto(installation.login_link())
    page.get_by_role("button", name="Sign in").click()

    expect(page).to_have_url(f"{installation.url}/costs?range=week")
    expect(page.get_by_role("heading", name="Costs", exact=True)).to_be_visible()


def test_who_signs_out_begins_at_the_board_the_next_time(open_page, installation):
    page = open_page("/login/", signed_in=False)
    page.goto(installation.login_link())
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{installation.url}/settings/devices")
    this_one = page.get_by_role("listitem").filter(has_text="this one")
    this_one.get_by_role("button", name="More about").click()

    page.get_by_role("button", name="Sign out here").click()

    expect(page.get_by_role("heading", name="Open the sign-in link")).to_be_visible()
    assert urlsplit(page.url).path == "/"
