"""Hostile turns in a browser: text stays text, what is huge is cut."""

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn, an_agent_of, the_person_of
from tests.e2e.timeline import no_page_is_cut, row
from tests.installations import wait_for

pytestmark = pytest.mark.screens
HOSTILE = {
    "script": "<script>document.title='x'</script><img src=x onerror=\"document.title='x'\">",
    "turned": "safe\u202egpj.exe",
    "controls": "\u001b[31mred\u0007\u0000\u200b",
    "template": "{@html '<b>x</b>'} {{7*7}} ${7*7}",
    "wide": "W" * 5_000,
}


@pytest.fixture(scope="module")
def hostile_run(installation):
    """A run whose every field is somebody's attack."""
    agent, person = an_agent_of(installation), the_person_of(installation)
    run = agent.open_run(name=HOSTILE["script"])
    for text in HOSTILE.values():
        turn = {
            "role": "assistant",
            "tool": text[:190],
            "args": {text[:190]: text, "command": text},
            "content": text,
            "result": text,
            "error": text,
            "files": [text],
            "agent": text[:90],
            "model": text[:90],
            "state": text[:190],
            "key": text[:150],
        }
        assert agent.post_turns(run, turn, wait=60).status == 200
    agent.post_turns(run, a_turn("big", result="R" * 1_000_000), wait=60)
    wait_for(lambda: person.get(f"/api/v1/runs/{run}/")["turns"] == len(HOSTILE) + 1)
    if person.card_of(run):
        person.tap(run, "continue")
    return run


@pytest.mark.parametrize("phone", [False, True])
def test_hostile_text_is_text_and_breaks_nothing(open_page, installation, hostile_run, phone):
    page = open_page("/no/such/page", phone=phone)
    for seq in range(len(HOSTILE) + 1):
        page.goto(f"{installation.url}/runs/{hostile_run}/turns/{seq}")
        if phone:
            row(page, seq).click()
        expect(
            page.get_by_text("Copy link").or_(page.get_by_label("Copy link to this turn")).first
        ).to_be_visible()
        page.get_by_text("JSON", exact=True).click()
        expect(page.get_by_role("region", name="JSON")).to_be_visible()

        assert page.title() != "x"
        assert page.locator("img[src=x]").count() == 0
        assert "\u202e" not in page.locator("main").inner_text()
        assert no_page_is_cut(page)


def test_a_million_signs_are_cut_and_read_when_asked_for(open_page, hostile_run):
    page = open_page(f"/runs/{hostile_run}/turns/{len(HOSTILE)}")
    detail = page.get_by_role("region", name=f"Turn {len(HOSTILE) + 1} in full")
    expect(detail).to_contain_text("Only the beginning")

    detail.get_by_role("button", name="Show all").click()

    expect(detail.get_by_text("Only the beginning")).to_have_count(0)
    assert len(detail.inner_text()) >= 1_000_000


def test_a_search_for_markup_finds_it(open_page, hostile_run):
    page = open_page(f"/runs/{hostile_run}?q={quote('<script>')}")

    expect(page.get_by_role("search").get_by_role("status")).to_have_text("1 match")
