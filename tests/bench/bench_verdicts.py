"""Verdict round trips for 1, 16 and 64 agents, beside a bare Django view under Daphne.

Run `uv run python -m tests.bench.bench_verdicts [--against CHECKOUT]`; prints JSON. Server,
workers and the load share the machine's cores: read the figures as ratios to the floors,
which are measured in the same run, interleaved, several times. What runs once, the start of
each process and a second of the load, comes before.

`--against`: the server of another checkout, with a `.venv` of its own, stands beside ours and
is measured in every round too: `before`, and `rate_of_before`, verdicts a second now by then.

`cpu_ms` is the processor time of all processes of the server for one answer, of its
PostgreSQL connections too (of a Redis outside not, nor of the client). Its unit is a
bare ASGI application under Daphne that says hello to the same requests: `cpu_hellos`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from tests.installations import ROOT, all_pids, an_installation, read_proc, wait_for

AGENTS = tuple(int(number) for number in os.environ.get("BENCH_AGENTS", "1 16 64").split())
SECONDS = float(os.environ.get("BENCH_SECONDS", "3"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))

FLOOR = """
import os, django
from django.conf import settings
settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="floor",
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"])
django.setup()
from django.http import JsonResponse
from django.urls import path
urlpatterns = [path("floor/", lambda request: JsonResponse({"ok": True}))]
from django.core.asgi import get_asgi_application
application = get_asgi_application()
"""

HELLO = """
async def application(scope, receive, send):
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-type", b"application/json"), (b"content-length", b"16")]})
    await send({"type": "http.response.body", "body": b'{"judged": true}'})
"""

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
Pids = Callable[[], Collection[int]]


class Connection:
    """One kept HTTP/1.1 connection."""

    def __init__(self, url: str) -> None:
        self._host, self._port = urlsplit(url).hostname or "", urlsplit(url).port or 80

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)

    async def ask(self, head: bytes, body: bytes = b"") -> bytes:
        self._writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        raw = await self._reader.readuntil(b"\r\n\r\n")
        length = int(raw.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        answer = await self._reader.readexactly(length)
        assert raw.startswith(b"HTTP/1.1 20"), raw + answer
        return answer

    def close(self) -> None:
        self._writer.close()


def head(method: str, path: str, **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n").encode()


class Agent:
    """One healthy agent: report a finished call, wait for the verdict, again."""

    def __init__(self, url: str, key: str) -> None:
        self._connection, self._auth = Connection(url), f"Bearer {key}"

    async def open(self) -> None:
        await self._connection.open()
        opening = head("POST", "/api/v1/runs/", Authorization=self._auth)
        opened = await self._connection.ask(opening, b'{"name": "bench", "agent": "bench"}')
        path = f"/api/v1/runs/{json.loads(opened)['id']}/turns/"
        self._asking = head("POST", path, Authorization=self._auth, Prefer="wait=30")

    async def work(self, until: float, took: list[float]) -> None:
        number = 0
        while time.perf_counter() < until:
            number += 1
            body = json.dumps({"turns": [a_turn(number)]}).encode()
            started = time.perf_counter()
            reply = json.loads(await self._connection.ask(self._asking, body))
            took.append(time.perf_counter() - started)
            assert reply["judged"], reply
        self._connection.close()


def a_turn(number: int) -> dict[str, Any]:
    return {
        "key": uuid4().hex,
        "role": "assistant",
        "tool": "Bash",
        "args": {"command": f"sed -n {number},{number + 40}p app/module_{number}.py"},
        "result": f"def handler_{number}(request):\n    return Answer(status={number})\n" * 4,
        "usage": {"input": 1200, "output": 42},
        "model": "claude-sonnet-4-5",
        "call_id": uuid4().hex,
    }


class Visitor:
    """The same client before a view that does nothing."""

    def __init__(self, url: str, key: str) -> None:
        self._connection = Connection(url)

    async def open(self) -> None:
        await self._connection.open()

    async def work(self, until: float, took: list[float]) -> None:
        asking = head("GET", "/floor/")
        while time.perf_counter() < until:
            started = time.perf_counter()
            await self._connection.ask(asking)
            took.append(time.perf_counter() - started)
        self._connection.close()


class Caller(Agent):
    """The same client, the same requests, before an application that reads none of them."""

    async def open(self) -> None:
        await self._connection.open()
        path = f"/api/v1/runs/{uuid4()}/turns/"
        self._asking = head("POST", path, Authorization=self._auth, Prefer="wait=30")


async def measure(
    kind: Any, url: str, key: str, agents: int, pids: Pids, seconds: float = SECONDS
) -> dict[str, float]:
    """Run so many clients for a while; milliseconds and answers a second."""
    took: list[float] = []
    clients = [kind(url, key) for _ in range(agents)]
    for client in clients:
        await client.open()
    used, started = cpu_ms(pids()), time.perf_counter()
    await asyncio.gather(*(client.work(started + seconds, took) for client in clients))
    spent, used = time.perf_counter() - started, cpu_ms(pids()) - used
    ordered = sorted(took)
    return {
        "p50_ms": round(1000 * ordered[len(ordered) // 2], 2),
        "p99_ms": round(1000 * ordered[int(len(ordered) * 0.99)], 2),
        "per_s": round(len(took) / spent),
        "cpu_ms": round(used / len(took), 3),
    }


def cpu_ms(pids: Collection[int]) -> float:
    """Return the processor time that these processes have used."""
    fields = (read_proc(pid, "stat").rpartition(b")")[2].split() for pid in pids)
    return TICK_MS * sum(int(one[11]) + int(one[12]) for one in fields if one)


def pids_of(running: Any) -> Pids:
    """Return what names the server's processes, and its connections' at PostgreSQL."""
    database = running.environment.get("DATABASE_URL", "").rpartition("/")[2].encode()

    def named() -> Collection[int]:
        here = set(running.processes())
        if database:
            here |= {pid for pid in all_pids() if serves(pid, database)}
        return here

    return named


def serves(pid: int, database: bytes) -> bool:
    line = read_proc(pid, "cmdline")
    return line.startswith(b"postgres: ") and database in line


@asynccontextmanager
async def a_floor(code: str, port: int) -> AsyncIterator[tuple[str, Pids]]:
    """Serve an application under Daphne."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "floor.py").write_text(code)
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "daphne", "-p", str(port), "-v", "0", "floor:application"),
            cwd=place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            await answering(port)
            yield f"http://127.0.0.1:{port}", lambda: [server.pid]
        finally:
            server.terminate()
            await server.wait()


