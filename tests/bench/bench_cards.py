"""From a loop's third call to its card on the screen, in Chromium.

Run `uv run python -m tests.bench.bench_cards`; prints JSON. The clock starts when the
third identical call is sent and stops when the card's headline stands in the page;
agent, server, workers and browser share the machine. The floor is the same page
learning of a new run (one event, no detection), measured in turn with it.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from playwright.sync_api import Page, sync_playwright

from tests.bench.bench_verdicts import is_ready
from tests.contract.conversation import Caller, a_turn, an_agent_of, the_person_of
from tests.e2e.chromium import FLAGS, chromium
from tests.installations import ROOT, an_installation, wait_for

LOOPS = int(os.environ.get("BENCH_LOOPS", "100"))
SHOWN = """name => {
  const found = document.evaluate(`//*[contains(text(), "${name}")]`, document, null, 9, null);
  return found.singleNodeValue ? Date.now() : null;
}"""


CARD = """name => document.querySelector(`article[aria-label="${name}"]`) ? Date.now() : null"""


def one_loop(page: Page, agent: Caller, person: Caller) -> tuple[float, float]:
    """Return milliseconds until a new run, and until its card, stood in the page."""
    name = f"loop-{uuid4().hex[:8]}"
    started = time.time()
    run = agent.open_run(name=name)
    seen = page.wait_for_function(SHOWN, arg=name, polling=5).json_value()
    to_run = seen - started * 1000
    for _ in range(2):
        agent.post_turns(run, a_turn(error="No such file: tokens.py"))
    started = time.time()
    agent.post_turns(run, a_turn(phase="proposed"), wait=None)
    seen = page.wait_for_function(CARD, arg=name, polling=5).json_value()
    to_card = seen - started * 1000
    person.tap(run, "terminate")
    agent.ask("PATCH", f"/api/v1/runs/{run}/", {"status": "failed"})
    page.wait_for_function(f"name => !({CARD})(name)", arg=name, polling=20)
    return to_run, to_card


def measure(running: Any) -> list[tuple[float, float]]:
    cookies = running.cookies()
    agent, person = an_agent_of(running), the_person_of(running)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_cookies(
            [{"name": n, "value": v, "url": running.url} for n, v in cookies.items()]
        )
        page = context.new_page()
        page.goto(running.url)
        one_loop(page, agent, person)
        took = [one_loop(page, agent, person) for _ in range(LOOPS)]
        browser.close()
    return took


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), 1),
        "p99": round(ordered[int(len(ordered) * 0.99) - (len(ordered) == 1)], 1),
        "min": round(ordered[0], 1),
        "max": round(ordered[-1], 1),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as place, an_installation(Path(place) / "data") as running:
        wait_for(lambda: is_ready(running), seconds=60)
        took = measure(running)
    found = {
        "bench": "third call to card on screen",
        "loops": LOOPS,
        "card_ms": spread([card for _, card in took]),
        "new_run_ms": spread([run for run, _ in took]),
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
