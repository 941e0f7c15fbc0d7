"""Two hundred screens come back after the server was away: how soon, and how spread.

Run `uv run python -m tests.bench.bench_reconnect`; prints JSON. A real `up` with a board of
a hundred runs. The screens are sockets with a person's session that wait as `backoff.ts`
does, and a few are real Chromium pages, whose own waits are told beside that law. *Killed*:
the web process dies by `kill -9` and is started again; the port stays open meanwhile, and who
calls is kept in line. *Restarted*: the whole of `up` ends and starts; the port refuses.
*Alone*: the same with one screen. *Cut*: one screen's line is dropped, the server stands.

The clock starts when the server answers `/healthz` again (for *cut*, at the drop) and stops
when a screen has its snapshot; what is negative had it before. The floor is the same number of
sockets opened at the same moment, and one alone, on the standing server. *Within* counts the
snapshots that came at most so close to each other.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page, async_playwright
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from tests.bench.bench_verdicts import is_ready
from tests.contract.conversation import an_agent_of
from tests.e2e.chromium import FLAGS, chromium
from tests.e2e.crowd import Crowd
from tests.installations import ROOT, an_installation, wait_for

SCREENS = int(os.environ.get("BENCH_SCREENS", "200"))
PAGES = int(os.environ.get("BENCH_PAGES", "4"))
RUNS = int(os.environ.get("BENCH_RUNS", "100"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "2"))
CUTS = int(os.environ.get("BENCH_CUTS", "20"))
FIRST_S, PATIENT_S = (0.05, 0.5), (0.25, 1.0)
"""`backoff.ts`: the least and most before the first try, and before each of the next ninety."""
AWAY = (OSError, WebSocketException)

NOTE = """(() => { const Plain = window.WebSocket; window.tries = []; window.losses = [];
window.snapshots = [];
const now = () => performance.timeOrigin + performance.now();
window.WebSocket = class extends Plain { constructor(...where) { super(...where);
  window.tries.push(now());
  this.addEventListener("close", () => window.losses.push(now()));
  this.addEventListener("message", ({ data }) => {
    if (data.startsWith('{"type":"snapshot"')) window.snapshots.push(now()); }); } }; })()"""
NOTED = "({ tries: window.tries, losses: window.losses, snapshots: window.snapshots })"


class Screen:
    """Listens to the board; cut off, it comes back by the page's law."""

    def __init__(self, running: Any) -> None:
        self._origin = running.url
        self._place = f"{running.url.replace('http', 'ws', 1)}/ws/projects/{running.project}/"
        cookies = running.cookies().items()
        self._headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies)}
        self.snapshots: list[float] = []
        self._line: ClientConnection | None = None

    async def watch(self) -> None:
        self._attempt = 0
        while True:
            with suppress(*AWAY):
                await self.listen()
            least, most = PATIENT_S if self._attempt else FIRST_S
            self._attempt += 1
            await asyncio.sleep(random.uniform(least, most))  # noqa: S311 - to spread them

    async def listen(self, *, once: bool = False) -> None:
        how: Any = {"additional_headers": self._headers, "origin": self._origin}
        async with connect(self._place, **how, max_size=None, open_timeout=120) as self._line:
            async for text in self._line:
                if str(text).startswith('{"type":"snapshot"'):
                    self.snapshots.append(time.time())
                    self._attempt = 0
                if once:
                    return

    def cut(self) -> None:
        if self._line is not None:
            self._line.transport.abort()


async def answering(running: Any) -> float:
    """Ask until the server answers; returns when it did."""
    where = running.url.removeprefix("http://").split(":")
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(*where)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            line = await reader.readline()
            writer.close()
            if line.startswith(b"HTTP/1.1 200"):
                return time.time()
        await asyncio.sleep(0.01)


async def kill(running: Any) -> float:
    os.kill(running.pid_of("daphne"), signal.SIGKILL)
    return await answering(running)


async def restart(running: Any) -> float:
    running.options = ("--port", str(urlsplit(running.url).port))
    await asyncio.to_thread(running.stop)
    starting = asyncio.create_task(asyncio.to_thread(running.start))
    at = await answering(running)
    await starting
    return at


# --- one event, looked at from all screens ---------------------------------------------


async def come_back(
    running: Any, screens: list[Screen], pages: list[Page], leave: Callable[..., Awaitable[float]]
) -> dict[str, Any]:
    """Have the server go and come; tell when each screen had its snapshot again."""
    before = [len(screen.snapshots) for screen in screens]
    left = time.time()
    at = await leave(running)
    pairs = list(zip(screens, before, strict=True))
    await until(lambda: all(len(screen.snapshots) > count for screen, count in pairs))
    took = [screen.snapshots[count] - at for screen, count in pairs]
    found = {"away_s": round(at - left, 1), "sockets_ms": spread(took), **within(took)}
    if pages:
        found["pages_ms"] = spread([await caught_up(page, left) - at for page in pages])
    return found


async def until(claim: Callable[[], bool]) -> None:
    while not claim():  # noqa: ASYNC110 - it asks several screens
        await asyncio.sleep(0.02)


async def caught_up(page: Page, left: float) -> float:
    """Return when a page had its first snapshot after that moment."""
    while True:
        at = await page.evaluate("since => window.snapshots.find(at => at > since)", left * 1000)
        if at:
            return float(at) / 1000
        await asyncio.sleep(0.05)


