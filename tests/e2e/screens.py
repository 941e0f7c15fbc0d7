"""Every screen there is, by name and address: read from the front end's own routes.

A new word in `route.ts` or page in `settingsPages.ts` is here by itself; a new kind of
address must be given an example below, or `test_every_screen.py` fails.
"""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.installations import ROOT

SOURCES = ROOT / "frontend" / "src"

FITS = "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.documentElement)"
"""Nothing is wider than the screen. Not `innerWidth`: a phone's grows with what is too wide."""

WITH_CARDS = {"now", "decisions", "decision", "run"}
"""Where a held run stands as a card."""


def examples(*, run: str, decision: str) -> dict[str, str]:
    """Return an address for each kind of route that has something behind its word."""
    return {
        "now": "/",
        "decisions": "/decisions",
        "decision": f"/decisions/{decision}",
        "run": f"/runs/{run}",
        "reports": "/reports",
        "compare with": f"/compare?a={run}",
        "compare two": f"/compare?a={run}&b={run}",
        "lost": "/no/such/page",
    }


def screens(*, run: str, decision: str) -> dict[str, str]:
    """Return the address of every screen by its name."""
    flat = {name: f"/{name}" for name in flat_routes()}
    settings = {
        f"settings {slug}".strip(): f"/settings/{slug}".rstrip("/") for slug in settings_pages()
    }
    return examples(run=run, decision=decision) | flat | settings


def stands(page: Page, name: str, *, loading: str = "Loading") -> Page:
    """Wait until a screen stands: its title, its cards, nothing that is still `loading`.

    Parts that are fetched after the screen itself (a run's summary) push down what is below.
    """
    page.locator("h1").first.wait_for()
    page.wait_for_load_state("networkidle")
    if name in WITH_CARDS:
        page.get_by_role("article").first.wait_for()
    expect(page.get_by_role("status", name=loading)).to_have_count(0)
    if name == "audit":  # its check is made as it opens
        checking = page.locator("main button:disabled", has_text=re.compile("Verify|rüfen"))
        expect(checking).to_have_count(0)
    return page


def flat_routes() -> list[str]:
    """Return the screens whose address is one word."""
    listed = re.search(r"const FLAT = \[(.*?)\]", _source("route.ts"), re.DOTALL)
    assert listed, "route.ts has no FLAT"
    return list(re.findall(r'"(\w+)"', listed[1]))


def route_kinds() -> set[str]:
    """Return the names of all routes of `route.ts`, flat or not."""
    union = re.search(r"export type Route =(.*?);\n\n", _source("route.ts"), re.DOTALL)
    assert union, "route.ts has no Route"
    return set(re.findall(r'name: "(\w+)"', union[1])) | set(flat_routes())


def settings_pages() -> list[str]:
    """Return the word behind `/settings/` of each of its pages; the first has none."""
    slugs = re.findall(r'\{\s*slug: "([\w-]*)"', _source("views/settings/settingsPages.ts"))
    assert "" in slugs, "settingsPages.ts lists no first page"
    return slugs


def _source(path: str) -> str:
    return (SOURCES / path).read_text()
