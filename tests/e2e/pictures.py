"""Take pictures of every screen from the running demo.

`uv run python -m tests.e2e.pictures` retakes the few in docs/images that README shows.
`uv run python -m tests.e2e.pictures FOLDER [LANGUAGE]` takes every screen there is, on a
desk and on a phone, dark and light, with three weeks of figures behind it, into FOLDER.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import TimeoutError as TookTooLong

from tests.e2e.chromium import FLAGS, chromium
from tests.e2e.screens import screens
from tests.installations import ROOT, an_installation, wait_for

IMAGES = ROOT / "docs" / "images"
FOR_README = ("now", "decisions", "run")
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
  if (/^.(policies|settings|costs|history)/.test(location.pathname))
    localStorage.setItem("missioncontrol.project", "%s");
  else localStorage.removeItem("missioncontrol.project");
"""


def waiting_card(running: Any) -> dict[str, Any] | None:
    cards = running.get("/api/v1/decisions/?status=open")["results"]
    return next((card for card in cards if card["agent_waiting"] and card["verdict"]), None)


def weeks_behind(running: Any) -> None:
    """Give costs, history and charts something to show."""
    subprocess.run(
        [sys.executable, "-m", "tests.e2e.fortnight", running.project],
        cwd=ROOT,
        env=running.own_environment(),
        check=True,
    )


def settled(page: Page) -> None:
    """Wait until a screen stands: its heading, its card, its figures, its charts."""
    page.locator("h1").first.wait_for()
    try:
        page.locator(".skeleton").first.wait_for(state="detached", timeout=10_000)
    except TookTooLong:
        sys.stderr.write(f"still loading: {page.url}\n")
    page.wait_for_timeout(900)


def photograph(
    browser: Browser, running: Any, places: dict[str, str], *, theme: str, to: Path, language: str
) -> None:
    cookies = [{"name": n, "value": v, "url": running.url} for n, v in running.cookies().items()]
    for size, options in SIZES.items():
        context = browser.new_context(
            color_scheme=theme,  # type: ignore[arg-type]
            locale=language,
            service_workers="block",
            **options,
        )
        context.add_cookies(cookies)  # type: ignore[arg-type]
        context.add_init_script(OF_ONE_PROJECT % running.project)
        page = context.new_page()
        for name, path in places.items():
            page.goto(running.url + path)
            settled(page)
            shade = "" if to == IMAGES else f"-{theme}"
            page.screenshot(path=to / f"{name.replace(' ', '-')}-{size}{shade}.png")
        context.close()


def places_of(card: dict[str, Any], *, all_of_them: bool) -> dict[str, str]:
    every = screens(run=card["run"], decision=card["id"])
    return every if all_of_them else {name: every[name] for name in FOR_README}


def main(folder: str | None = None, language: str = "en-GB") -> None:
    to = Path(folder).resolve() if folder else IMAGES
    to.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as place,
        an_installation(Path(place) / "data", "--port", "0", "--demo") as running,
        sync_playwright() as playwright,
    ):
        if folder:
            weeks_behind(running)
        card = wait_for(lambda: waiting_card(running), seconds=90)
        places = places_of(card, all_of_them=folder is not None)
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for theme in THEMES if folder else THEMES[:1]:
            photograph(browser, running, places, theme=theme, to=to, language=language)
        browser.close()
    sys.stdout.write(f"{len(list(to.glob('*.png')))} pictures in {to}\n")


if __name__ == "__main__":
    arguments = [str(Path(one).resolve()) if n == 0 else one for n, one in enumerate(sys.argv[1:])]
    os.chdir(ROOT)
    main(*arguments)
