"""Take pictures of every screen from the running demo.

`uv run python -m tests.e2e.pictures` retakes the few in docs/images that README shows.
`uv run python -m tests.e2e.pictures FOLDER [LANGUAGE [WORD...]]` takes every screen there is and
every state of `states.py` (with words: those whose name has one of them), on a desk and on a phone,
dark and light, with three weeks of figures behind them, into FOLDER, with an index.html to look
through them and all of them in one sheet.jpg.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from playwright.sync_api import Error as BrowserError
from playwright.sync_api import TimeoutError as TookTooLong

from tests.e2e.chromium import FLAGS, chromium
from tests.e2e.connection import Connection
from tests.e2e.screens import screens
from tests.e2e.states import State, set_scene, states
from tests.installations import ROOT, an_installation, wait_for

IMAGES = ROOT / "docs" / "images"
FOR_README = {"desktop": "now", "phone": "decision"}
SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1440, "height": 900}},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "has_touch": True,
        "is_mobile": True,
        "device_scale_factor": 2,
    },
}
THEMES = ("dark", "light")
# The demo's runs stand in projects of their own; rules, money and settings are one's.
OF_ONE_PROJECT = """
  if (/^.(policies|settings|costs|history|reports|audit)/.test(location.pathname))
    sessionStorage.setItem("missioncontrol.project", "%s");
  else sessionStorage.removeItem("missioncontrol.project");
