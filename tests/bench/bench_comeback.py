"""A thousand agents come back after both web processes went: what is lost, and how soon.

Run `uv run python -m tests.bench.bench_comeback`; prints JSON. A real `up` with a second web
process beside its own, half of the agents at each: sessions of our SDK, all in this process, with
its pauses and its outbox. A tenth of them is held; the others ask for a verdict all at once, and
again, about once a second, until the server has given one. *Standing*: nothing went. *Killed*,
*stopped*: both web processes go in that moment, by SIGKILL or SIGTERM; `up` starts its own again,
the bench the other. In the end a person continues every hold, and what is stored is compared with
what was done.

`verdict_s` runs from when both answer `/healthz` (*standing*: from the asking) to the verdict.
`held_ask` is what came of the held calls' questions meanwhile: the most within any tenth of a
second, and within any second. `seen` is who looks meanwhile at either process, in ms.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import guard
from guard.events import Directed
from guard.sdk.aio import AsyncHttpTransport
from guard.wire import DirectiveAction
from tests.bench.bench_reconnect import answering, spread, until, within
from tests.bench.bench_verdicts import is_ready, serves
from tests.contract.conversation import Caller, the_person_of
from tests.faults.test_reconnect import a_free_port, environment_of
from tests.installations import ROOT, all_pids, an_installation, read_proc, wait_for

AGENTS = int(os.environ.get("BENCH_AGENTS", "1000"))
HELD = AGENTS // 10
LOOKED_AT = ("/healthz", "/login/", "/api/v1/decisions/?status=open&limit=50")
polls: list[float] = []
"""When a held call asked."""


class Noting(AsyncHttpTransport):
    async def send(self, request: Any) -> Any:
        if "/directive/" in request.path:
            polls.append(time.time())
        return await super().send(request)


class Agent:
    """One session; `verdicts` are when the server answered one of its proposals, and how."""

    def __init__(self, number: int, url: str, key: str, outbox: Path) -> None:
        self.name, self.done, self.verdicts = f"agent-{number}", 0, [(0.0, DirectiveAction.PROCEED)]
        self.session = guard.AsyncSession(
            self.name, url=url, key=key, outbox=outbox, ask=False, mode="pause", emit=self._heard
        )
        self.session._transport = Noting(url, key)  # noqa: SLF001 - the SDK's own, counted

    def _heard(self, event: object) -> None:
        if isinstance(event, Directed) and event.turn.phase == "proposed":
            self.verdicts.append((time.time(), event.directive.action))

    @property
    def is_held(self) -> bool:
        return self.verdicts[-1][1] is DirectiveAction.HOLD

    async def call(self, command: str = "", **outcome: Any) -> None:
        command = command or f"sed -n {self.done}p src/{random.getrandbits(32):x}.py"  # noqa: S311
        go = await self.session.before("Bash", {"command": command})
        assert go.run, go.text
        await self.session.after(go, **(outcome or {"result": f"{random.getrandbits(64):x}"}))  # noqa: S311
        self.done += 1

    async def get_held(self) -> None:
        for _ in range(3):
            await self.call("pytest missing.py", error="file not found: missing.py")

    async def ask(self, since: float) -> None:
        while self.verdicts[-1][0] < since:
            await self.call()
            await asyncio.sleep(random.uniform(0.5, 1.5))  # noqa: S311 - an agent's own work


class Webs:
    """`up`'s web process and ours."""

    def __init__(self, running: Any) -> None:
        self.running, self.environment, self.port = running, environment_of(running), a_free_port()
        self.urls = (running.url, f"http://127.0.0.1:{self.port}")
        self._start()

    def _start(self) -> None:
        command = ("-m", "daphne", "-v", "0", "-p", str(self.port), "missioncontrol.asgi:application")
        with (self.running.data / "logs" / "second-web.log").open("ab") as log:
            self.ours = subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=self.environment, stdout=log, stderr=log
            )

    def pids(self) -> tuple[int, int]:
        return self.running.pid_of("daphne --verb"), self.ours.pid

    def go(self, by: signal.Signals) -> None:
        for pid in self.pids():
            os.kill(pid, by)
        self.ours.wait()
        self._start()

    async def answering(self) -> float:
        return max([await answering(SimpleNamespace(url=url)) for url in self.urls])


