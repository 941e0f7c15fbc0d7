"""What a turn costs as there is more of everything: open runs, turns, a run's length, workers.

Run `uv run python -m tests.bench.bench_growth [TABLE…]`; prints JSON. A real `up`, real HTTP:
sixteen agents report finished turns and wait for each verdict. *Open runs* are put into the
database beside them, by its own services, and rest; *turns* were told and judged before, of
other runs; *length* are those of the very run whose one agent goes on; *workers* is
`MISSIONCONTROL_WORKERS`. Each row is measured beside a bare ASGI hello
under Daphne in the same round: `hellos` is the processor time of all processes of the
server for one turn in that unit, `idle` what they use a second when nobody says anything,
in thousandths of a core.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.bench_verdicts import (
    HELLO,
    Agent,
    Caller,
    a_floor,
    cpu_ms,
    head,
    is_ready,
    measure,
    pids_of,
    spread,
)
from tests.installations import ROOT, an_installation, wait_for

OPEN_RUNS = tuple(int(n) for n in os.environ.get("BENCH_OPEN_RUNS", "10 1000 10000").split())
TURNS = tuple(int(n) for n in os.environ.get("BENCH_TURNS", "0 10000 100000").split())
LENGTHS = tuple(int(n) for n in os.environ.get("BENCH_LENGTHS", "0 1000 10000 100000").split())
WORKERS = tuple(int(n) for n in os.environ.get("BENCH_WORKERS", "1 2 4").split())
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
AGENTS = int(os.environ.get("BENCH_AGENTS", "16"))
IDLE_S = 6.0


def fill(running: Any, *, runs: int = 0, turns: int = 0, run: str = "") -> None:
    """Put so many open runs into the database, and turns of sixteen of them or of one `run`."""
    of_run = ["--run", run] if run else []
    subprocess.run(
        [sys.executable, "-m", "tests.bench.fill", str(runs), str(turns), *of_run],
        cwd=ROOT,
        env=running.own_environment(),
        check=True,
    )


@contextmanager
def an_up(**environment: str) -> Iterator[Any]:
    with (
        tempfile.TemporaryDirectory() as place,
        an_installation(Path(place) / "data", **environment) as running,
    ):
        wait_for(lambda: is_ready(running), seconds=60)
        yield running


class Continuing(Agent):
    """An agent that goes on in a run that is there: `key` names it, after the agent key."""

    def __init__(self, url: str, key: str) -> None:
        key, _, self._run = key.partition(" ")
        super().__init__(url, key)

    async def open(self) -> None:
        await self._connection.open()
        path = f"/api/v1/runs/{self._run}/turns/"
        self._asking = head("POST", path, Authorization=self._auth, Prefer="wait=30")


async def row_of(running: Any, run: str = "", **what: int) -> dict[str, Any]:
    """Measure a turn, and what the server does when nobody says anything."""
    pids, rounds = pids_of(running), []
    kind, agents = (Continuing, 1) if run else (Agent, AGENTS)
    async with a_floor(HELLO, 18732) as (hello, hello_pids):
        for _ in range(ROUNDS):
            floor = await measure(Caller, hello, "", agents, hello_pids)
            measured = await measure(
                kind, running.url, f"{running.agent_key} {run}".strip(), agents, pids
            )
            rounds.append({**measured, "hellos": measured["cpu_ms"] / floor["cpu_ms"]})
    used, begun = cpu_ms(pids()), time.monotonic()
    await asyncio.sleep(IDLE_S)
    idle = (cpu_ms(pids()) - used) / (time.monotonic() - begun)
    return {
        **what,
        **{name: spread([one[name] for one in rounds]) for name in rounds[0]},
        "idle": round(idle),
    }


def by_open_runs() -> Iterator[dict[str, Any]]:
    with an_up() as running:
        there = 0
        for runs in OPEN_RUNS:
            fill(running, runs=runs - there)
            there = runs
            yield asyncio.run(row_of(running, open_runs=runs))


def by_turns() -> Iterator[dict[str, Any]]:
    with an_up() as running:
        fill(running, runs=16)
        there = 0
        for turns in TURNS:
            fill(running, runs=16, turns=turns - there)
            there = turns
            yield asyncio.run(row_of(running, turns=turns))


def by_length() -> Iterator[dict[str, Any]]:
    with an_up() as running:
        _, opened = running.ask("POST", "/api/v1/runs/", {"name": "long", "agent": "bench"})
        there = 0
        for length in LENGTHS:
            fill(running, turns=length - there, run=opened["id"])
            there = length
            yield asyncio.run(row_of(running, opened["id"], length=length))


def by_workers() -> Iterator[dict[str, Any]]:
    for workers in WORKERS:
        with an_up(MISSIONCONTROL_WORKERS=str(workers)) as running:
            yield asyncio.run(row_of(running, workers=workers))


TABLES = {
    "open_runs": by_open_runs,
    "turns": by_turns,
    "length": by_length,
    "workers": by_workers,
}


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument(
        "tables", nargs="*", choices=TABLES, help="all of them unless some are named"
    )
    chosen = reading.parse_args().tables or list(TABLES)
    rows = [row for name in chosen for row in TABLES[name]()]
    database = "postgresql" if os.environ.get("DATABASE_URL") else "sqlite"
    print(json.dumps({"bench": "growth", "database": database, "rows": rows}, indent=1))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
