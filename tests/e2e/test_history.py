"""Finding runs again, the journal, and keys: in a browser, on a desk and on a phone."""

import csv
import io
import re
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import Caller, a_turn
from tests.e2e.screens import FITS
from tests.installations import wait_for

HOSTILE = "<img src=x onerror=alert(1)> =HYPERLINK('http://x')"


@pytest.fixture
def word():
    """A word that no other test says."""
    return f"w{uuid4().hex[:10]}"


@pytest.fixture
def talkative(agent, person, word):
    """Two ended runs; the result of one turn in one of them holds the word."""
    for name, result in (("ledger", f"KeyError: '{word}' in line 17"), ("docs", "done")):
        run = agent.open_run(name=f"{name} {word[:4]} {HOSTILE}", agent=f"x{word}")
        agent.post_turns(run, a_turn(result=result, cost_usd="0.25"), wait=60)
        agent.ask("PATCH", f"/api/v1/runs/{run}/", {"status": "completed"})
    wait_for(lambda: person.get(f"/api/v1/runs/?q={word}+agent:x{word}")["results"])
    return word


def fits(page):
    return page.evaluate(FITS)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_run_is_found_by_a_word_of_one_of_its_turns(open_page, talkative, phone):
    page = open_page("/history", phone=phone)

    expect(page.get_by_label("Search runs")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Search runs")).to_be_focused()
    page.keyboard.type(talkative)

    expect(page.locator("mark", has_text=talkative).first).to_be_visible()
    expect(page.get_by_role("link", name="ledger")).to_be_visible()
    expect(page.get_by_role("link", name="docs")).to_have_count(0)
    page.wait_for_url(f"**/history?q={talkative}")
    assert fits(page)


@pytest.mark.screens
def test_a_token_becomes_a_pill_and_is_dropped_again(open_page, talkative):
    page = open_page("/history")
    line = page.get_by_label("Search runs")

    line.click()
    page.keyboard.type(f"agent:x{talkative} ledger")
    drop = page.get_by_role("button", name=f"Remove agent:x{talkative}")
    expect(drop).to_be_visible()
    expect(line).to_have_value("ledger")
    expect(page.get_by_role("link", name="docs")).to_have_count(0)

    line.fill("")
    expect(page.get_by_role("link", name="docs")).to_be_visible()
    drop.click()
    expect(drop).to_have_count(0)


@pytest.mark.screens
def test_an_unreadable_search_says_what_was_expected(open_page):
    page = open_page("/history?q=cost:much")

    expect(page.get_by_text("cost: expected")).to_be_visible()


def test_a_view_is_saved_shared_by_link_and_deleted(open_page, talkative):
    page = open_page(f"/history?q=agent:x{talkative}")
    page.get_by_role("button", name="Save this view").click()
    page.get_by_label("Name of the view").fill(f"View {talkative[:5]}")
    page.keyboard.press("Enter")
    chip = page.get_by_role("link", name=f"View {talkative[:5]}")
    expect(chip).to_have_attribute("aria-current", "true")

    other = open_page(chip.get_attribute("href"))
    expect(other.get_by_role("link", name="ledger")).to_be_visible()

    page.get_by_role("button", name="Delete the view").click()
    expect(chip).to_have_count(0)


def test_an_export_takes_the_filter_with_it(open_page, talkative):
    page = open_page(f"/history?q=agent:x{talkative}")

    with page.expect_download() as waiting:
        page.get_by_role("link", name="Export these runs as CSV").click()

    text = waiting.value.path().read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == 2
    assert {row["agent"] for row in rows} == {f"x{talkative}"}


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_journal_row_opens_to_before_and_after(open_page, person, installation, phone):
    path = f"/api/v1/projects/{installation.project}/"
    person.ask("PATCH", path, {"hold_limit": 1234})
    person.ask("PATCH", path, {"hold_limit": 3600})
    page = open_page("/audit?view=people", phone=phone)
    expect(page.get_by_text("Audit log verified.")).to_be_visible()

    row = page.get_by_role("listitem" if phone else "row").filter(has_text="changed hold limit")
    row.first.get_by_role("button").click()

    expect(page.locator(".well", has_text="before")).to_contain_text("1234")
    expect(page.locator(".well", has_text="after")).to_contain_text("3600")
    assert fits(page)


@pytest.mark.screens
def test_the_audit_filters_are_in_the_address(open_page, person, installation):
    person.ask("PATCH", f"/api/v1/projects/{installation.project}/", {"hold_limit": 3600})
    page = open_page("/audit")

    page.get_by_label("When").select_option("day")
    page.get_by_role("button", name="People").click()

    page.wait_for_url("**/audit?view=people&when=day")
    page.reload()
    expect(page.get_by_label("When")).to_have_value("day")


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_the_scope_of_a_key_is_chosen_at_creation_and_shown(open_page, installation, phone):
    name = f"key {uuid4().hex[:6]}"
    page = open_page("/settings/keys", phone=phone)
    expect(page.get_by_role("radio", name="its own runs")).to_be_checked()
    page.get_by_label("Name of the key").fill(name)
    page.get_by_text("one agent", exact=True).click()
    page.get_by_label("Name of the agent").fill("reviewer")
    page.get_by_role("button", name="Create key").click()
    secret = page.locator(".made code").inner_text()
    agent = Caller(installation.url, {"Authorization": f"Bearer {secret}"})

    expect(page.get_by_role("listitem").filter(has_text=name)).to_contain_text("runs of reviewer")
    assert agent.ask("POST", "/api/v1/runs/", {"agent": "coder"}).status == 403
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_key_is_shown_once_works_and_is_revoked(open_page, installation, phone):
    name = f"key {uuid4().hex[:6]}"
    page = open_page("/settings/keys", phone=phone)
    page.get_by_label("Name of the key").fill(name)
    page.get_by_role("button", name="Create key").click()
    secret = page.locator(".made code").inner_text()
    agent = Caller(installation.url, {"Authorization": f"Bearer {secret}"})
    assert agent.ask("POST", "/api/v1/runs/", {"name": "by a new key"}).status == 201

    page.get_by_role("button", name="Done").click()
    expect(page.get_by_text(secret)).to_have_count(0)
    page.get_by_role("button", name=f"Revoke {name}", exact=True).click()
    page.get_by_role("button", name=f"Revoke {name} now").click()

    expect(page.get_by_role("button", name=f"Revoke {name}")).to_have_count(0)
    expect(page.get_by_text("Revoked and expired")).to_be_visible()
    assert agent.ask("POST", "/api/v1/runs/", {"name": "refused"}).status == 401
    assert fits(page)


@pytest.mark.screens
def test_the_instance_says_that_its_parts_work(open_page):
    page = open_page("/settings/instance")

    for part in ("Database", "Broker", "Worker"):
        expect(page.get_by_role("listitem").filter(has_text=part)).to_contain_text("OK")


@pytest.fixture
def priced(agent, person, word):
    """Three ended runs of one agent, each dearer than the one before."""
    for name, cost in (("cheap", "0.10"), ("dear", "9.50"), ("middling", "1.20")):
        run = agent.open_run(name=f"{name} {word[:4]}", agent=f"x{word}")
        agent.post_turns(run, a_turn(cost_usd=cost), wait=60)
        agent.ask("PATCH", f"/api/v1/runs/{run}/", {"status": "completed"})
    found = f"/api/v1/runs/?q=agent:x{word}"
    wait_for(lambda: len(person.get(found)["results"]) == 3)
    return f"agent:x{word}"


def listed(page):
    return page.get_by_role("link", name=re.compile("cheap|dear|middling"))


@pytest.mark.screens
def test_a_column_sorts_the_list_and_the_address_keeps_it(open_page, priced):
    page = open_page(f"/history?q={priced}")
    expect(listed(page)).to_have_text([re.compile(n) for n in ("middling", "dear", "cheap")])

    head = page.get_by_role("columnheader", name="Cost")
    head.get_by_role("button").click()
    expect(listed(page)).to_have_text([re.compile(n) for n in ("dear", "middling", "cheap")])
    expect(head).to_have_attribute("aria-sort", "descending")

    head.get_by_role("button").click()
    expect(listed(page)).to_have_text([re.compile(n) for n in ("cheap", "middling", "dear")])
    page.reload()
    expect(listed(page)).to_have_text([re.compile(n) for n in ("cheap", "middling", "dear")])


@pytest.mark.screens
def test_on_a_phone_the_list_is_sorted_by_a_choice(open_page, priced):
    page = open_page(f"/history?q={priced}", phone=True)
    page.get_by_label("Sort by").select_option("Cost")

    expect(listed(page)).to_have_text([re.compile(n) for n in ("dear", "middling", "cheap")])
    assert fits(page)