async def answering(port: int) -> None:
    for _ in range(200):
        try:
            (await asyncio.open_connection("127.0.0.1", port))[1].close()
        except OSError:
            await asyncio.sleep(0.1)
        else:
            return
    raise TimeoutError("the bare view did not start")


async def compare(running: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with a_floor(FLOOR, 18731) as (bare, bare_pids), a_floor(HELLO, 18732) as (hi, hi_pids):
        clients: dict[str, tuple[Any, str, str, Pids]] = {
            name: (Agent, server.url, server.agent_key, pids_of(server))
            for name, server in running.items()
        }
        clients["bare_view"] = (Visitor, bare, "", bare_pids)
        clients["hello"] = (Caller, hi, "", hi_pids)
        for client in clients.values():
            await measure(*client[:3], max(AGENTS), client[3], seconds=1)
        for agents in AGENTS:
            rounds = [
                {
                    name: await measure(kind, url, key, agents, pids)
                    for name, (kind, url, key, pids) in clients.items()
                }
                for _ in range(ROUNDS)
            ]
            found[str(agents)] = summary(rounds)
    return found


def summary(rounds: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    report: dict[str, Any] = {
        kind: {name: spread([one[kind][name] for one in rounds]) for name in rounds[0][kind]}
        for kind in rounds[0]
    }
    report["p50_ratio"] = ratios(rounds, "p50_ms", "bare_view")
    report["cpu_hellos"] = ratios(rounds, "cpu_ms", "hello")
    if "before" in report:
        report["rate_of_before"] = ratios(rounds, "per_s", "before")
        report["cpu_of_before"] = ratios(rounds, "cpu_ms", "before")
    return report


def ratios(rounds: list[dict[str, dict[str, float]]], name: str, floor: str) -> dict[str, float]:
    return spread([one["verdict"][name] / one[floor][name] for one in rounds])


def spread(values: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), 2),
        "min": round(min(values), 2),
        "max": round(max(values), 2),
    }


def is_ready(running: Any) -> bool:
    try:
        return bool(running.get("/readyz")["ok"])
    except OSError:
        return False


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("--against", type=Path, help="another checkout")
    against = reading.parse_args().against
    with tempfile.TemporaryDirectory() as place, ExitStack() as ending:
        running = {"verdict": ending.enter_context(an_installation(Path(place) / "data"))}
        if against:
            other = an_installation(Path(place) / "before", checkout=against.resolve())
            running["before"] = ending.enter_context(other)
        for server in running.values():
            wait_for(lambda server=server: is_ready(server) and server.pid_of(" beat "))
        found = asyncio.run(compare(running))
    database = "postgresql" if os.environ.get("DATABASE_URL") else "sqlite"
    print(json.dumps({"bench": "verdicts", "database": database, "agents": found}, indent=1))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
