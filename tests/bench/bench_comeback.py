"""A thousand agents come back after both web processes went: what is lost, and how soon.

Run `uv run python -m tests.bench.bench_comeback`; prints JSON. A real `up` with a second web
process beside its own, half of the agents at each: sessions of our SDK, all in this process, with
its pauses and its outbox. A tenth is held; the others ask for a verdict all at once, and again
about once a second, until the server has given one. *Standing*: nothing went. *Killed*, *stopped*:
both web processes go in that moment, by SIGKILL or SIGTERM, and are started again. In the end a
person continues every hold, and what is stored is compared with what was done.

`verdict_ms` runs from when both answer `/healthz` (*standing*: from the asking) to the verdict;
`held_ask` says how many of the held calls' questions came within a tenth of a second, and a second.
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
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import guard
from guard.events import Directed
from guard.sdk.aio import AsyncHttpTransport
from guard.wire import DirectiveAction
from tests.bench.bench_reconnect import answering, spread, until, within
from tests.bench.bench_verdicts import is_ready
from tests.contract.conversation import the_person_of
from tests.faults.test_reconnect import a_free_port, environment_of
from tests.installations import ROOT, an_installation, wait_for

AGENTS = int(os.environ.get("BENCH_AGENTS", "1000"))
CARDS = "/api/v1/decisions/?status=open&limit=500"
polls: list[float] = []
"""When a held call asked."""


class Noting(AsyncHttpTransport):
    """The SDK's own, which notes what held calls ask."""

    async def send(self, request: Any) -> Any:
        if "/directive/" in request.path:
            polls.append(time.time())
        return await super().send(request)


class Agent:
    """One session; `verdicts` are when the server answered one of its proposals, and how."""

    def __init__(self, number: int, url: str, key: str, outbox: Path) -> None:
        self.name, self.done, self.verdicts = f"agent-{number}", 0, [(0.0, "")]
        self.session = guard.AsyncSession(
            self.name, url=url, key=key, outbox=outbox, ask=False, mode="pause", emit=self._heard
        )
        self.session._transport = Noting(url, key)

    def _heard(self, event: object) -> None:
        if isinstance(event, Directed) and event.turn.phase == "proposed":
            self.verdicts.append((time.time(), event.directive.action))

    @property
    def is_held(self) -> bool:
        return self.verdicts[-1][1] == DirectiveAction.HOLD

    async def call(self, command: str, **outcome: str) -> None:
        go = await self.session.before("Bash", {"command": command})
        assert go.run, go.text
        await self.session.after(go, **outcome)
        self.done += 1

    async def get_held(self) -> None:
        for _ in range(3):
            await self.call("pytest missing.py", error="file not found: missing.py")

    async def ask(self, since: float) -> None:
        while self.verdicts[-1][0] < since:
            number = random.getrandbits(64)
            await self.call(f"cat src/{number:x}.py", result=f"value = {number}")
            await asyncio.sleep(random.uniform(0.5, 1.5))  # noqa: S311 - its own work


class Webs:
    """`up`'s web process, which it starts again, and ours."""

    def __init__(self, running: Any) -> None:
        self.running, self.environment, self.port = running, environment_of(running), a_free_port()
        self.urls = (running.url, f"http://127.0.0.1:{self.port}")
        self.start()

    def start(self) -> None:
        served = ("-v", "0", "-p", str(self.port), "missioncontrol.asgi:application")
        with (self.running.data / "logs" / "second.log").open("ab") as log:
            self.ours = subprocess.Popen(
                [sys.executable, "-m", "daphne", *served],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
            )

    def go(self, by: signal.Signals) -> None:
        os.kill(self.running.pid_of("daphne --verb"), by)
        self.ours.send_signal(by)
        self.ours.wait()
        self.start()

    async def answering(self) -> float:
        return max([await answering(SimpleNamespace(url=url)) for url in self.urls])


async def one_round(webs: Webs, agents: list[Agent], by: signal.Signals | None) -> dict[str, Any]:
    polls.clear()
    since, working = time.time(), [one for one in agents if not one.is_held]
    asking = [asyncio.create_task(one.ask(since)) for one in working]
    if by:
        await asyncio.to_thread(webs.go, by)
    at = await webs.answering() if by else since
    await asyncio.gather(*asking)
    took = [next(when for when, _ in one.verdicts if when > since) - at for one in working]
    held = [one for one in agents if one.is_held]
    person = the_person_of(webs.running)

    def known_to_wait() -> bool:
        return len(held) == sum(bool(card["agent_waiting"]) for card in person.each(CARDS))

    await asyncio.to_thread(wait_for, known_to_wait)
    round_: dict[str, Any] = {"held": len(held), "verdict_ms": spread(took)}
    return round_ | ({"away_s": round(at - since, 1), "held_ask": within(polls)} if by else {})


async def story(webs: Webs, outbox: Path) -> dict[str, Any]:
    await webs.answering()
    key, person = webs.running.agent_key, the_person_of(webs.running)
    agents = [Agent(n, webs.urls[n % 2], key, outbox) for n in range(AGENTS)]
    for first in range(0, AGENTS, 20):
        await asyncio.gather(*(one.session.__aenter__() for one in agents[first : first + 20]))
    held = agents[: AGENTS // 10]
    looping = [asyncio.create_task(one.get_held()) for one in held]
    await until(lambda: all(one.is_held for one in held))
    found: dict[str, Any] = {"bench": "comeback", "agents": AGENTS}
    for name, by in {"standing": None, "killed": signal.SIGKILL, "stopped": signal.SIGTERM}.items():
        found[name] = await one_round(webs, agents, by)
        sys.stderr.write(f"{name}: {json.dumps(found[name])}\n")
    for card in await asyncio.to_thread(lambda: list(person.each(CARDS))):
        how = {"decision": card["id"], "version": card["version"]}
        await asyncio.to_thread(person.tap, card["run"], "continue", **how)
    await asyncio.gather(*looping)
    for one in agents:
        await one.session.close()
    rows = await asyncio.to_thread(lambda: list(person.each("/api/v1/runs/?limit=500")))
    stored = {row["name"]: row["turns"] for row in rows}
    told_otherwise = sum(stored[one.name] != one.done for one in agents)
    return found | {"turns": sum(stored.values()), "runs_with_other_turns": told_otherwise}


def main() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as place, an_installation(Path(place) / "data") as running:
        wait_for(lambda: is_ready(running) and running.pid_of(" beat "))
        webs = Webs(running)
        try:
            found = asyncio.run(story(webs, Path(place) / "outbox"))
        finally:
            webs.ours.kill()
            webs.ours.wait()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
