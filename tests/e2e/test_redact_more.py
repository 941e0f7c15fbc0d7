"""An owner sees what a rule would have masked, and saves it; from then on it is masked."""

import re
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.e2e.axe import SCRIPT, in_both_themes
from tests.e2e.reach import faults_by_keyboard, too_wide_enlarged
from tests.e2e.screens import FITS


@pytest.mark.screens
@pytest.mark.parametrize("phone", [False, True])
def test_a_rule_is_tried_saved_and_kept(open_page, agent, person, phone):
    word = f"zwiebel{uuid4().hex[:8]}"
    call = {"role": "assistant", "tool": "Bash", "args": {"command": f"grep {word} log"}}
    agent.post_turns(agent.open_run(name="looks for a customer"), call, wait=60)
    page = open_page("/settings", phone=phone)
    rules = page.get_by_label("Rules", exact=True)

    rules.fill("K-*-1")
    expect(page.get_by_text("at the end only").first).to_be_visible()
    rules.fill(word)
    expect(page.get_by_text("Would have masked something in 1 turn of 1 run.")).to_be_visible()
    expect(page.locator("mark", has_text=word)).to_be_visible()
    assert page.evaluate(FITS)

    page.get_by_role("button", name="Save rules").click()
    expect(page.get_by_text("Saved. The audit log")).to_be_visible()
    run = agent.open_run(name=f"for {word}")
    assert re.fullmatch(r"for \[masked [a-p]{6}\]", person.get(f"/api/v1/runs/{run}/")["name"])

    rules.fill("")
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        page.get_by_role("button", name="Save rules").click()


@pytest.mark.screens
def test_a_preview_is_reached_by_keyboard_and_enlarged(open_page, agent):
    word = f"zwiebel{uuid4().hex[:8]}"
    call = {"role": "assistant", "tool": "Bash", "args": {"command": f"grep {word} log"}}
    agent.post_turns(agent.open_run(name="looks for another"), call, wait=60)
    page = open_page("/settings", reduced_motion="reduce")
    page.get_by_label("Rules", exact=True).fill(word)
    expect(page.locator("mark", has_text=word)).to_be_visible()

    page.evaluate(SCRIPT.read_text())
    assert in_both_themes(page, "redact more", "desktop") == []
    page.evaluate("document.body.tabIndex = -1; document.body.focus()")  # the walk's beginning
    assert faults_by_keyboard(page) == {}
    assert too_wide_enlarged(page) == []
