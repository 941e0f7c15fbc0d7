"""Who walks by Tab, or enlarges the page, still gets everywhere: what is in their way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Page

from tests.e2e.screens import FITS

MOST_STEPS = 500
# A group of radio buttons is one stop; its own arrows go through it.
WALK = """() => {
  window.walked = new Set();
  const groupOf = (one) => one.matches("input[type=radio]") ? `radio ${one.name}` : one;
  window.excerpt = (one) => one.outerHTML.replace(/<svg.*?<\\/svg>/g, "").slice(0, 160);
  window.stepped = () => {
    const at = document.activeElement;
    if (!at || at === document.body || window.walked.has(groupOf(at))) return null;
    window.walked.add(groupOf(at)).add(window.excerpt(at));
    return { what: window.excerpt(at), ring: isRinged(at), seen: isSeen(at), native: isNative(at) };
  };
  const outlined = ({ outlineStyle, outlineWidth }) =>
    outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
  const isRinged = (at) => [at, at.parentElement, at.closest("label"), at.nextElementSibling]
    .some((one) => one && [null, "::after"].some((part) => outlined(getComputedStyle(one, part))));
  const isSeen = (at) => {
    const aimed = at.closest("label") ?? at;
    const { left, right, top, bottom } = aimed.getBoundingClientRect();
    const x = (Math.max(0, left) + Math.min(innerWidth, right)) / 2;
    const y = (Math.max(0, top) + Math.min(innerHeight, bottom)) / 2;
    const there = document.elementFromPoint(x, y);
    return there !== null && (aimed.contains(there) || there.contains(aimed));
  };
  const NATIVE = "button, a[href], input, select, textarea, summary";
  const ACTS = "[role=button], [role=link], [role=checkbox], [role=menuitem], [role=tab]";
  const isNative = (at) => at.matches(NATIVE) || !at.matches(ACTS);
  window.left = () => [...document.querySelectorAll(`${NATIVE}, [tabindex]`)].filter((one) =>
    one.tabIndex >= 0 && !one.disabled && !one.closest("[inert], [data-row]")
    && one.checkVisibility({ visibilityProperty: true })
    && !window.walked.has(groupOf(one)) && !window.walked.has(window.excerpt(one)))
    .map(window.excerpt);
  // What looks as if it could be clicked, with nothing in or around it that takes the focus.
  // Dragging over a run's strip has buttons beside it for who uses keys.
  window.pointerOnly = () => [...document.querySelectorAll("body *")].filter((one) =>
    one.checkVisibility() && getComputedStyle(one).cursor === "pointer"
    && !one.closest(`${NATIVE}, label, [tabindex="0"], .strip`)
    && !one.querySelector(`${NATIVE}, [tabindex="0"]`)).map(window.excerpt);
}"""
THUMB = [44]
"""Pixels that a finger needs, each way."""
# What a thumb or a pointer aims at; links within a sentence are as tall as their line.
TARGETS = """([least]) => {
  const all = [...document.querySelectorAll("button, select, input, textarea, summary, a[href]")];
  const seen = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    && !one.closest(".skip, .seen-by-readers, .away, .otherwise:not(:focus-within)")
    && !(one.matches("a") && getComputedStyle(one).display === "inline");
  const aimedAt = (one) => one.matches("input") ? one.closest("label") ?? one : one;
  const excerpt = (one) => {
    const { width, height } = one.getBoundingClientRect();
    const small = width > 0 && (Math.round(width) < least || Math.round(height) < least);
    return small ? [`${width.toFixed()} x ${height.toFixed()} ${one.outerHTML.slice(0, 120)}`] : [];
  };
  return all.filter(seen).map(aimedAt).filter((one) => one !== null).flatMap(excerpt);
}"""
TOO_WIDE = """() => {
  const scrolls = (one) => one !== null && (scrolls(one.parentElement)
    || ["auto", "scroll"].includes(getComputedStyle(one).overflowX) && one.localName !== "html");
  const out = (one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
  const all = [...document.querySelectorAll("main *")].filter(out);
  const excerpt = (found) => found.map((one) => one.outerHTML.slice(0, 120)).slice(0, 4);
  // Where the page itself is clipped, nothing scrolls to what stands out of it.
  const cut = all.filter((one) => one.matches(".panel, article, section, ul, .btn"))
    .filter((one) => !scrolls(one.parentElement));
  return document.documentElement.scrollWidth > document.documentElement.clientWidth
    ? ["wider than the screen", ...excerpt(all)] : excerpt(cut);
}"""
# A list of so few lines that nobody finds what is below them.
SLITS = """() => [...document.querySelectorAll("main *")].filter((one) => one.checkVisibility()
    && ["auto", "scroll"].includes(getComputedStyle(one).overflowY)
    && one.clientHeight < 120 && one.scrollHeight > one.clientHeight + 1)
  .map((one) => `${one.clientHeight} of ${one.scrollHeight}: ${one.outerHTML.slice(0, 120)}`)"""
# A table's column that shows the first letters of its words.
STUBS = """() => [...document.querySelectorAll("main td, main th")].filter((one) =>
    one.checkVisibility() && one.clientWidth < 64 && one.scrollWidth > one.clientWidth + 1)
  .map((one) => `${one.clientWidth} of ${one.scrollWidth}: ${one.textContent.trim()}`)"""
CUT_OFF = """() => [...document.querySelectorAll("button, a.btn, .tabbar a, .chip, .seg label")]
  .filter((one) => one.checkVisibility())
  .filter((one) => !one.closest(".skip, .seen-by-readers, .otherwise:not(:focus-within)"))
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.textContent.trim().slice(0, 60))"""


def walk(page: Page) -> list[dict[str, Any]]:
    """Press Tab until the round is done; return each stop."""
    page.evaluate(WALK)
    stops: list[dict[str, Any]] = []
    while len(stops) < MOST_STEPS:
        page.keyboard.press("Tab")
        stop = page.evaluate("window.stepped()")
        if stop is None:
            break
        stops.append(stop)
    return stops


def faults_by_keyboard(page: Page) -> dict[str, list[str]]:
    """Walk a screen; return what is in the way of who has no pointer."""
    stops = walk(page)
    faults = {
        "has the focus and no ring": [one["what"] for one in stops if not one["ring"]],
        "has the focus out of sight": [one["what"] for one in stops if not one["seen"]],
        "acts by pointer alone": [one["what"] for one in stops if not one["native"]]
        + page.evaluate("window.pointerOnly()"),
        "was never reached": page.evaluate("window.left()"),
    }
    return {fault: found for fault, found in faults.items() if found}


def too_wide_enlarged(page: Page) -> list[str]:
    """Enlarge a page to 320 pixels, and to 200 % of a desk's; return what stands out of it."""
    page.set_viewport_size({"width": 320, "height": 640})
    narrow: list[str] = page.evaluate(TOO_WIDE)
    # 1440 pixels at 200 % are 720 wide and half as high.
    page.set_viewport_size({"width": 720, "height": 450})
    return [*narrow, *page.evaluate(TOO_WIDE)]


