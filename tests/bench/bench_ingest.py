"""Turns taken in: one at a time and twenty at once, by `turns/` and by OTLP, beside two peers.

Run `uv run python -m tests.bench.bench_ingest [--phoenix VENV] [--mlflow VENV]`; prints JSON.
One client after the other, one request at a time. The peers are Arize Phoenix and MLflow as
`pip install arize-phoenix` and `mlflow` set them up, each in an environment of its own with
SQLite, and are sent the very bytes that we are: OTLP/HTTP protobuf, spans of tool calls by
the GenAI conventions, each trace a session. All run in turn, several rounds; the floor is a
bare ASGI hello under Daphne before the same bytes.

`ms` is a request's time by its number of turns, `cpu_ms` the processor time of all processes
of a server by turn, until nothing more is done: ours judges and indexes them too.
`stored_at_answer` says of how many of the last requests all spans were in the database when
the answer came: who answers first can lose what it took.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import secrets
import socket
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.bench.bench_verdicts import (
    HELLO,
    Connection,
    Pids,
    a_floor,
    a_turn,
    cpu_ms,
    head,
    is_ready,
    pids_of,
    spread,
)
from tests.installations import ROOT, all_pids, an_installation, read_proc, wait_for

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
REQUESTS = int(os.environ.get("BENCH_REQUESTS", "60"))
AT_ONCE = (1, 20)
QUIET_S = 2.0
"""After a round, for what a server does behind its answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where turns go, and whose processor time they take."""

    url: str
    path: str
    pids: Pids
    headers: dict[str, str] = field(default_factory=dict)
    database: Path | None = None
    counted: str = ""
    """Asks the database how many turns are stored."""
    makes: Callable[[int, int, str], bytes]


def spans(first: int, count: int, trace: str) -> bytes:
    """Return so many tool calls of one trace; its outermost span is still under way."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.append(_attribute("service.name", "bench"))
    scope = resource.scope_spans.add()
    for number in range(first, first + count):
        turn, now = a_turn(number), time.time_ns()
        scope.spans.add(
            trace_id=bytes.fromhex(trace),
            span_id=secrets.token_bytes(8),
            parent_span_id=bytes.fromhex(trace)[:8],
            name=f"execute_tool {turn['tool']}",
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=now - 50_000_000,
            end_time_unix_nano=now,
            attributes=[
                _attribute("gen_ai.operation.name", "execute_tool"),
                _attribute("gen_ai.conversation.id", trace),
                _attribute("gen_ai.tool.name", turn["tool"]),
                _attribute("gen_ai.tool.call.id", turn["call_id"]),
                _attribute("gen_ai.tool.call.arguments", json.dumps(turn["args"])),
                _attribute("gen_ai.tool.call.result", turn["result"]),
            ],
        )
    return bytes(request.SerializeToString())


def _attribute(name: str, text: str) -> KeyValue:
    attribute = KeyValue(key=name)
    attribute.value.string_value = text
    return attribute


def turns(first: int, count: int, _trace: str) -> bytes:
    """Return so many tool calls as `turns/` takes them."""
    batch = [a_turn(number) for number in range(first, first + count)]
    return json.dumps({"turns": batch}).encode()


async def one_round(server: Server, count: int, trace: str, first: int) -> dict[str, float]:
    """Send requests of so many turns, one after the other."""
    content = "application/json" if server.makes is turns else "application/x-protobuf"
    asking = head("POST", server.path, **server.headers).replace(
        b"application/json", content.encode()
    )
    connection = Connection(server.url)
    await connection.open()
    bodies = [server.makes(first + number * count, count, trace) for number in range(REQUESTS)]
    took, known = [], []
    used = cpu_ms(server.pids())
    for number, body in enumerate(bodies):
        begun = time.perf_counter()
        await connection.ask(asking, body)
        took.append(time.perf_counter() - begun)
        if server.database is not None and number >= REQUESTS - 10:
            known.append(stored(server))
    await asyncio.sleep(QUIET_S)
    used = cpu_ms(server.pids()) - used
    connection.close()
    whole = sum(one - other == count for other, one in itertools.pairwise(known))
    row = {
        "ms": 1000 * statistics.median(took) / count,
        "cpu_ms": used / (REQUESTS * count),
    }
    return row | ({"stored_at_answer": whole / (len(known) - 1)} if known else {})


def stored(server: Server) -> int:
    with closing(sqlite3.connect(f"file:{server.database}?mode=ro", uri=True)) as database:
        return int(database.execute(server.counted).fetchone()[0])