class Looks(threading.Thread):
    """A person and a supervisor, who look at both; and how many connections the database has."""

    def __init__(self, webs: Webs) -> None:
        super().__init__(daemon=True)
        self.took: dict[str, list[float]] = defaultdict(list)
        self.connections, self.over = 0, threading.Event()
        headers = the_person_of(webs.running).headers
        self._callers = [Caller(url, headers | {"Origin": url}) for url in webs.urls]
        self._database = webs.environment["DATABASE_URL"].rpartition("/")[2].encode() if "DATABASE_URL" in webs.environment else b"-"

    def run(self) -> None:
        while not self.over.wait(0.25):
            now_open = sum(serves(pid, self._database) for pid in all_pids())
            self.connections = max(self.connections, now_open)
            for caller in self._callers:
                for path in LOOKED_AT:
                    self._look(caller, path)

    def _look(self, caller: Caller, path: str) -> None:
        began, status = time.time(), "refused"
        try:
            status = str(caller.ask("GET", path).status)
        except OSError:
            pass
        except ValueError:
            status = "200"  # a page, no JSON
        self.took[f"{path} {status}"].append(time.time() - began)


async def one_round(webs: Webs, agents: list[Agent], by: signal.Signals | None) -> dict[str, Any]:
    """Have all ask at once, as the server stands or goes."""
    looks = Looks(webs)
    looks.start()
    since = time.time()
    polls.clear()
    working = [one for one in agents if not one.is_held]
    if by:
        await asyncio.to_thread(webs.go, by)
    asking = [asyncio.create_task(one.ask(since + 1e-3)) for one in working]
    at = await webs.answering() if by else since
    await asyncio.gather(*asking)
    took = [next(when for when, _ in one.verdicts if when > since) - at for one in working]
    if by:  # every held call has asked again by then
        await asyncio.sleep(6)
    looks.over.set()
    await asyncio.to_thread(looks.join)
    cards = await asyncio.to_thread(lambda: list(open_cards(webs)))
    return {
        "away_s": round(at - since, 1),
        "verdict_ms": spread(took),
        "held": sum(one.is_held for one in agents),
        "known_to_wait": sum(card["agent_waiting"] for card in cards),
        "held_ask": within(polls) if polls else None,
        "connections": looks.connections,
        "peak_mb": [peak_mb(pid) for pid in webs.pids()],
        "seen_ms": {name: spread(times) | {"n": len(times)} for name, times in sorted(looks.took.items())},
    }


def open_cards(webs: Webs) -> Any:
    return the_person_of(webs.running).each("/api/v1/decisions/?status=open&limit=500")


def peak_mb(pid: int) -> int:
    status = read_proc(pid, "status").decode()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


async def story(webs: Webs, outbox: Path) -> dict[str, Any]:
    running = webs.running
    await webs.answering()
    agents = [Agent(n, webs.urls[n % 2], running.agent_key, outbox) for n in range(AGENTS)]
    gate = asyncio.Semaphore(20)

    async def begin(one: Agent) -> None:
        async with gate:
            await one.session.__aenter__()
            await one.call()

    await asyncio.gather(*map(begin, agents))
    looping = [asyncio.create_task(one.get_held()) for one in agents[:HELD]]
    await until(lambda: all(one.is_held for one in agents[:HELD]))
    print("begun", file=sys.stderr, flush=True)
    found: dict[str, Any] = {"agents": AGENTS}
    for name, by in {"standing": None, "killed": signal.SIGKILL, "stopped": signal.SIGTERM}.items():
        found[name] = await one_round(webs, agents, by)
        print(name, json.dumps(found[name], indent=1), file=sys.stderr, flush=True)
    person = the_person_of(running)
    for card in await asyncio.to_thread(lambda: list(open_cards(webs))):
        await asyncio.to_thread(
            person.tap, card["run"], "continue", decision=card["id"], version=card["version"]
        )
    await asyncio.gather(*looping)
    for one in agents:
        await one.session.close()
    rows = await asyncio.to_thread(lambda: list(person.each("/api/v1/runs/?limit=500")))
    stored = {row["name"]: row["turns"] for row in rows}
    found["turns"] = sum(one.done for one in agents)
    found["runs_with_other_turns"] = sum(stored[one.name] != one.done for one in agents)
    found["ended"] = Counter(row["status"] for row in rows)
    return found


def main() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
    with tempfile.TemporaryDirectory() as place, an_installation(Path(place) / "data") as running:
        wait_for(lambda: is_ready(running) and running.pid_of(" beat "))
        webs = Webs(running)
        try:
            found = asyncio.run(story(webs, Path(place) / "outbox"))
        finally:

            webs.ours.kill()
            webs.ours.wait()
        logged = (log.read_text(errors="replace") for log in (running.data / "logs").glob("*.log"))
        found["errors_logged"] = sum(text.count("ERROR") + text.count("Traceback") for text in logged)
    print(json.dumps({"bench": "comeback", **found}, indent=1))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