# Words of ours that are wider than what holds them, and cut there; a strip that scrolls is no hold.
CUT_WORDS = """() => [...document.querySelectorAll("main *, nav *")].filter((one) =>
    one.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    && [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim())
    && !one.closest(".seen-by-readers, .skip, svg, .words")
    && ["hidden", "clip"].includes(getComputedStyle(one).overflowX)
    && getComputedStyle(one).textOverflow !== "ellipsis"
    && one.scrollWidth > one.clientWidth + 1)
  .map((one) => `${one.clientWidth} of ${one.scrollWidth}: ${one.textContent.trim()}`)"""
LARGE_TEXT, USUAL_TEXT = 32, 16
"""Pixels that a browser's own setting gives its text: twice the usual size, and the usual."""


@contextmanager
def text_of(page: Page, pixels: int) -> Iterator[None]:
    """Set the browser's own text size, as its settings do; the page's zoom stays."""
    wire = page.context.new_cdp_session(page)
    sizes = {"standard": pixels, "fixed": pixels}
    wire.send("Page.setFontSizes", {"fontSizes": sizes})
    try:
        yield
    finally:
        wire.send("Page.setFontSizes", {"fontSizes": dict.fromkeys(sizes, USUAL_TEXT)})
        wire.detach()


def too_wide_in_large_text(page: Page) -> list[str]:
    """Set a browser's text to twice its size; return what is ignored, cut or out of the screen."""
    with text_of(page, LARGE_TEXT):
        page.wait_for_function(
            "(size) => getComputedStyle(document.documentElement).fontSize === `${size}px`",
            arg=LARGE_TEXT,
            timeout=5_000,
        )
        # The layouts change over by the same size.
        page.wait_for_load_state("networkidle")
        return [
            *page.evaluate(TOO_WIDE),
            *overflowing(page),
            *page.evaluate(CUT_WORDS),
        ]


def cramped_on_its_side(page: Page) -> list[str]:
    """Turn a phone on its side; return what is out of the screen there, or shows through a slit."""
    page.set_viewport_size({"width": 844, "height": 390})
    return [*page.evaluate(TOO_WIDE), *page.evaluate(SLITS)]


def cramped_on_a_tablet(page: Page) -> list[str]:
    """Hold a tablet upright; return what is out of the screen there, or stunted."""
    page.set_viewport_size({"width": 768, "height": 1024})
    return [*page.evaluate(TOO_WIDE), *page.evaluate(STUBS)]


def overflowing(page: Page) -> list[str]:
    """Return what does not fit: the page itself, or the words on its buttons and chips."""
    wide = [] if page.evaluate(FITS) else ["wider than the screen"]
    return [*wide, *page.evaluate(CUT_OFF)]