def tree_of(process: subprocess.Popen[bytes]) -> Pids:
    """Return what names a process and all below it."""

    def named() -> list[int]:
        parents = {
            pid: int(fields[1])
            for pid in all_pids()
            if (fields := read_proc(pid, "stat").rpartition(b")")[2].split())
        }
        found = [process.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found

    return named


@contextmanager
def a_peer(command: list[str], place: Path, port: int, **environment: str) -> Iterator[Pids]:
    place.mkdir()
    env = {**os.environ, **environment, "HOME": str(place)}
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=place, env=env, stdout=log, stderr=log)
    try:
        wait_for(lambda: answers(port))
        time.sleep(5)  # it goes on importing
        yield tree_of(process)
    finally:
        process.terminate()
        process.wait()


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def a_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def phoenix(venv: Path, place: Path) -> Iterator[Server]:
    port = a_port()
    settings = {
        "PHOENIX_WORKING_DIR": str(place),
        "PHOENIX_PORT": str(port),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_GRPC_PORT": str(a_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    with a_peer([str(venv / "bin/phoenix"), "serve"], place, port, **settings) as pids:
        yield Server(
            url=f"http://127.0.0.1:{port}",
            path="/v1/traces",
            pids=pids,
            database=place / "phoenix.db",
            counted="SELECT count(*) FROM spans",
            makes=spans,
        )


@contextmanager
def mlflow(venv: Path, place: Path) -> Iterator[Server]:
    port, database = a_port(), place / "mlflow.db"
    command = [str(venv / "bin/mlflow"), "server", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{database}"]
    settings = {"MLFLOW_DISABLE_TELEMETRY": "true", "PATH": f"{venv}/bin:{os.environ['PATH']}"}
    with a_peer(command, place, port, **settings) as pids:
        yield Server(
            url=f"http://127.0.0.1:{port}",
            path="/v1/traces",
            pids=pids,
            headers={"x-mlflow-experiment-id": "0"},
            database=database,
            counted="SELECT count(*) FROM spans",
            makes=spans,
        )


def ours(running: Any) -> dict[str, Server]:
    """Return both ways in, and a turn that waits for its verdict."""
    key = {"Authorization": f"Bearer {running.agent_key}"}
    run = running.ask("POST", "/api/v1/runs/", {"name": "bench", "agent": "bench"})[1]["id"]
    database = None if os.environ.get("DATABASE_URL") else running.data / "missioncontrol.sqlite3"
    same: dict[str, Any] = {
        "url": running.url,
        "pids": pids_of(running),
        "database": database,
        "counted": "SELECT count(*) FROM runs_turn",
    }
    path = f"/api/v1/runs/{run}/turns/"
    return {
        "otlp": Server(path="/v1/traces", headers=key, makes=spans, **same),
        "turns": Server(path=path, headers=key, makes=turns, **same),
        "turns, judged": Server(
            path=path, headers={**key, "Prefer": "wait=30"}, makes=turns, **same
        ),
    }


async def compare(servers: dict[str, Server]) -> list[dict[str, Any]]:
    rows = []
    async with a_floor(HELLO, 18732) as (hello, hello_pids):
        everyone = {
            **servers,
            "hello": Server(url=hello, path="/v1/traces", pids=hello_pids, makes=spans),
        }
        for count in AT_ONCE:
            per_peer: dict[str, list[dict[str, float]]] = {name: [] for name in everyone}
            for number in range(ROUNDS + 1):
                for name, server in everyone.items():
                    trace = secrets.token_hex(16)
                    found = await one_round(server, count, trace, number * REQUESTS * count)
                    if number:  # the first warms up
                        per_peer[name].append(found)
            rows += [
                {"server": name, "turns_a_request": count}
                | {one: spread([found[one] for found in rounds]) for one in rounds[0]}
                for name, rounds in per_peer.items()
            ]
    return rows


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("--phoenix", type=Path, help="an environment with arize-phoenix")
    reading.add_argument("--mlflow", type=Path, help="an environment with mlflow")
    asked = reading.parse_args()
    with tempfile.TemporaryDirectory() as place, ExitStack() as ending:
        home = Path(place)
        running = ending.enter_context(an_installation(home / "data"))
        wait_for(lambda: is_ready(running) and running.pid_of(" beat "))
        servers = ours(running)
        if asked.phoenix:
            beside = phoenix(asked.phoenix.absolute(), home / "phoenix")
            servers["phoenix"] = ending.enter_context(beside)
        if asked.mlflow:
            servers["mlflow"] = ending.enter_context(
                mlflow(asked.mlflow.absolute(), home / "mlflow")
            )
        rows = asyncio.run(compare(servers))
    print(json.dumps({"bench": "ingest", "requests": REQUESTS, "rows": rows}, indent=1))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
