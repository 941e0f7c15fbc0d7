"""From a tap to the agent it frees, while fifty other runs are busy.

Run `uv run python -m tests.bench.bench_release [--rounds 3] [--taps 300] [--seconds 100]`;
prints JSON: each round's figures, and of all rounds the median and what they lie between.
A round ends with its last tap or after so many seconds. A real `up`; fifty runs,
in a process of their own, each tell a finished turn every `BENCH_PAUSE_S` seconds (1; 0:
as fast as they are answered) and wait for its verdict. Beside them agents get stuck and
are held, half with a session's long poll, half inside Claude Code's hook. A person hears
of them by the board's socket and taps Continue over REST with a session. The clock starts
when the tap is sent and stops when the answer to the waiting request has arrived.

The floor is `GET /healthz` on the same loaded server, asked just before each tap:
a machine that others use has a p99 of its own.
`DATABASE_URL` and `REDIS_URL` measure on PostgreSQL and a Redis of one's own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import multiprocessing
import os
import random
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from websockets.asyncio.client import connect

from tests.bench.bench_verdicts import Connection, a_turn, head, is_ready
from tests.installations import ROOT, an_installation, wait_for

BUSY = int(os.environ.get("BENCH_BUSY", "50"))
PAUSE_S = float(os.environ.get("BENCH_PAUSE_S", "1"))
HELD = int(os.environ.get("BENCH_HELD", "8"))
LOOKS_S = 0.15
"""How long the person looks at a held card before the tap."""
WARM_UP_S = 4.0


# --- the fifty, in a process of their own ----------------------------------------------


async def keep_busy(url: str, key: str, turns: Any) -> None:
    """Have fifty runs work until this process is ended."""
    await asyncio.gather(*(work(url, key, turns) for _ in range(BUSY)))


async def work(url: str, key: str, turns: Any) -> None:
    """Tell one turn after the other, spread so that runs do not march in step."""
    connection, auth = Connection(url), f"Bearer {key}"
    await connection.open()
    opening = head("POST", "/api/v1/runs/", Authorization=auth)
    run = json.loads(await connection.ask(opening, b'{"name": "busy", "agent": "busy"}'))["id"]
    asking = head("POST", f"/api/v1/runs/{run}/turns/", Authorization=auth, Prefer="wait=30")
    for number in itertools.count():
        await asyncio.sleep(PAUSE_S * random.uniform(0.5, 1.5))  # noqa: S311 - to spread them
        await connection.ask(asking, json.dumps({"turns": [a_turn(number)]}).encode())
        with turns.get_lock():
            turns.value += 1


def be_busy(url: str, key: str, turns: Any) -> None:
    asyncio.run(keep_busy(url, key, turns))


# --- those that are held ---------------------------------------------------------------


class Waiting:
    """One agent that gets stuck again and again, and notes when it was let go."""

    kind = ""

    def __init__(self, url: str, key: str) -> None:
        self._connection, self._auth = Connection(url), f"Bearer {key}"
        self.run, self.freed = "", asyncio.Queue[float]()

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        asking = head(method, path, Authorization=self._auth, **headers)
        raw = await self._connection.ask(asking, json.dumps(body).encode() if body else b"")
        return json.loads(raw) if raw else None

    async def begin(self) -> None:
        """Open a run."""
        raise NotImplementedError

    async def live(self) -> None:
        """Circle for ever; each hold ends in one answer."""
        for number in itertools.count():
            await self.circle(f"tests/test_{number}_{uuid4().hex[:6]}.py")

    async def circle(self, path: str) -> None:
        """Fail twice at a call, propose it again, and wait until that is answered."""
        raise NotImplementedError


class Polling(Waiting):
    """Holds a long poll open, as a session does."""

    kind = "session"

    async def begin(self) -> None:
        await self._connection.open()
        opened = await self.ask("POST", "/api/v1/runs/", {"name": "stuck", "agent": "bench"})
        self.run = opened["id"]

    async def circle(self, path: str) -> None:
        for error in ("No such file: tokens.py", "No such file: tokens.py", None):
            directive = await self._tell(path, error)
        while directive["action"] == "hold":
            place = f"/api/v1/runs/{self.run}/directive/?wait=60&after={directive['version']}"
            directive = await self.ask("GET", place) or directive
        self.freed.put_nowait(time.perf_counter())

    async def _tell(self, path: str, error: str | None) -> Any:
        outcome = {"error": error} if error else {"phase": "proposed"}
        turn = {
            "key": uuid4().hex,
            "role": "assistant",
            "tool": "Bash",
            "args": {"command": f"pytest {path}"},
            **outcome,
        }
        place = f"/api/v1/runs/{self.run}/turns/"
        reply = await self.ask("POST", place, {"turns": [turn]}, Prefer="wait=30")
        return reply["directive"]


class Hooked(Waiting):
    """Is held inside the request of its own hook, as Claude Code is."""

    kind = "hook"

    async def begin(self) -> None:
        await self._connection.open()
        self._session, self._calls = str(uuid4()), itertools.count()
        await self._hook("SessionStart", source="startup")
        key = f"claude-code:{self._session}"
        opened = await self.ask("POST", "/api/v1/runs/", {"name": "stuck", "key": key})
        self.run = opened["id"]

    async def circle(self, path: str) -> None:
        for last in (False, False, True):
            call = {
                "tool_name": "Bash",
                "tool_input": {"command": f"pytest {path}"},
                "tool_use_id": f"toolu_{next(self._calls)}",
            }
            await self._hook("PreToolUse", **call)
            if not last:
                await self._hook("PostToolUseFailure", **call, error="No such file: tokens.py")
        self.freed.put_nowait(time.perf_counter())
        await self._hook("PostToolUse", **call, tool_response={"stdout": f"4 passed in {path}"})

    async def _hook(self, event: str, **fields: Any) -> Any:
        base = {"session_id": self._session, "cwd": "/bench", "hook_event_name": event}
        return await self.ask("POST", "/api/v1/hooks/claude-code/", {**base, **fields})


# --- the person ------------------------------------------------------------------------


@dataclass
class Board:
    """What the socket told of the runs that get stuck: their cards, which are held."""

    cards: dict[str, dict[str, Any]] = field(default_factory=dict)
    held: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    def hear(self, frame: dict[str, Any]) -> None:
        for event in frame.get("events", [frame]):
            self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        run = str(event.get("run"))
        if event["type"] == "decision.opened":
            self.cards[run] = {"decision": event["row"]["id"], "version": event["version"]}
        elif run in self.cards and event["type"] == "decision.resolved":
            del self.cards[run]
        elif run in self.cards and event.get("status") == "held" and "told" not in self.cards[run]:
            self.cards[run].update(version=event["version"], told=True)
            self.held.put_nowait(run)


class Person:
    """Taps Continue on what is held, one after the other."""

    def __init__(self, running: Any, agents: dict[str, Waiting]) -> None:
        self._running, self._agents, self._board = running, agents, Board()
        self._taps, self._floor = Connection(running.url), Connection(running.url)
        cookies = running.cookies()
        self._signed_in = {
            "Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items()),
            "X-CSRFToken": cookies["csrftoken"],
        }

    async def watch(self) -> None:
        """Hear the board, as a phone does."""
        place = f"{self._running.url.replace('http', 'ws', 1)}/ws/projects/{self._running.project}/"
        headers = {"Cookie": self._signed_in["Cookie"]}
        origin: Any = self._running.url
        async with connect(place, additional_headers=headers, origin=origin, max_size=None) as ws:
            async for text in ws:
                self._board.hear(json.loads(text))

    async def begin(self) -> None:
        await self._taps.open()
        await self._floor.open()

    async def tap_one(self) -> dict[str, Any]:
        """Free one agent; returns its kind and milliseconds."""
        run = await self._board.held.get()
        await asyncio.sleep(LOOKS_S)
        card = self._board.cards[run]
        started = time.perf_counter()
        await self._floor.ask(head("GET", "/healthz"))
        floor = time.perf_counter() - started
        body = {
            "key": uuid4().hex,
            "action": "continue",
            "decision": card["decision"],
            "version": card["version"],
        }
        asking = head("POST", f"/api/v1/runs/{run}/interventions/", **self._signed_in)
        started = time.perf_counter()
        await self._taps.ask(asking, json.dumps(body).encode())
        answered = time.perf_counter() - started
        freed = await self._agents[run].freed.get() - started
        row = {"released": freed, "tap_answered": answered, "floor": floor}
        return {"kind": self._agents[run].kind} | {k: 1000 * v for k, v in row.items()}


async def measure(running: Any, *, taps: int, seconds: float) -> list[dict[str, Any]]:
    kinds = itertools.cycle((Polling, Hooked))
    agents = [next(kinds)(running.url, running.agent_key) for _ in range(HELD)]
    for agent in agents:
        await agent.begin()
    person = Person(running, {agent.run: agent for agent in agents})
    await person.begin()
    watching = asyncio.create_task(person.watch())
    await asyncio.sleep(WARM_UP_S)
    living = [asyncio.create_task(agent.live()) for agent in agents]
    took: list[dict[str, Any]] = []
    until = time.perf_counter() + seconds
    while len(took) < taps and time.perf_counter() < until:
        took.append(await person.tap_one())
    for task in (watching, *living):
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    return took


def one_round(*, taps: int, seconds: float) -> dict[str, Any]:
    """Start an installation of its own, make it busy, and tap."""
    with tempfile.TemporaryDirectory() as place, an_installation(Path(place) / "data") as running:
        wait_for(lambda: is_ready(running), seconds=60)
        turns = multiprocessing.get_context("spawn").Value("q", 0)
        load = multiprocessing.get_context("spawn").Process(
            target=be_busy, args=(running.url, running.agent_key, turns), daemon=True
        )
        load.start()
        started, at_first = time.perf_counter(), turns.value
        took = asyncio.run(measure(running, taps=taps, seconds=seconds))
        assert load.is_alive(), "the busy runs ended before the last tap"
        rate = (turns.value - at_first) / (time.perf_counter() - started)
        load.terminate()
        load.join()
    return figures(took) | {"busy_turns_per_s": round(rate, 1), "load": os.getloadavg()[0]}


def figures(took: list[dict[str, Any]]) -> dict[str, Any]:
    kinds = {
        kind: [one["released"] for one in took if one["kind"] == kind]
        for kind in ("session", "hook")
    }
    return {
        "taps": len(took),
        "released_ms": spread([one["released"] for one in took]),
        **{f"released_{kind}_ms": spread(values) for kind, values in kinds.items() if values},
        "tap_answered_ms": spread([one["tap_answered"] for one in took]),
        "floor_ms": spread([one["floor"] for one in took]),
    }


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "p50": round(statistics.median(ordered), 1),
        "p90": round(ordered[int(len(ordered) * 0.9)], 1),
        "p99": round(ordered[int(len(ordered) * 0.99)], 1),
        "max": round(ordered[-1], 1),
    }


def over(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each percentile the median over the rounds, the least and the most."""
    names = [name for name in rounds[0] if name.endswith("_ms")]
    return {
        name: {
            part: [
                round(pick([one[name][part] for one in rounds if name in one]), 1)
                for pick in (statistics.median, min, max)
            ]
            for part in ("p50", "p90", "p99")
        }
        for name in names
    }


def options() -> argparse.Namespace:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rounds", type=int, default=int(os.environ.get("BENCH_ROUNDS", "3")))
    asked.add_argument("--taps", type=int, default=int(os.environ.get("BENCH_TAPS", "300")))
    asked.add_argument(
        "--seconds", type=float, default=float(os.environ.get("BENCH_SECONDS", "100"))
    )
    return asked.parse_args()


def main() -> None:
    asked = options()
    rounds = [one_round(taps=asked.taps, seconds=asked.seconds) for _ in range(asked.rounds)]
    database = "postgresql" if os.environ.get("DATABASE_URL") else "sqlite"
    found = {"bench": "tap to release", "database": database, "busy": BUSY, "pause_s": PAUSE_S}
    report = {**found, "held": HELD, "median_min_max": over(rounds), "rounds": rounds}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
