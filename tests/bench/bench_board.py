"""How smooth a board of 1,000 runs and an inbox of 200 cards are, and how soon they tell.

Run `uv run python -m tests.bench.bench_board board` (or `inbox`, or neither for both);
prints JSON. A real `up`, Chromium, a desk
(1440x900) and a phone (390x844). Frame times are the gaps between animation frames while
the list moves by wheel, 120 px a tick: at rest, and while fifty runs report a finished turn
about every second and one of them ten a second. The floor is the same movement over an
empty page of the same height in the same page, at rest and under the same load. Each figure
is told as the median of the rounds, the least and the most.

*Told*: the event's own time at the server until the row in the page has changed: `turn`
waits for the meters (4 Hz at most), `state` is a pause or its end, told at once. *Heard* is
the same until the page's socket had it. *Paints* are how often a row's figures changed.
*Opened*: from the navigation to the first row (or card) that was painted.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, sync_playwright

from tests.bench.bench_timeline import EMPTY, SIZES, frames, summary_of
from tests.bench.bench_verdicts import Connection, a_turn, head, is_ready
from tests.contract.conversation import Caller, an_agent_of, the_person_of
from tests.e2e.chromium import FLAGS, chromium
from tests.e2e.crowd import Crowd
from tests.installations import ROOT, an_installation, wait_for

RUNS = int(os.environ.get("BENCH_RUNS", "1000"))
BUSY = int(os.environ.get("BENCH_BUSY", "50"))
CARDS = int(os.environ.get("BENCH_CARDS", "200"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
TICKS = int(os.environ.get("BENCH_TICKS", "80"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "12"))
"""How long is listened for what the board tells."""
SETTLES_S = 6.0
"""The board sorts its rows every five seconds."""
RACES_S = 0.1
PLACES = {"board": ("/", "[data-row]"), "inbox": ("/decisions", ".queued, article.item")}

LISTEN = """(() => { window.received = []; window.tasks = [];
const Plain = window.WebSocket;
window.WebSocket = class extends Plain { constructor(...where) { super(...where);
  this.addEventListener("message", ({ data }) =>
    window.received.push([performance.now(), data])); } };
new PerformanceObserver(list => { for (const { duration } of list.getEntries())
  window.tasks.push(duration); }).observe({ type: "longtask", buffered: true }); })()"""
OPENED = """async wanted => { const painted = () => new Promise(done =>
    requestAnimationFrame(() => setTimeout(() => done(performance.now()))));
while (!document.querySelector(wanted)) if (await painted() > 60_000) throw new Error(
    `nothing to see: ${document.body.innerText}`);
return { first: await painted(), heard: window.received[0]?.[0] ?? null,
  tasks: window.tasks, bytes: window.received[0]?.[1].length ?? 0 }; }"""
WATCH_ROWS = """() => { let known = new Map(); window.seen = []; window.received = [];
const look = () => { const now = performance.now(); const found = new Map();
  for (const row of document.querySelectorAll("[data-row]")) {
    const run = row.querySelector("a").pathname.split("/")[2];
    const cost = row.matches("tr") ? row.cells[5] : row.querySelector(".figures .sb");
    const [dollars, shape] = [cost.textContent.trim(), row.querySelector("svg.shape").innerHTML];
    const before = known.get(run); found.set(run, { dollars, shape });
    if (before?.dollars !== dollars || before.shape !== shape)
      window.seen.push([now, run, dollars, before ? before.shape !== shape : null]); }
  for (const run of known.keys()) if (!found.has(run)) window.seen.push([now, run, "", null]);
  known = found; };
look(); new MutationObserver(look).observe(document.querySelector("main"),
  { subtree: true, childList: true, characterData: true, attributes: true }); }"""
SEEN = "() => ({ origin: performance.timeOrigin, seen: window.seen, heard: window.received })"
IN_SIGHT = """() => [...document.querySelectorAll("[data-row] a")].filter(link => {
  const { top, bottom } = link.getBoundingClientRect();
  return top > 0 && bottom < innerHeight; }).map(link => link.pathname.split("/")[2])"""
TO_TOP = """() => { for (const part of [document.documentElement,
  ...document.querySelectorAll(".page, .list")]) part.scrollTop = 0; }"""
HEIGHT = """() => Math.max(document.documentElement.scrollHeight,
  ...[...document.querySelectorAll(".page, .list")].map(part => part.scrollHeight))"""


# --- the fifty, in a process of their own ----------------------------------------------


async def report(url: str, key: str, run: str, going: Any, pause_s: float) -> None:
    """Tell finished turns of one run for as long as the bench wants them."""
    connection = Connection(url)
    await connection.open()
    asking = head("POST", f"/api/v1/runs/{run}/turns/", Authorization=f"Bearer {key}")
    for number in itertools.count():
        await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))  # noqa: S311 - to spread them
        if going.is_set():
            turn = {**a_turn(number), "cost_usd": "0.01"}
            await connection.ask(asking, json.dumps({"turns": [turn]}).encode())


async def report_all(url: str, key: str, runs: list[str], going: Any) -> None:
    pauses = itertools.chain([RACES_S], itertools.repeat(1.0))
    each = zip(runs, pauses, strict=False)
    await asyncio.gather(*(report(url, key, run, going, pause) for run, pause in each))


def be_busy(url: str, key: str, runs: list[str], going: Any) -> None:
    asyncio.run(report_all(url, key, runs, going))


# --- frames ----------------------------------------------------------------------------


class Screen:
    """One browser page of one size, and the load it is looked at under."""

    def __init__(self, browser: Browser, running: Any, size: str, going: Any) -> None:
        self._context = browser.new_context(**SIZES[size], service_workers="block")
        cookies = running.cookies().items()
        self._context.add_cookies([{"name": n, "value": v, "url": running.url} for n, v in cookies])
        self._context.add_init_script(LISTEN)
        self.page, self._url, self.going = self._context.new_page(), running.url, going
        self.page.set_default_timeout(60_000)

    def close(self) -> None:
        self._context.close()

    def open(self, place: str) -> dict[str, Any]:
        """Go there; returns when its first row was painted, and what came before."""
        path, wanted = PLACES[place]
        self.page.goto(self._url + path, wait_until="commit")
        return dict(self.page.evaluate(OPENED, wanted))

    def one_round(self, place: str) -> dict[str, Any]:
        """Open it and wheel over it and over the floor, at rest and busy."""
        opened = self.open(place)
        self.page.wait_for_timeout(1_000)
        tall = self.page.evaluate(HEIGHT)
        at_rest = self._wheel()
        self.going.set()
        self.page.wait_for_timeout(1_000)
        busy = self._wheel()
        self.page.goto("about:blank")
        self.page.set_content(EMPTY % tall)
        floor_busy = self._wheel()
        self.going.clear()
        self.page.wait_for_timeout(1_000)
        floor = self._wheel()
        moved = {"at_rest": at_rest, "floor_at_rest": floor, "busy": busy, "floor_busy": floor_busy}
        return {"opened": opened, "tall": tall, **moved}

    def _wheel(self) -> dict[str, Any]:
        self.page.evaluate(TO_TOP)
        self.page.mouse.move(350, 600)

        def wheel() -> None:
            for _ in range(TICKS):
                self.page.mouse.wheel(0, 120)
                self.page.wait_for_timeout(16)

        return frames(self.page, wheel)


def over(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each figure the median over the rounds, the least and the most."""
    ways = ("at_rest", "floor_at_rest", "busy", "floor_busy")
    parts = ("p50", "p95", "p99", "long_tasks", "longest_ms")
    moved = {
        way: {part: spread([one[way][part] for one in rounds]) for part in parts} for way in ways
    }
    opened = [one["opened"] for one in rounds]
    return {
        "frames_ms": moved,
        "height_px": rounds[-1]["tall"],
        "opened_ms": spread([one["first"] for one in opened]),
        "snapshot_heard_ms": spread([one["heard"] for one in opened]),
        "snapshot_bytes": opened[-1]["bytes"],
        "long_tasks_when_opened_ms": [sorted(map(round, one["tasks"])) for one in opened],
    }


