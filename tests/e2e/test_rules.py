"""The screens of rules and money: allowlist, autofixes, costs, settings."""

from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.e2e.screens import FITS


@pytest.fixture
def allowed(person, installation):
    """Put one call on the allowlist; it is taken off again."""
    pattern = f"Bash ls {uuid4().hex[:8]}"
    entry = person.ask(
        "POST", "/api/v1/allowlist/", {"project": installation.project, "pattern": pattern}
    ).json
    yield pattern
    person.ask("DELETE", f"/api/v1/allowlist/{entry['id']}/")


@pytest.fixture
def settings_kept(person, installation):
    yield
    path = f"/api/v1/projects/{installation.project}/"
    person.ask("PATCH", path, {"budgets": {"day": {}}, "unanswered": "stop"})


def test_an_entry_is_removed_by_a_second_tap(open_page, allowed):
    page = open_page("/allowlist")
    row = page.get_by_role("row").filter(has_text=allowed)

    row.get_by_role("button", name="Remove").click()
    expect(row).to_be_visible()
    row.get_by_role("button", name="now").click()

    expect(row).to_have_count(0)


@pytest.mark.screens
def test_on_a_phone_the_allowlist_is_in_the_menu_and_nothing_is_cut_off(open_page, allowed):
    page = open_page("/", phone=True)

    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Allowlist").click()

    expect(page.get_by_text(allowed)).to_be_visible()
    assert page.evaluate(FITS)


def test_costs_name_who_spent_it(open_page, agent, person):
    name = f"spender-{uuid4().hex[:6]}"
    turn = {"role": "assistant", "content": "Done.", "agent": name, "cost_usd": "1.25", "key": "a"}
    agent.post_turns(agent.open_run(name="costly", agent=name), turn, wait=60)

    page = open_page("/costs")
    expect(page.get_by_role("row").filter(has_text=name)).to_contain_text("$1.25")

    page.get_by_role("radiogroup", name="By").get_by_text("Run").click()
    expect(page.get_by_role("link", name="costly").first).to_be_visible()


def test_a_days_ceiling_is_set_and_the_rest_is_left(open_page, person, installation, settings_kept):
    page = open_page("/settings")

    page.get_by_label("Per day, all runs, dollars").fill("60")
    page.get_by_role("radiogroup", name="Then the run").get_by_text("continues").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()

    project = person.get(f"/api/v1/projects/{installation.project}/")
    assert (project["budgets"]["day"], project["unanswered"]) == ({"usd": "60"}, "proceed")


@pytest.mark.screens
def test_what_cannot_be_a_setting_is_said_and_nothing_is_saved(open_page, person, installation):
    page = open_page("/settings")
    before = person.get(f"/api/v1/projects/{installation.project}/")

    page.get_by_label("Time zone").fill("Atlantis/Capital")
    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_role("alert")).to_contain_text("Time zone")
    assert person.get(f"/api/v1/projects/{installation.project}/") == before


@pytest.mark.screens
def test_the_page_of_autofixes_says_what_recovered_means(open_page):
    page = open_page("/autofixes")

    expect(page.get_by_text("Recovered: no new trigger")).to_be_visible()
