"""The screens in German: no English is left. That nothing is cut off, test_every_screen.py sees."""

import json
import re
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.e2e.people import an_owner, as_caller
from tests.e2e.screens import FITS, screens, stands
from tests.e2e.stuck import several_stuck

pytestmark = pytest.mark.screens

# What agents, judges and machines wrote is a record and stays as it is; so do names and codes,
# which a screen sets apart by <bdi>, whoever's test told of them on the shared board.
RECORDS = "bdi, code, kbd, pre, .well, textarea"
ENGLISH = re.compile(
    r"\b(the|and|of|with|this|that|is|are|not|none|open|held|run|runs|turn|turns|cost|costs|"
    r"last|by|from|to|for|it|spent|burning|nothing|search|settings|save|close|more)\b",
    re.IGNORECASE,
)
SAID = f"""() => {{
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {{
    const inside = node.parentElement;
    if (inside.closest({RECORDS!r}) || !inside.checkVisibility()) continue;
    if (node.data.trim()) texts.push(node.data.trim());
  }}
  return texts;
}}"""

LINES = """(head) => {
  const tops = [...head.children].map((one) => {
    const { top, height } = one.getBoundingClientRect();
    return Math.round((top + height / 2) / 10);
  });
  return new Set(tops).size;
}"""
"""On how many lines the parts of a screen's head stand."""


@pytest.fixture(scope="module")
def stuck_run(installation):
    with several_stuck(installation, "nachts", count=2) as first:
        yield first


@pytest.fixture
def visit(open_page, stuck_run):
    addresses = screens(run=stuck_run.id, decision=stuck_run.card["id"])

    def visit_one(name):
        page = open_page(addresses[name], phone=True, locale="de-DE")
        return stands(page, name, loading="Wird geladen")

    return visit_one


def test_cards_are_selected_on_a_german_phone_without_overflow(visit):
    page = visit("decisions")
    assert page.locator("header").evaluate(LINES) == 1
    page.get_by_role("button", name="Wählen").tap()

    expect(page.get_by_role("button", name="Fertig")).to_be_visible()
    assert page.evaluate(FITS)


@pytest.mark.parametrize("name", ["now", "decisions", "settings keys", "settings members"])
def test_german_texts_fit_the_smallest_phone(visit, name):
    page = visit(name)
    as_ever = page.locator("header.head").bounding_box()["height"]
    page.set_viewport_size({"width": 320, "height": 700})

    assert page.locator("header.head").bounding_box()["height"] == as_ever
    assert page.evaluate(FITS)


def test_a_form_fits_a_phone_at_twice_the_size(open_page, installation):
    page = open_page("/login/", signed_in=False, phone=True, locale="de-DE")
    cookies = an_owner(installation, f"Ana {uuid4().hex[:6]}").items()
    page.context.add_cookies(
        [{"name": name, "value": value, "url": installation.url} for name, value in cookies]
    )
    page.goto(f"{installation.url}/settings/keys")
    expect(page.get_by_label("Name des Tokens")).to_be_visible()
    another = {"name": "demo-npm-minded"}
    assert as_caller(page, installation).ask("POST", "/api/v1/projects/", another).status == 201
    page.set_viewport_size({"width": 195, "height": 422})
    page.reload()

    expect(page.get_by_role("combobox", name="Projekt").last).to_be_visible()
    assert page.evaluate(FITS)


@pytest.mark.parametrize("name", ["now", "decisions", "decision", "run", "settings", "lost"])
def test_no_english_is_left(visit, stuck_run, name):
    page = visit(name)
    expect(page.locator("html")).to_have_attribute("lang", "de")

    verdict, evidence = stuck_run.card["verdict"], stuck_run.card["evidence"]
    # What is sent to the agent is shown as it is sent; who wrote it wrote English.
    records = [stuck_run.name, verdict["fix"] or stuck_run.name, *evidence["calls"]]
    texts = page.evaluate(SAID)
    mine = [text for text in texts if not any(record[:30] in text for record in records)]
    assert [text for text in mine if ENGLISH.search(text)] == []


def test_a_language_is_chosen_for_this_device_and_kept(open_page):
    page = open_page("/settings/device")
    expect(page.locator("html")).to_have_attribute("lang", "en")

    page.get_by_role("radiogroup", name="Language").get_by_text("Deutsch").click()
    expect(page.get_by_role("heading", name="Dieses Gerät", exact=True)).to_be_visible()
    page.reload()

    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.get_by_role("link", name="Entscheidungen").first).to_be_visible()


def test_a_refusal_of_the_server_is_shown_in_german(open_page):
    page = open_page("/settings/channels", locale="de-DE")
    page.get_by_role("button", name="Kanal hinzufügen").click()
    page.get_by_role("radiogroup", name="Art").get_by_text("Webhook").click()
    page.get_by_label("Name").fill("nachts")
    page.get_by_label("Adresse").fill("http://example.com")
    page.get_by_role("button", name="Kanal hinzufügen").last.click()

    expect(page.get_by_role("alert")).to_have_text("Die Adresse muss mit https:// beginnen.")


def test_a_refused_answer_is_reported_in_german(open_page, stuck_run):
    page = open_page(f"/runs/{stuck_run.id}", locale="de-DE")
    page.route(
        "**/interventions/",
        lambda route: route.continue_(
            post_data=json.dumps(route.request.post_data_json | {"version": 99})
        ),
    )

    page.get_by_role("button", name=re.compile("^Weiter")).click()

    notice = page.get_by_text("Die Antwort wurde nicht gesendet.")
    expect(notice).to_contain_text("Der Lauf ist inzwischen weiter.")