def spread(values: list[float]) -> list[float]:
    picks = (statistics.median, min, max)
    return [round(float(pick(values)), 1) for pick in picks]


# --- how soon it is told ---------------------------------------------------------------


def tell(screen: Screen, person: Caller) -> dict[str, Any]:
    """Listen to the busy board, pausing runs in sight and letting them go on."""
    screen.open("board")
    screen.page.mouse.move(0, 0)
    screen.going.set()
    screen.page.wait_for_timeout(SETTLES_S * 1000)
    screen.page.evaluate(WATCH_ROWS)
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        run = random.choice(screen.page.evaluate(IN_SIGHT)[1:])  # noqa: S311 - any of them
        for action in ("pause", "continue"):
            version = person.get(f"/api/v1/runs/{run}/")["version"]
            response = person.tap(run, action, version=version)
            assert response.status == 201, response.json
            screen.page.wait_for_timeout(400)
    screen.going.clear()
    screen.page.wait_for_timeout(500)
    return Heard(screen.page.evaluate(SEEN)).figures()


class Heard:
    """What a page's socket heard and what its rows showed, on the server's clock in ms."""

    def __init__(self, noted: dict[str, Any]) -> None:
        origin = noted["origin"]
        self._frames = [(origin + at, json.loads(text)) for at, text in noted["heard"]]
        self._shown: dict[str, list[Shown]] = defaultdict(list)
        for at, run, dollars, moved in noted["seen"]:
            self._shown[run].append(Shown(origin + at, dollars, moved))

    def figures(self) -> dict[str, Any]:
        events = [
            (at, event)
            for at, frame in self._frames
            for event in frame.get("events", [frame])
            if "at" in event
        ]
        turns = [pair for pair in events if pair[1]["type"] == "turn.recorded"]
        moves = [pair for pair in events if pair[1]["type"] == "run.moved"]
        return {
            "turn_told_ms": many(self._until_shown(turns, counts)),
            "turn_heard_ms": many([at - at_of(event) for at, event in turns]),
            "state_told_ms": many(self._until_shown(before_the_next(moves), moved_so)),
            "state_heard_ms": many([at - at_of(event) for at, event in moves]),
            "meters_frames": rhythm([at for at, one in self._frames if one["type"] == "meters"]),
            "paints": self._paints(),
        }

    def _until_shown(self, events: list[tuple[float, Any]], tells: Tells) -> list[float]:
        """Milliseconds from each event until its row told it; only of rows then in the page."""
        took = []
        for _, event in events:
            row, began = self._shown[event["run"]], at_of(event)
            stood = [one for one in row if one.at <= began][-1:]
            if not stood or not stood[0].dollars:
                continue
            later = itertools.takewhile(lambda one: one.dollars, (o for o in row if o.at > began))
            ends = event.get("next_at", math.inf)
            told_at = (one.at for one in later if one.at < ends and tells(one, event))
            took += [at - began for at in itertools.islice(told_at, 1)]
        return took

    def _paints(self) -> dict[str, Any]:
        """Of the row that changed most often: how often, and how soon after each other."""
        rows = [[one.at for one in row if one.moved is False] for row in self._shown.values()]
        return rhythm(max(rows, key=len))


