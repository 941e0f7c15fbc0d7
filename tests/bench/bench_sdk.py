"""What a session adds to its host's turn: `uv run python -m tests.bench.bench_sdk`; prints JSON.

A turn is `before` and `after`. Without a server: it is away all the time, turns go
through the engine and onto the disk. CPU time of the host's thread, and the wall
clock, as multiples of the same loop without a session too.
"""

from __future__ import annotations

import json
import logging
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from guard import Session
from tests.sdk.server import LoopbackServer

TURNS = int(os.environ.get("BENCH_TURNS", "2000"))
WORDS = [f"word{n}" for n in range(3000)]
SIZES = {"200 B": 30, "4 kB": 600, "40 kB": 6000}
"""Words of a result, about seven bytes each."""
NOBODY = "http://127.0.0.1:9"

Turn = Callable[[int, str], Any]


def results(words: int) -> list[str]:
    """Results that differ, as those of an agent at work do."""
    chance = random.Random(7)  # noqa: S311 - the same in every run
    return [" ".join(chance.choices(WORDS, k=words)) for _ in range(TURNS)]


def timed(turn: Turn, texts: list[str]) -> dict[str, float]:
    """Give microseconds a turn: CPU of this thread, and wall."""
    cpu: list[float] = []
    wall: list[float] = []
    for n, text in enumerate(texts):
        started, at = time.thread_time_ns(), time.perf_counter_ns()
        turn(n, text)
        cpu.append((time.thread_time_ns() - started) / 1000)
        wall.append((time.perf_counter_ns() - at) / 1000)
    cpu.sort()
    wall.sort()
    return {
        "cpu_us_mean": round(sum(cpu) / len(cpu), 1),
        "cpu_us_p95": round(cpu[len(cpu) * 95 // 100], 1),
        "cpu_us_p99": round(cpu[len(cpu) * 99 // 100], 1),
        "wall_us_p50": round(wall[len(wall) // 2], 1),
        "wall_us_p95": round(wall[len(wall) * 95 // 100], 1),
        "wall_us_p99": round(wall[len(wall) * 99 // 100], 1),
    }


def bare(n: int, text: str) -> int:
    """The loop's own work, for comparison: read the text once."""
    return sum(map(ord, text[:2000])) + n


def guarded(session: Session) -> Turn:
    """The same turn under a session."""

    def turn(n: int, text: str) -> None:
        go = session.before("read_file", {"path": f"src/module_{n}.py"})
        bare(n, text)
        session.after(go, result=text)

    return turn


def measured(make: Callable[[], Turn], texts: list[str]) -> dict[str, Any]:
    """Measure a guarded loop after its first turns, which load and find out."""
    turn = make()
    for n in range(20):
        turn(-n, f"warm {n}")
    loop, told = timed(bare, texts), timed(turn, texts)
    added = told["cpu_us_mean"] - loop["cpu_us_mean"]
    return {
        **told,
        "added_cpu_us_mean": round(added, 1),
        "times_bare_loop": round(told["cpu_us_mean"] / loop["cpu_us_mean"], 1),
        "bare_cpu_us_mean": loop["cpu_us_mean"],
    }


def away(texts: list[str], outbox: Path | bool) -> dict[str, Any]:
    """Measure turns while nobody answers."""
    with Session("bench", url=NOBODY, key="k", outbox=outbox, ask=False) as session:
        return measured(lambda: guarded(session), texts)


def there(texts: list[str]) -> dict[str, Any]:
    """Measure turns with a server on loopback that answers at once: what is waited for."""
    server = LoopbackServer()
    server.start()
    try:
        with Session("bench", url=server.url, key="k", outbox=False) as session:
            return measured(lambda: guarded(session), texts)
    finally:
        server.stop()


def figures() -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure every case."""
    with tempfile.TemporaryDirectory() as folder:
        for size, words in SIZES.items():
            texts = results(words)
            yield f"away, results of {size}", away(texts, Path(folder) / size.replace(" ", ""))
            yield f"away, results of {size}, no outbox", away(texts, outbox=False)
        yield "answered at once on loopback, results of 4 kB", there(results(SIZES["4 kB"])[:300])


if __name__ == "__main__":
    logging.getLogger("guard").setLevel(logging.ERROR)
    print(json.dumps({"turns": TURNS, **dict(figures())}, indent=2))
