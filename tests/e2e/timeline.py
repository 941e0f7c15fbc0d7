"""A run's turns on its page: where they stand, how a person goes through them."""

import subprocess
import sys

from playwright.sync_api import expect

from tests.e2e.screens import FITS
from tests.installations import ROOT, wait_for

ROWS = "document.querySelectorAll('[id^=turn-]').length"


def seeded(installation, agent, turns):
    """Open a run and give it a past; returns its id."""
    run = agent.open_run(name="migrate-orm-v2", budget={"usd": "60"})
    fill_up(installation, run, turns)
    return run


def fill_up(installation, run, turns, *first):
    fill = [sys.executable, "-m", "tests.long_run", run, str(turns), *map(str, first)]
    subprocess.run(fill, cwd=ROOT, env=installation.own_environment(), check=True)


def record(page):
    return page.get_by_role("region", name="Turns", exact=True)


def row(page, seq):
    return page.locator(f"#turn-{seq}")


def in_sight(page, seq):
    expect(row(page, seq)).to_be_in_viewport()


RESTS = """async (phone) => {
  const rests = () => {
    const { key, delta } = history.state.standing;
    const top = phone ? 0 : document.querySelector(".record").getBoundingClientRect().top;
    const row = document.querySelector(`[data-key="${key}"]`);
    return Math.abs(row?.getBoundingClientRect().top - top + delta) < 1;
  };
  const frame = () => new Promise(requestAnimationFrame);
  return rests() && (await frame(), await frame(), rests());
}"""
"""Whether the list stands where it noted that it came to rest, and still does two frames later."""
STANDING = "history.state?.standing"


def scroll(page, phone, pixels):
    """Scroll as a person does, by the wheel, until the page has noted where that led."""
    before = page.evaluate(STANDING)
    hover(page, phone)
    page.mouse.wheel(0, pixels)
    wait_for(lambda: page.evaluate(STANDING) != before and page.evaluate(RESTS, phone))


def hover(page, phone):
    """Point at the list, which brings what is pointed at into the window."""
    (page.locator(".turns").first if phone else record(page)).hover()


def follow(page, path):
    """Go to an address of ours as a link or a tapped notification does."""
    page.evaluate(
        """path => { const link = document.createElement("a"); link.href = path;
        document.body.append(link); link.click(); link.remove(); }""",
        path,
    )


def no_page_is_cut(page):
    return page.evaluate(FITS)