class Shown(NamedTuple):
    """What a row of the page came to show; no dollars: it left the page."""

    at: float
    dollars: str
    moved: bool | None
    """Whether its state changed; None: the row is new in the page."""


Tells = Callable[[Shown, dict[str, Any]], bool]


def counts(shown: Shown, event: dict[str, Any]) -> bool:
    """Every turn of ours costs a cent."""
    return bool(float(shown.dollars.strip("$")) * 100 > event["turn_seq"] + 0.5)


def moved_so(shown: Shown, event: dict[str, Any]) -> bool:
    return shown.moved is True


def before_the_next(moves: list[tuple[float, Any]]) -> list[tuple[float, Any]]:
    """Say of each when its run moved next: not every move changes what a row shows."""
    nexts: dict[str, float] = {}
    kept = []
    for at, event in reversed(moves):
        kept.append((at, {**event, "next_at": nexts.get(event["run"], math.inf)}))
        nexts[event["run"]] = at_of(event)
    return kept[::-1]


def at_of(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["at"]).timestamp() * 1000


def many(values: list[float]) -> dict[str, Any]:
    return {"count": len(values), **summary_of(values)} if values else {"count": 0}


def rhythm(times: list[float]) -> dict[str, Any]:
    """Tell how often something came: a second, at most within any second, and its gaps."""
    gaps = sorted(b - a for a, b in itertools.pairwise(times))
    most = max(sum(at <= other < at + 1000 for other in times) for at in times)
    a_second = len(gaps) * 1000 / (times[-1] - times[0])
    gap = {"least": round(gaps[0]), "median": round(statistics.median(gaps))}
    return {"per_s": round(a_second, 2), "most_in_a_second": most, "gap_ms": gap}