def spread(took: list[float]) -> dict[str, float]:
    """Tell seconds in milliseconds."""
    ordered = sorted(1000 * one for one in took)
    at = {
        name: ordered[int(len(ordered) * part)]
        for name, part in {"p50": 0.5, "p90": 0.9, "p99": 0.99}.items()
    }
    marks = {"first": ordered[0], **at, "last": ordered[-1]}
    return {name: round(value) for name, value in marks.items()}


def within(took: list[float]) -> dict[str, int]:
    """Tell how many came within any 100 ms and within any second: the peak."""

    def most(span: float) -> int:
        return max(sum(first <= one < first + span for one in took) for first in took)

    return {"most_within_100_ms": most(0.1), "most_within_1_s": most(1.0)}


async def law_of(pages: list[Page]) -> dict[str, Any]:
    """Tell how long the pages waited between a loss and their next try, in ms."""
    first: list[float] = []
    later: list[float] = []
    for page in pages:
        noted = await page.evaluate(NOTED)
        for lost in noted["losses"]:
            snapshot_at = max((at for at in noted["snapshots"] if at < lost), default=0)
            again = any(snapshot_at < other < lost for other in noted["losses"])
            tries = [at - lost for at in noted["tries"] if at > lost]
            (later if again else first).extend(tries[:1])
    waits = {"first_wait": first, "later_waits": later}
    return {name: from_to(took) for name, took in waits.items() if took}


def from_to(took: list[float]) -> dict[str, int]:
    return {"tries": len(took), "least": round(min(took)), "most": round(max(took))}


# --- the whole -------------------------------------------------------------------------


async def at_once(running: Any, count: int) -> list[float]:
    """Open so many sockets in one moment: what the standing server can do."""
    screens = [Screen(running) for _ in range(count)]
    began = time.time()
    await asyncio.gather(*(screen.listen(once=True) for screen in screens))
    return [screen.snapshots[0] - began for screen in screens]


async def floors(running: Any) -> dict[str, Any]:
    took = await at_once(running, SCREENS)
    alone = [(await at_once(running, 1))[0] for _ in range(CUTS)]
    return {"floor": {"sockets_ms": spread(took), **within(took)}, "floor_alone_ms": spread(alone)}


async def cut(screen: Screen) -> dict[str, float]:
    """Drop one screen's line again and again."""
    took = []
    for count in range(len(screen.snapshots), len(screen.snapshots) + CUTS):
        began = time.time()
        screen.cut()
        await until(lambda known=count: len(screen.snapshots) > known)  # type: ignore[misc]
        took.append(screen.snapshots[count] - began)
    return spread(took)


async def watched(screens: list[Screen]) -> list[asyncio.Task[None]]:
    watching = [asyncio.create_task(screen.watch()) for screen in screens]
    await until(lambda: all(screen.snapshots for screen in screens))
    return watching


async def let_go(watching: list[asyncio.Task[None]]) -> None:
    for task in watching:
        task.cancel()
    await asyncio.gather(*watching, return_exceptions=True)


async def opened_pages(browser: Browser, running: Any) -> list[Page]:
    pages = []
    for _ in range(PAGES):
        context = await browser.new_context(service_workers="block")
        cookies = running.cookies().items()
        await context.add_cookies([{"name": n, "value": v, "url": running.url} for n, v in cookies])
        await context.add_init_script(NOTE)
        page = await context.new_page()
        await page.goto(running.url)
        await caught_up(page, 0)
        pages.append(page)
    return pages


async def measure(running: Any, browser: Browser) -> dict[str, Any]:
    found = await floors(running)
    pages = await opened_pages(browser, running)
    screens = [Screen(running) for _ in range(SCREENS)]
    watching = await watched(screens)
    for name, leave in {"killed": kill, "restarted": restart}.items():
        found[name] = [await come_back(running, screens, pages, leave) for _ in range(ROUNDS)]
    found["waits_of_pages_ms"] = await law_of(pages)
    await let_go(watching)
    for page in pages:
        await page.context.close()
    one = Screen(running)
    watching = await watched([one])
    for name, leave in {"killed_alone": kill, "restarted_alone": restart}.items():
        rounds = [await come_back(running, [one], [], leave) for _ in range(ROUNDS)]
        found[name] = {"ms": [row["sockets_ms"]["last"] for row in rounds]}
    found["cut_alone_ms"] = await cut(one)
    await let_go(watching)
    return found


async def main() -> None:
    with tempfile.TemporaryDirectory() as place, an_installation(Path(place) / "data") as running:
        wait_for(lambda: is_ready(running), seconds=60)
        Crowd.of(an_agent_of(running), RUNS).work(turns=4)
        async with async_playwright() as playwright:
            launching = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
            browser = await launching
            found = await measure(running, browser)
            await browser.close()
    head = {"bench": "reconnect", "screens": SCREENS, "pages": PAGES, "runs": RUNS}
    load = [round(one, 1) for one in os.getloadavg()]
    print(json.dumps({**head, **found, "load": load}, indent=1))


if __name__ == "__main__":
    os.chdir(ROOT)
    asyncio.run(main())
