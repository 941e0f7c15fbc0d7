"""Largest contentful paint and interaction to next paint, on a throttled phone in Chromium.

Run `uv run python -m tests.bench.bench_vitals [--phoenix VENV]`; prints JSON. The profile is
Lighthouse's for mobile: 390 by 844 at three pixels a point, 1.6 Mbit/s down, 750 kbit/s up, 150 ms
a round trip, the processor four times as slow. A real `up --demo`, three weeks of runs behind it.

`lcp_ms` is a first visit, nothing cached; `again_ms` the same address once more, with the service
worker that the first one left. `inp_ms` is the longest of the taps on that screen, from the event
to the next frame, as the browser's Event Timing tells it (steps of 8 ms). Beside ours, in the same
rounds: Arize Phoenix's list of projects, if an environment with it is named.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.bench.bench_ingest import phoenix
from tests.e2e.chromium import FLAGS, chromium
from tests.e2e.pictures import waiting_card, weeks_behind
from tests.installations import ROOT, an_installation, wait_for

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
NETWORK = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1.6e6 / 8,
    "uploadThroughput": 750e3 / 8,
}
SLOWER = 4
QUIET_MS = 2_500
"""A paint that comes later than this after the page is idle is none of its load."""
OBSERVE = """
  window.vitals = { lcp: 0, taps: [] };
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) window.vitals.lcp = entry.startTime;
  }).observe({ type: "largest-contentful-paint", buffered: true });
  new PerformanceObserver(list => {
    for (const entry of list.getEntries())
      if (entry.interactionId) window.vitals.taps.push(entry.duration);
  }).observe({ type: "event", durationThreshold: 16, buffered: true });
"""
# What a person taps there; nothing is answered by it.
TAPS = {
    "now": (".tabbar a >> nth=1", ".tabbar a >> nth=2", ".tabbar a >> nth=0"),
    "run": (".record .title button.icon", ".record .title button.icon"),
    "history": ("main a.run >> nth=0",),
    "costs": (".step button >> nth=0", ".step button >> nth=1"),
}


@contextmanager
def a_phone(browser: Browser, cookies: list[Any]) -> Iterator[Page]:
    """Open a throttled phone that has never been here."""
    context = browser.new_context(
        viewport={"width": 390, "height": 844},
        device_scale_factor=3,
        has_touch=True,
        is_mobile=True,
    )
    if cookies:
        context.add_cookies(cookies)
    context.add_init_script(OBSERVE)
    page = context.new_page()
    page.set_default_timeout(120_000)  # a peer's megabytes of script take a minute here
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", NETWORK)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    yield page
    context.close()


def painted_ms(page: Page, url: str) -> float:
    """Go there; return when its largest content had been painted."""
    page.goto(url)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(QUIET_MS)
    return float(page.evaluate("window.vitals.lcp"))


def tapped_ms(page: Page, taps: tuple[str, ...]) -> list[float]:
    """Tap these; return how long each took until the next frame, where it took over 16 ms."""
    page.evaluate("window.vitals.taps = []")
    for tap in taps:
        page.locator(tap).locator("visible=true").first.tap()
        page.wait_for_timeout(1_500)
    return [float(took) for took in page.evaluate("window.vitals.taps")]


def one_round(browser: Browser, urls: dict[str, str], cookies: list[Any]) -> dict[str, list[float]]:
    """Visit every screen, each on a phone of its own."""
    found: dict[str, list[float]] = {}
    for name, url in urls.items():
        with a_phone(browser, cookies) as page:
            found[f"{name} lcp_ms"] = [painted_ms(page, url)]
            if taps := TAPS.get(name):
                found[f"{name} inp_ms"] = tapped_ms(page, taps)
            found[f"{name} again_ms"] = [painted_ms(page, url)]
    return found


def measure(running: Any, peer: str | None) -> dict[str, Any]:
    wait_for(lambda: waiting_card(running) is not None)
    weeks_behind(running)
    card = waiting_card(running)
    assert card is not None
    cookies = [{"name": n, "value": v, "url": running.url} for n, v in running.cookies().items()]
    ours = {
        "now": "/",
        "decision": f"/decisions/{card['id']}",
        "run": f"/runs/{card['run']}",
        "history": "/history",
        "costs": "/costs",
    }
    found = defaultdict(list)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for _ in range(ROUNDS):
            rows = one_round(browser, {n: running.url + p for n, p in ours.items()}, cookies)
            if peer:
                rows |= one_round(browser, {"phoenix": peer}, [])
            for name, values in rows.items():
                found[name].append(max(values, default=16))  # shorter ones are not told
        browser.close()
    return {name: spread(values) for name, values in found.items()}


def spread(values: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values)),
        "min": round(min(values)),
        "max": round(max(values)),
    }


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("--phoenix", type=Path, help="an environment with arize-phoenix")
    asked = reading.parse_args()
    with ExitStack() as ending:
        home = Path(ending.enter_context(tempfile.TemporaryDirectory()))
        running = ending.enter_context(an_installation(home / "data", "--demo", "--port", "0"))
        peer = None
        if asked.phoenix:
            beside = phoenix(asked.phoenix.absolute(), home / "phoenix")
            peer = f"{ending.enter_context(beside).url}/projects"
        found = measure(running, peer)
    load = [round(one, 1) for one in os.getloadavg()]
    print(
        json.dumps({"bench": "vitals on a phone", "rounds": ROUNDS, "load": load} | found, indent=1)
    )


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
