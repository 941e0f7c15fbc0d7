"""A pattern is put on the allowlist by hand, after one has seen what it would have matched."""

from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.e2e.screens import FITS


@pytest.fixture
def command(agent):
    """A command that one run made twice, and no other run."""
    name = f"make-{uuid4().hex[:8]}"
    run = agent.open_run(name="builds")
    call = {"role": "assistant", "tool": "Bash", "result": "ok"}
    for n, more in enumerate(("", " --force")):
        agent.post_turns(run, {**call, "args": {"command": name + more}, "key": str(n)}, wait=60)
    return name


@pytest.mark.screens
@pytest.mark.parametrize("phone", [False, True])
def test_a_pattern_is_previewed_then_added_then_undone(open_page, command, phone):
    page = open_page("/allowlist", phone=phone)
    page.get_by_role("button", name="Add a pattern").click()
    call = page.get_by_label("Call", exact=True)

    call.fill(command)
    expect(page.get_by_text("Matches none of the")).to_be_visible()
    expect(page.get_by_role("button", name=f'Use Bash {{"command":"{command}"}}')).to_be_visible()
    call.fill(f"Bash *{command}*")
    expect(page.get_by_text("Would have matched 2 calls in 1 run.")).to_be_visible()
    assert page.evaluate(FITS)

    page.get_by_role("button", name="Add to allowlist").click()
    added = page.get_by_role("status").filter(has_text=command)
    expect(added).to_be_visible()
    expect(page.get_by_text(f"Bash *{command}*", exact=True)).to_be_visible()

    added.get_by_role("button", name="Undo").click()
    expect(page.get_by_text(f"Bash *{command}*", exact=True)).to_have_count(0)


@pytest.mark.screens
def test_a_frequent_call_is_picked_instead_of_typed(open_page, command):
    page = open_page("/allowlist")
    page.get_by_role("button", name="Add a pattern").click()
    page.get_by_label("Call", exact=True).fill(f"{command} --force")

    page.get_by_role("button", name=f'Use Bash {{"command":"{command} --force"}}').click()

    expect(page.get_by_text("Would have matched 1 call in 1 run.")).to_be_visible()
    expect(page.get_by_text("Without * it also allows")).to_be_visible()
