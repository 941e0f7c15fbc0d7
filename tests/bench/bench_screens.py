"""What a turn costs the server while screens are open: CPU with 0, 20, 60 and 200 of them.

Run `uv run python -m tests.bench.bench_screens`; prints JSON. A real `up`; agents report
finished turns and wait for the verdict, as fast as they can; beside them so many boards of
their project are open, and once the pages of a run that rests. A screen reads its socket
and looks at nothing.

`cpu_ms` is the processor time of all processes of the server for one turn, `web_ms` that of
the web process alone; `hellos` is the first in units of a bare ASGI application under Daphne
that answers the same requests in the same round. `kb_s` is what one screen hears.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import secrets
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.bench.bench_verdicts import (
    HELLO,
    SECONDS,
    Agent,
    Caller,
    a_floor,
    cpu_ms,
    is_ready,
    measure,
    pids_of,
    spread,
)
from tests.installations import ROOT, an_installation, wait_for

AGENTS = tuple(int(number) for number in os.environ.get("BENCH_AGENTS", "1 16").split())
SCREENS = tuple(int(number) for number in os.environ.get("BENCH_SCREENS", "0 20 60 200").split())
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
PAGES = 60


class Screen:
    """A socket that is read and not looked at."""

    def __init__(self, running: Any, path: str) -> None:
        self.received = 0
        self._url, self._path = urlsplit(running.url), path
        self._cookies = "; ".join(f"{name}={value}" for name, value in running.cookies().items())

    async def open(self) -> None:
        """Shake hands and wait for the snapshot."""
        host, port = self._url.hostname or "", self._url.port or 80
        self._reader, self._writer = await asyncio.open_connection(host, port)
        asked = {
            "Host": f"{host}:{port}",
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": base64.b64encode(secrets.token_bytes(16)).decode(),
            "Sec-WebSocket-Version": "13",
            "Cookie": self._cookies,
            "Origin": f"{self._url.scheme}://{host}:{port}",
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in asked.items())
        self._writer.write(f"GET {self._path} HTTP/1.1\r\n{lines}\r\n".encode())
        head = await self._reader.readuntil(b"\r\n\r\n")
        assert b" 101 " in head, head
        assert b"snapshot" in await self._reader.read(512)
        self._hearing = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        while part := await self._reader.read(1 << 20):
            self.received += len(part)

    async def close(self) -> None:
        self._writer.close()
        await self._hearing


@asynccontextmanager
async def watched(screens: list[Screen]) -> AsyncIterator[list[Screen]]:
    """Have these screens open."""
    await asyncio.gather(*(screen.open() for screen in screens))
    await asyncio.sleep(0.5)
    try:
        yield screens
    finally:
        await asyncio.gather(*(screen.close() for screen in screens))


async def one_round(running: Any, agents: int, path: str, count: int) -> dict[str, float]:
    web = running.pid_of("daphne")
    async with watched([Screen(running, path) for _ in range(count)]) as screens:
        used, received = cpu_ms([web]), sum(screen.received for screen in screens)
        measured = await measure(Agent, running.url, running.agent_key, agents, pids_of(running))
        turns = measured["per_s"] * SECONDS
        return {
            **measured,
            "web_ms": round((cpu_ms([web]) - used) / turns, 2),
            "kb_s": round(
                (sum(s.received for s in screens) - received) / max(count, 1) / SECONDS / 1e3
            ),
        }


async def compare(running: Any) -> list[dict[str, Any]]:
    board = f"/ws/projects/{running.project}/"
    resting = running.ask("POST", "/api/v1/runs/", {"name": "rests", "agent": "bench"})[1]["id"]
    places = [("board", board, count) for count in SCREENS]
    places += [("page of another run", f"/ws/runs/{resting}/", PAGES)]
    found = []
    async with a_floor(HELLO, 18732) as (hello, hello_pids):
        for agents in AGENTS:
            rounds: list[dict[str, Any]] = [{} for _ in places]
            for _ in range(ROUNDS):
                floor = await measure(Caller, hello, "", agents, hello_pids)
                for place, (_, path, count) in enumerate(places):
                    row = await one_round(running, agents, path, count)
                    row["hellos"] = row["cpu_ms"] / floor["cpu_ms"]
                    for name, value in row.items():
                        rounds[place].setdefault(name, []).append(value)
            found += [
                {"agents": agents, "place": kind, "screens": count}
                | {name: spread(values) for name, values in row.items()}
                for (kind, _, count), row in zip(places, rounds, strict=True)
            ]
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as place, an_installation(Path(place) / "data") as running:
        wait_for(lambda: is_ready(running), seconds=60)
        found = asyncio.run(compare(running))
    print(json.dumps({"bench": "screens", "seconds": SECONDS, "rows": found}, indent=1))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
