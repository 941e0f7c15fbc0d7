"""What a run did, in plain words at the top of its page."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn
from tests.e2e.axe import SCRIPT, in_both_themes
from tests.e2e.conftest import BARE
from tests.e2e.screens import FITS

pytestmark = pytest.mark.screens


def called(tool, result, **args):
    return {"role": "assistant", "tool": tool, "args": args, "result": result}


@pytest.fixture
def worked(agent):
    """Return a run that was asked something, changed a file, tested and committed."""
    run = agent.open_run(name="summed-up", goal="Fix the login")
    agent.post_turns(
        run,
        {"role": "user", "content": "Fix the login"},
        called("Read", "def login(): ...", file_path="app/login.py"),
        called("Edit", "edited", file_path="app/login.py", old_string="a", new_string="b"),
        a_turn("pytest -q", result="2 failed, 1 passed in 0.2s"),
        called("Edit", "edited", file_path="app/login.py", old_string="b", new_string="c"),
        a_turn("pytest -q", result="3 passed in 0.2s"),
        a_turn("git commit -am 'Fix login'", result="[main 1f2e3d4] Fix login"),
    )
    return run


def summary_on(page):
    return page.get_by_role("region", name="What happened")


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_what_a_run_did_is_said_and_each_claim_leads_to_its_turn(open_page, worked, phone):
    page = open_page(f"/runs/{worked}", phone=phone, reduced_motion="reduce")

    expect(summary_on(page)).to_contain_text("Fix the login")
    for claim in ("1 file changed", "app/login.py \u00d72", "the last tests passed", "1 commit"):
        expect(summary_on(page).get_by_text(claim, exact=True)).to_be_visible()
    assert page.evaluate(FITS)
    page.evaluate(SCRIPT.read_text())
    assert in_both_themes(page, "summary", "phone" if phone else "desktop") == []

    summary_on(page).get_by_role("link", name="the last tests passed, turn 6").click()
    expect(page).to_have_url(f"{page.url.split('/runs/')[0]}/runs/{worked}/turns/5")
    expect(page.locator("#turn-5")).to_be_in_viewport()


def test_its_rows_stand_before_what_is_in_them_has_come(open_page, worked):
    page = open_page(BARE)
    held = []
    # No method of a list: Playwright marks what it calls.
    page.route("**/summary/**", lambda route: held.append(route))  # noqa: PLW0108 - see above
    with page.expect_request("**/summary/**"):
        page.goto(page.url.replace(BARE, f"/runs/{worked}"))
    names = summary_on(page).get_by_role("term")
    expect(names).to_have_text(["Status", "Asked", "In all"])

    held[0].continue_()

    expect(summary_on(page)).to_contain_text("1 commit")
    expect(names).to_have_text(["Status", "Asked", "In all"])


def test_it_follows_the_run(open_page, agent, worked):
    page = open_page(f"/runs/{worked}")
    expect(summary_on(page)).to_contain_text("the last tests passed")

    agent.post_turns(worked, a_turn("pytest -q", result="4 failed in 0.2s"))
    expect(summary_on(page)).to_contain_text("the last tests failed: 4 failures")
    expect(summary_on(page).get_by_role("link", name="passed before, turn 6")).to_be_visible()


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_it_says_what_a_held_run_waits_for(open_page, stuck, phone):
    run = stuck()
    page = open_page(f"/runs/{run.id}", phone=phone)

    expect(summary_on(page)).to_contain_text("It ran the same test 2 times")


def test_it_says_who_paused_a_run_and_until_when(open_page, agent, person, worked):
    person.tap(worked, "pause")
    page = open_page(f"/runs/{worked}")
    expect(summary_on(page)).to_contain_text("You paused it at")
    expect(summary_on(page)).to_contain_text("stops automatically at")

    person.tap(worked, "continue", version=person.get(f"/api/v1/runs/{worked}/")["version"])
    expect(summary_on(page)).not_to_contain_text("paused it")


def test_a_young_run_says_what_it_did_in_its_last_ten_minutes(open_page, agent):
    run = agent.open_run(name="young")
    half_an_hour_ago = (datetime.now(UTC) - timedelta(minutes=30)).isoformat()
    agent.post_turns(
        run,
        a_turn("pytest -q", result="3 passed in 0.2s", ts=half_an_hour_ago),
        a_turn("pytest -q tests", result="3 passed in 0.2s"),
    )
    page = open_page(f"/runs/{run}")

    expect(summary_on(page)).to_contain_text("Last 10 min")
