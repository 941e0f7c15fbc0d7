"""How smooth a run of 100,000 turns is, in Chromium, and how fast its parts are told.

Run `uv run python -m tests.bench.bench_timeline`; prints JSON. Frame times are the gaps
between animation frames while the list moves by wheel (120 px a tick), by leaps of a
thousand rows, and by the held key, on a desk and on a phone; long tasks are those of more
than 50 ms. The floor is the same movement over an empty page of the same height in the same
browser, before and after each: what the machine gives. Memory is the heap after a
collection. The machine is shared by server, workers and browser, and draws without a
graphics card.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright

from tests.contract.conversation import Caller, an_agent_of
from tests.e2e.chromium import FLAGS, chromium
from tests.e2e.conftest import DESKTOP, PHONE
from tests.installations import ROOT, an_installation

TURNS = int(os.environ.get("BENCH_TURNS", "100000"))
TICKS = int(os.environ.get("BENCH_TICKS", "200"))
ROUNDS = 5
PARTS = {
    "series": "series/?points=300",
    "series_of_a_stretch": f"series/?points=300&from_seq={TURNS // 2}&to_seq={TURNS // 2 + 2000}",
    "facets": "facets/",
    "hand_offs": "hand-offs/",
    "window": f"turns/?around={TURNS // 2}&limit=100",
    "filter": "turns/found/?tool=Bash",
    "search": "turns/found/?q=rare%20words",
    "search_for_nothing": "turns/found/?q=nowhere",
}
SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": DESKTOP},
    "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
}
EMPTY = "<body style='margin:0'><div class=record style='height:%dpx'></div></body>"
WATCH = """() => { window.frames_ = []; window.tasks_ = []; let last = performance.now();
window.watching = new PerformanceObserver(list => {
  for (const { duration } of list.getEntries()) window.tasks_.push(duration); });
window.watching.observe({ type: "longtask" });
const tick = now => { window.frames_.push(now - last); last = now;
  window.ticking = requestAnimationFrame(tick); };
window.ticking = requestAnimationFrame(tick); }"""
STOP = """() => { cancelAnimationFrame(window.ticking); window.watching.disconnect();
return { gaps: window.frames_.slice(1), tasks: window.tasks_ }; }"""
LEAP = """rows => { const list = document.querySelector(".record");
const port = list.scrollHeight > list.clientHeight + 1 ? list : document.documentElement;
port.scrollTop += rows * 36; }"""
ROWS = "document.querySelectorAll('[id^=turn-]').length"


def summary_of(values: list[float]) -> dict[str, float]:
    """Return what a table shows of some figures, in milliseconds."""
    ordered = sorted(values)
    at = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    shares = {
        name: ordered[min(len(ordered) - 1, int(len(ordered) * part))] for name, part in at.items()
    }
    return {name: round(value, 1) for name, value in {**shares, "max": ordered[-1]}.items()}


def frames(page: Page, move: Any) -> dict[str, Any]:
    """Watch the frames while something moves."""
    page.evaluate(WATCH)
    move()
    seen = page.evaluate(STOP)
    gaps, tasks = seen["gaps"], seen["tasks"]
    long = {"long_tasks": len(tasks), "longest_ms": round(max(tasks, default=0.0), 1)}
    return {"frames": len(gaps), **summary_of(gaps), **long}


def heap(page: Page) -> int:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return int(used)


def scroll(page: Page) -> dict[str, Any]:
    """Move the list in the three ways a person has."""
    page.mouse.move(200, 600)

    def wheel() -> None:
        for _ in range(TICKS):
            page.mouse.wheel(0, 120)
            page.wait_for_timeout(16)

    def leap() -> None:
        for _ in range(TICKS // 4):
            page.evaluate(LEAP, 1_000)
            page.wait_for_timeout(60)

    def keys() -> None:
        for _ in range(TICKS // 4):
            page.keyboard.press("PageUp")
            page.wait_for_timeout(40)

    ways = {"wheel": wheel, "leaps": leap, "page_keys": keys}
    at_rest = frames(page, lambda: page.wait_for_timeout(2_000))
    return {"at_rest": at_rest} | {name: frames(page, move) for name, move in ways.items()}


def floor(context: BrowserContext) -> dict[str, Any]:
    """Move in the same ways over a page as tall, with nothing on it."""
    page = context.new_page()
    page.set_content(EMPTY % (TURNS * 36))
    moved = scroll(page)
    page.close()
    return moved


def first_rows(page: Page, address: str, seq: int) -> float:
    began = time.perf_counter()
    page.goto(address)
    page.locator(f"#turn-{seq} code").wait_for()
    return (time.perf_counter() - began) * 1000


def answers(person: Caller, run: str) -> dict[str, dict[str, float]]:
    """Time each part of the API, in milliseconds."""

    def once(part: str) -> float:
        began = time.perf_counter()
        person.get(f"/api/v1/runs/{run}/{part}")
        return (time.perf_counter() - began) * 1000

    taken = {name: [once(part) for _ in range(ROUNDS)] for name, part in PARTS.items()}
    return {
        name: {"median": round(statistics.median(times), 1), "max": round(max(times), 1)}
        for name, times in taken.items()
    }


def filled(running: Any) -> str:
    """Open a run of many turns; returns its id."""
    agent = an_agent_of(running)
    run = agent.open_run(name="migrate-orm-v2")
    fill = [sys.executable, "-m", "tests.long_run", run, str(TURNS)]
    subprocess.run(fill, cwd=ROOT, env=running.own_environment(), check=True)
    return run


def measure(context: BrowserContext, address: str, *, first: int) -> dict[str, Any]:
    """Open the run, scroll it, and the floor before and after; `first`: a turn in sight."""
    floors = [floor(context)]
    page = context.new_page()
    opened = [first_rows(page, address, first) for _ in range(ROUNDS)]
    before = heap(page)
    moved = scroll(page)
    rows, after = page.evaluate(ROWS), heap(page)
    page.close()
    floors.append(floor(context))
    return {
        "first_rows_ms": summary_of(opened),
        "frames_ms": moved,
        "floor_ms": floors,
        "rows_in_page": rows,
        "heap_bytes": {"opened": before, "after_scrolling": after},
        "load": os.getloadavg(),
    }


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as place,
        an_installation(Path(place) / "data", "--port", "0") as running,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        run, cookies = filled(running), running.cookies().items()
        found: dict[str, Any] = {"turns": TURNS}
        for size, options in SIZES.items():
            context = browser.new_context(**options)
            context.add_cookies([{"name": n, "value": v, "url": running.url} for n, v in cookies])
            first = 1 if size == "desktop" else TURNS - 2
            found[size] = measure(context, f"{running.url}/runs/{run}", first=first)
            context.close()
        browser.close()
        cookie = "; ".join(f"{name}={value}" for name, value in cookies)
        found["answers_ms"] = answers(Caller(running.url, {"Cookie": cookie}), run)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
