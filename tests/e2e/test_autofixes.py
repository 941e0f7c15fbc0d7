"""What was injected without a tap, and what the agent did before it and after."""

import os
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.axe import SCRIPT, in_both_themes
from tests.e2e.reach import TARGETS, THUMB, faults_by_keyboard, too_wide_enlarged
from tests.installations import wait_for

pytestmark = pytest.mark.screens

PICTURES = os.environ.get("AUTOFIX_PICTURES")
"""A folder in which the screens are kept, to be looked at."""


@pytest.fixture
def corrected(agent, person):
    """A run that was corrected by itself and went on; returns its name."""
    name = f"corrected {uuid4().hex[:6]}"
    run = agent.open_run(name=name, mode="auto", workspace=["src/token.py", "README.md"])
    read = {"tool": "Read", "args": {"file_path": "src/tokens.py"}}
    for _ in range(2):
        agent.post_turns(run, a_turn(error="File does not exist: src/tokens.py", **read))
    agent.post_turns(run, a_turn(phase="proposed", **read))
    fixes = "/api/v1/autofixes/"
    wait_for(lambda: [fix for fix in person.get(fixes)["results"] if fix["run"] == run])
    found = {"tool": "Read", "args": {"file_path": "src/token.py"}}
    agent.post_turns(run, a_turn(result="class Token: ...", **found))
    return name


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
def test_a_fix_is_shown_between_the_turns_before_and_after_it(open_page, corrected, phone, locale):
    page = open_page("/autofixes", phone=phone, locale=locale, reduced_motion="reduce")
    before, after, both = {
        "en-GB": ("Before the fix", "After the fix", "Before and after"),
        "de-DE": ("Vor der Korrektur", "Nach der Korrektur", "Vorher und nachher"),
    }[locale]
    row = page.get_by_role("listitem").filter(has=page.get_by_role("link", name=corrected))

    row.get_by_text(both).click()

    expect(row.get_by_role("region", name=before).get_by_text("Read src/tokens.py")).to_have_count(
        3
    )
    expect(row.get_by_role("region", name=after).get_by_text("src/token.py")).to_be_visible()
    page.evaluate(SCRIPT.read_text())
    size = "phone" if phone else "desktop"
    assert in_both_themes(page, f"autofixes opened {locale}", size) == []
    for scheme in ("dark", "light") if PICTURES else ():
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=Path(PICTURES) / f"autofixes-{locale}-{size}-{scheme}.png")
    assert not phone or page.evaluate(TARGETS, THUMB) == []
    assert too_wide_enlarged(page) == []


def test_before_and_after_are_reached_by_keyboard(open_page, corrected):
    page = open_page("/autofixes", reduced_motion="reduce")
    expect(page.get_by_role("link", name=corrected)).to_be_visible()

    assert faults_by_keyboard(page) == {}
