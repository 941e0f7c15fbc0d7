"""Draw the installed app's icons from the one mark, frontend/src/mark.svg.

Run `uv run python -m tests.e2e.icons` after the mark has changed; the pictures in
frontend/public/icons are what it drew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from playwright.sync_api import Page, sync_playwright

from tests.e2e.chromium import FLAGS, chromium
from tests.installations import ROOT

MARK = ROOT / "frontend" / "src" / "mark.svg"
ICONS = ROOT / "frontend" / "public" / "icons"
SIDE = 20
"""Units of the mark's view box."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Icon:
    """One picture. `bars`: the part of the side they fill; None: as in the mark."""

    name: str
    px: int
    ground: str | None
    bars: float | None = None
    ink: str | None = None


GROUND = "#0c0d0f"
DRAWN = (
    Icon(name="icon-192", px=192, ground="mark"),
    Icon(name="icon-512", px=512, ground="mark"),
    # A launcher may cut a maskable icon to a circle of 80 %; iOS rounds its own corners.
    Icon(name="maskable-512", px=512, ground=GROUND, bars=0.5),
    Icon(name="apple-touch-180", px=180, ground=GROUND, bars=0.6),
    # Android draws the alpha channel alone, in the status bar's colour.
    Icon(name="badge-96", px=96, ground=None, bars=0.86, ink="#ffffff"),
)


def drawing(icon: Icon, mark: str) -> str:
    """Return the SVG of an icon."""
    if icon.ground == "mark":
        return mark
    head, _, bars = mark.partition("/>")
    bars = bars.removesuffix("</svg>\n").removesuffix("</svg>")
    if icon.ink:
        bars = re.sub(r'fill="[^"]+"', f'fill="{icon.ink}"', bars)
    scale = (icon.bars or 1) / (14 / SIDE)  # the bars are 14 of 20 units wide
    placed = f'<g transform="translate(10 10) scale({scale:.4f}) translate(-10 -10.2)">{bars}</g>'
    ground = f'<rect width="{SIDE}" height="{SIDE}" fill="{icon.ground}"/>' if icon.ground else ""
    return f"{head.partition('>')[0]}>{ground}{placed}</svg>"


def draw(page: Page, icon: Icon, mark: str) -> None:
    """Photograph an icon at its size, on nothing."""
    page.set_viewport_size({"width": icon.px, "height": icon.px})
    style = "<style>*{margin:0}svg{display:block;width:100vw;height:100vh}</style>"
    page.set_content(style + drawing(icon, mark))
    page.screenshot(path=ICONS / f"{icon.name}.png", omit_background=True)


def main() -> None:
    """Draw them all."""
    ICONS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        page = browser.new_page()
        for icon in DRAWN:
            draw(page, icon, MARK.read_text())
        browser.close()


if __name__ == "__main__":
    main()
