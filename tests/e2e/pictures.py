"""Take the pictures in docs/images from the running demo.

Run `uv run python -m tests.e2e.pictures`: starts `up --demo`, waits for the card that
opens there, and photographs board, inbox and run page on a desk and on a phone.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.e2e.chromium import FLAGS, chromium
from tests.installations import ROOT, an_installation, wait_for

IMAGES = ROOT / "docs" / "images"
SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1440, "height": 900}},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "has_touch": True,
        "is_mobile": True,
        "device_scale_factor": 2,
    },
}


def waiting_card(running: Any) -> dict[str, Any] | None:
    cards = running.get("/api/v1/decisions/?status=open")["results"]
    return next((card for card in cards if card["agent_waiting"] and card["verdict"]), None)


def photograph(browser: Browser, running: Any, card: dict[str, Any]) -> None:
    places = {"now": "/", "decisions": "/decisions", "run": f"/runs/{card['run']}"}
    cookies = [{"name": n, "value": v, "url": running.url} for n, v in running.cookies().items()]
    for size, options in SIZES.items():
        context = browser.new_context(color_scheme="dark", **options)
        context.add_cookies(cookies)  # type: ignore[arg-type]
        page = context.new_page()
        for name, path in places.items():
            page.goto(running.url + path)
            page.get_by_role("article").first.wait_for()
            page.wait_for_timeout(800)
            page.screenshot(path=IMAGES / f"{name}-{size}.png")
        context.close()


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as place,
        an_installation(Path(place) / "data", "--port", "0", "--demo") as running,
        sync_playwright() as playwright,
    ):
        card = wait_for(lambda: waiting_card(running), seconds=60)
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        photograph(browser, running, card)
        browser.close()


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
