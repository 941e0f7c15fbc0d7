"""A link to one run, card or week of costs: made by hand, opened by anybody who has it, revoked."""

import re

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.e2e import axe
from tests.e2e.reach import TARGETS, THUMB
from tests.e2e.screens import FITS

ADDRESS = re.compile(r"^http.*/shared/.+/$")


def make(page):
    """Make a link in the open dialog; return its address."""
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Create link").click()
    link = dialog.get_by_label("Link", exact=True)
    expect(link).to_have_value(ADDRESS)
    return link.input_value()


@pytest.mark.screens
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_run_is_shared_seen_without_signing_in_and_revoked(open_page, agent, phone):
    run = agent.open_run(name="fix-auth-tests")
    call = {"role": "assistant", "tool": "Bash", "args": {"command": "pytest -q"}, "error": "E"}
    for n in range(2):
        agent.post_turns(run, {**call, "key": str(n)}, wait=60)
    size = "phone" if phone else "desktop"
    page = open_page(f"/runs/{run}", phone=phone)
    page.add_init_script(path=axe.SCRIPT)
    page.reload()

    page.get_by_role("button", name="Share this run").click()
    expect(page.get_by_role("heading", name="Share this run")).to_be_visible()
    address = make(page)
    assert axe.in_both_themes(page, "share", size) == []
    assert page.evaluate(FITS)

    seen = open_page("/shared/" + address.partition("/shared/")[2], phone=phone, signed_in=False)
    expect(seen.get_by_role("heading", name="fix-auth-tests")).to_be_visible()
    assert seen.evaluate(FITS)
    with seen.expect_download() as download:
        seen.get_by_role("link", name="As a picture").click()
    with Image.open(download.value.path()) as picture:
        assert picture.size == (1200, 630)

    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("status").filter(has_text="Link revoked.")).to_be_visible()
    seen.reload()
    expect(seen.get_by_role("heading", name="This link has expired")).to_be_visible()


@pytest.mark.screens
def test_a_weeks_costs_are_shared_with_the_keyboard_beside_an_archived_project(open_page, person):
    made = person.ask("POST", "/api/v1/projects/", {"name": "done long ago"}).json["id"]
    person.ask("PATCH", f"/api/v1/projects/{made}/", {"archived": True})
    page = open_page("/costs")
    button = page.get_by_role("button", name="Share this week")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=re.compile("Share this week.s costs"))).to_be_visible()

    address = make(page)
    seen = open_page("/shared/" + address.partition("/shared/")[2], signed_in=False)
    expect(seen.get_by_text("Week of")).to_be_visible()

    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(button).to_be_focused()


@pytest.mark.screens
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_projects_links_are_listed_in_its_settings_and_revoked_there(
    open_page, installation, agent, person, phone
):
    size = "phone" if phone else "desktop"
    run = agent.open_run(name=f"linked on a {size}")
    person.ask("POST", "/api/v1/shares/", {"run": run})
    week = {"project": installation.project, "week": "2026-11-16"}
    person.ask("POST", "/api/v1/shares/", week)
    page = open_page("/settings", phone=phone)
    page.add_init_script(path=axe.SCRIPT)
    page.reload()
    links = page.get_by_role("region", name="Links in use")
    one = links.get_by_role("listitem").filter(has_text=f"Run linked on a {size}")
    expect(one).to_be_visible()
    expect(links.get_by_role("link", name="Costs of the week of 16 Nov").first).to_be_visible()
    assert axe.in_both_themes(page, "shared links", size) == []
    assert page.evaluate(FITS)
    assert not phone or page.evaluate(TARGETS, THUMB) == []

    one.get_by_role("button", name="Revoke").click()

    expect(links.get_by_role("status").filter(has_text="Link revoked.")).to_be_visible()
    expect(one).to_have_count(0)


@pytest.mark.screens
def test_a_card_is_shared(open_page, stuck):
    page = open_page(f"/runs/{stuck().id}")
    card = page.get_by_role("article").first

    card.get_by_role("button", name="Share this card").click()
    expect(page.get_by_role("heading", name="Share this card")).to_be_visible()
    assert "/shared/" in make(page)