# --- the whole -------------------------------------------------------------------------


def all_judged(person: Caller, runs: list[str]) -> bool:
    return all(person.get(f"/api/v1/runs/{run}/")["judged_turns"] > 0 for run in runs)


def get_stuck(agent: Caller, person: Caller) -> None:
    """Have so many runs held at a card each."""
    with ThreadPoolExecutor(4) as pool:
        names = [f"stuck {number:03}" for number in range(CARDS)]
        list(pool.map(lambda name: agent.get_stuck(agent.open_run(name=name)), names))
    place = "/api/v1/decisions/?status=open&limit=500"
    wait_for(lambda: len(person.get(place)["results"]) == CARDS, seconds=60)


def look(browser: Browser, running: Any, going: Any, place: str) -> dict[str, Any]:
    """Measure one place at both sizes."""
    found: dict[str, Any] = {}
    for size in SIZES:
        screen = Screen(browser, running, size, going)
        screen.open(place)  # fills the browser's cache
        found[size] = over([screen.one_round(place) for _ in range(ROUNDS)])
        if place == "board":
            found[size]["told"] = tell(screen, the_person_of(running))
        screen.close()
    return found | {"load": [round(one, 1) for one in os.getloadavg()]}


def measure(running: Any, browser: Browser, places: list[str]) -> dict[str, Any]:
    agent, person = an_agent_of(running), the_person_of(running)
    crowd = Crowd.of(agent, RUNS)
    crowd.work(turns=4)
    wait_for(lambda: all_judged(person, crowd.ids[-3:]), seconds=120)
    own = multiprocessing.get_context("spawn")
    going = own.Event()
    told_by = (running.url, running.agent_key, crowd.ids[:BUSY], going)
    busy = own.Process(target=be_busy, args=told_by, daemon=True)
    busy.start()
    found: dict[str, Any] = {}
    if "board" in places:
        found["board"] = look(browser, running, going, "board")
    if "inbox" in places:
        get_stuck(agent, person)
        found["inbox"] = look(browser, running, going, "inbox")
    assert busy.is_alive(), "the busy runs ended before the bench did"
    busy.terminate()
    busy.join()
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as place, an_installation(Path(place) / "data") as running:
        wait_for(lambda: is_ready(running), seconds=60)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
            found = measure(running, browser, sys.argv[1:] or list(PLACES))
            browser.close()
    head_of = {"bench": "board", "runs": RUNS, "busy": BUSY, "cards": CARDS, "rounds": ROUNDS}
    print(json.dumps({**head_of, "median_min_max": found}, indent=1))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