"""
INDEX = """<!doctype html><meta charset="utf-8"><title>Mission Control in pictures</title>
<style>body{font:14px system-ui;margin:2rem;background:#888;color:#000}h2{margin:2rem 0 .5rem}
div{display:flex;flex-wrap:wrap;gap:1rem;align-items:start}img{height:26rem;border-radius:4px}
</style>
"""
ACROSS, CELL, THUMB, GAP = 3, (1368, 366), (512, 320), 8
"""Of the sheet: screens in a row, the pixels of each, and of each of its four pictures."""


def waiting_card(running: Any) -> dict[str, Any] | None:
    cards = running.get("/api/v1/decisions/?status=open")["results"]
    return next((card for card in cards if card["agent_waiting"] and card["verdict"]), None)


def weeks_behind(running: Any) -> None:
    """Give costs, reports, history and charts something to show."""
    subprocess.run(
        [sys.executable, "-m", "tests.e2e.weeks", running.project],
        cwd=ROOT,
        env=running.own_environment(),
        check=True,
    )


def settled(page: Page) -> None:
    """Wait until a screen stands: its heading, its card, its figures, its charts."""
    page.locator("h1, h2, .band").first.wait_for()
    try:
        page.locator(".skeleton").first.wait_for(state="detached", timeout=10_000)
    except TookTooLong:
        sys.stderr.write(f"still loading: {page.url}\n")
    with suppress(TookTooLong):  # the audit log is verified as it opens
        page.locator(".verdict .btn:disabled").first.wait_for(state="detached", timeout=5_000)
    page.wait_for_timeout(900)
    with suppress(TookTooLong):  # a card's answers open a moment after it
        shut = page.locator("article .answer[aria-disabled=true]").first
        shut.wait_for(state="detached", timeout=5_000)


def a_context(browser: Browser, running: Any, size: str, language: str) -> BrowserContext:
    """Open a signed-in browser of that size."""
    context = browser.new_context(
        color_scheme="dark", locale=language, service_workers="block", **SIZES[size]
    )
    context.add_cookies(
        [{"name": n, "value": v, "url": running.url} for n, v in running.cookies().items()]
    )
    context.add_init_script(OF_ONE_PROJECT % running.project)
    return context


def keep(page: Page, name: str, size: str, *, themes: Iterable[str], to: Path) -> None:
    """Photograph what stands there, in each theme."""
    for theme in themes:
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.wait_for_timeout(350)
        shade = "" if to == IMAGES else f"-{theme}"
        page.screenshot(path=to / f"{name.replace(',', '').replace(' ', '-')}-{size}{shade}.png")


@contextmanager
def going_on(name: str, size: str) -> Iterator[None]:
    """Name what does not come about, and go on: one screen must not cost all others."""
    try:
        yield
    except BrowserError as error:
        sys.stderr.write(f"{name} on a {size}: {error}\n")


def photograph(
    context: BrowserContext,
    running: Any,
    size: str,
    places: dict[str, str],
    *,
    themes: Iterable[str],
    to: Path,
) -> None:
    """Go to each place and photograph it."""
    page = context.new_page()
    for name, path in places.items():
        with going_on(name, size):
            page.goto(running.url + path)
            settled(page)
            keep(page, name, size, themes=themes, to=to)
    page.close()


def photograph_state(
    context: BrowserContext, running: Any, size: str, name: str, state: State, *, to: Path
) -> None:
    """Bring about a state, and photograph it; one that does not come about is named."""
    if not state.signed_in:
        context.clear_cookies()
    page = context.new_page()
    page.set_default_timeout(15_000)
    line = Connection(page)
    with going_on(name, size):
        state.before(page)
        page.goto(state.path if "://" in state.path else running.url + state.path)
        settled(page)
        state.deed(page)
        if state.is_cut:
            line.sever()
        page.wait_for_timeout(4_000 if state.is_cut else 700)
        keep(page, name, size, themes=THEMES, to=to)
        state.after(page)
    page.close()


def is_wanted(name: str, words: tuple[str, ...]) -> bool:
    return not words or any(word in name for word in words)


def everything(
    browser: Browser,
    running: Any,
    card: dict[str, Any],
    *,
    to: Path,
    language: str,
    words: tuple[str, ...],
) -> None:
    """Photograph every screen, then every state."""
    every = screens(run=card["run"], decision=card["id"])
    places = {name: path for name, path in every.items() if is_wanted(name, words)}
    for size in SIZES:
        with a_context(browser, running, size, language) as context:
            photograph(context, running, size, places, themes=THEMES, to=to)
    scene = set_scene(running, language=language[:2])
    report = running.get("/api/v1/reports/")["results"][0]["id"]
    for size in SIZES:
        table = states(scene, report=report, login_link=running.login_link())
        for name, state in table.items():
            if state.size in ("", size) and is_wanted(name, words):
                with a_context(browser, running, size, language) as context:
                    photograph_state(context, running, size, name, state, to=to)
    write_index(to)
    write_sheet(to)


def for_readme(browser: Browser, running: Any, card: dict[str, Any]) -> None:
    every = screens(run=card["run"], decision=card["id"])
    for size, name in FOR_README.items():
        with a_context(browser, running, size, "en-GB") as context:
            place = {name: every[name]}
            photograph(context, running, size, place, themes=THEMES[:1], to=IMAGES)


def names_in(folder: Path) -> list[str]:
    """Return the names of the screens and states that were photographed."""
    return sorted({path.stem.rsplit("-", 2)[0] for path in folder.glob("*.png")})


def pictures_of(folder: Path, name: str) -> list[Path]:
    """Return the pictures there are of one of them: a desk's, then a phone's."""
    paths = (folder / f"{name}-{size}-{theme}.png" for size in SIZES for theme in THEMES)
    return [path for path in paths if path.exists()]


def write_index(folder: Path) -> None:
    """Write a page with all pictures of a folder, those of one screen beside each other."""
    rows = (
        f"<h2>{escape(name)}</h2><div>"
        + "".join(
            f'<a href="{path.name}"><img loading="lazy" src="{path.name}" alt="{path.stem}"></a>'
            for path in pictures_of(folder, name)
        )
        + "</div>\n"
        for name in names_in(folder)
    )
    (folder / "index.html").write_text(INDEX + "".join(rows))


def write_sheet(folder: Path) -> None:
    """Put all of them into one picture, to be looked over and compared with the last one.

    Not a photograph of the index: a browser draws nothing below 16,384 pixels, and would hold
    every picture in its full size.
    """
    names = names_in(folder)
    sheet = Image.new("RGB", (ACROSS * CELL[0], -(-len(names) // ACROSS) * CELL[1]), "#888")
    pen = ImageDraw.Draw(sheet)
    for place, name in enumerate(names):
        x, y = place % ACROSS * CELL[0] + GAP, place // ACROSS * CELL[1] + GAP
        pen.text((x, y), name, "black", font_size=20)
        for path in pictures_of(folder, name):
            with Image.open(path) as picture:
                picture.thumbnail(THUMB)
                sheet.paste(picture, (x, y + 28))
                x += picture.width + GAP
    sheet.save(folder / "sheet.jpg", quality=80)


def main(folder: str | None = None, language: str = "en-GB", *words: str) -> None:
    to = Path(folder).resolve() if folder else IMAGES
    to.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as place,
        an_installation(
            Path(place) / "data",
            "--port",
            "0",
            "--https",
            "--demo",
            MISSIONCONTROL_NOTIFY_HOSTS="127.0.0.1",
        ) as running,
        sync_playwright() as playwright,
    ):
        if folder:
            weeks_behind(running)
        card = wait_for(lambda: waiting_card(running), seconds=90)
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        if folder:
            everything(browser, running, card, to=to, language=language, words=words)
        else:
            for_readme(browser, running, card)
        browser.close()
    sys.stdout.write(f"{len(list(to.glob('*.png')))} pictures in {to}\n")


if __name__ == "__main__":
    arguments = [str(Path(one).resolve()) if n == 0 else one for n, one in enumerate(sys.argv[1:])]
    os.chdir(ROOT)
    main(*arguments)
