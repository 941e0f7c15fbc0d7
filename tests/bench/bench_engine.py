"""What the engine costs: `uv run python -m tests.bench.bench_engine`; prints JSON.

CPU time of this thread. Recorded runs are read from $MISSIONCONTROL_SHARED or
../shared where they exist; the long run and the long results are made here.
"""

from __future__ import annotations

import gc
import json
import os
import random
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterable
from typing import Any

from guard.bench.labels import read_corpus
from guard.bench.scores import quantile
from guard.engine import Engine
from guard.formats import read_recording
from guard.turn import Role, Turn
from tests.bench.bench_peers import OURS, PEERS, Run, times_ours, watch_all
from tests.bench.caches import empty_our_caches
from tests.installations import ROOT, SHARED

LONG = int(os.environ.get("BENCH_TURNS", "100000"))
MARKS = (100, 1_000, 10_000, 100_000)
ROUNDS = 5
WORDS = [f"word{n}" for n in range(3000)]
IMPORTS = """
import sys, time
started = time.perf_counter()
import guard
lazy = time.perf_counter() - started
guard.Engine()
ready = time.perf_counter() - started
print(lazy * 1000, ready * 1000, any(name.partition(".")[0] == "django" for name in sys.modules))
"""


def timed(engine: Engine, turns: Iterable[Turn]) -> list[float]:
    """Give CPU microseconds, turn by turn."""
    took = []
    for turn in turns:
        started = time.thread_time_ns()
        engine.observe(turn)
        took.append((time.thread_time_ns() - started) / 1000)
    return took


def parsed(lines: list[str]) -> list[float]:
    """Give CPU microseconds for reading each line's JSON."""
    took = []
    for line in lines:
        started = time.thread_time_ns()
        json.loads(line)
        took.append((time.thread_time_ns() - started) / 1000)
    return took


def spread(took: list[float]) -> dict[str, float | None]:
    ordered = sorted(took)
    return {
        "median": round(statistics.median(ordered), 1),
        "mean": round(statistics.fmean(ordered), 1),
        "p99": round(quantile(ordered, 0.99) or 0.0, 1),
        "max": round(ordered[-1], 1),
    }


def on_recorded_runs() -> dict[str, Any] | None:
    """Every turn of the corpus, several rounds; None where there is no corpus.

    Before each round all caches are emptied: no round lives on what another read.
    The floor is parsing the same turns from their JSON, in turn with them.
    """
    paths = sorted((SHARED / "corpus" / "runs").glob("*.jsonl"))
    runs = [[turn for turn in read_recording(path).turns if turn] for path in paths]
    if not runs:
        return None
    lines = [line for path in paths for line in path.read_text().splitlines()[1:]]
    rounds, floors = [], list[float]()
    for _ in range(ROUNDS):
        empty_our_caches()
        rounds.append([us for turns in runs for us in timed(Engine(), turns)])
        floors += parsed(lines)
    medians = [spread(took)["median"] or 0.0 for took in rounds]
    return {
        "turns": len(rounds[0]),
        "rounds": ROUNDS,
        "us": spread([us for took in rounds for us in took]),
        "median_of_rounds": [min(medians), max(medians)],
        "floor_us": spread(floors),
    }


def times_of_peers() -> dict[str, float | None]:
    """How many times ours other detectors take, in turn with it; None: absent.

    They are installed as `tests.bench.bench_peers` says.
    """
    recorded = read_corpus(SHARED / "corpus").runs if (SHARED / "corpus").is_dir() else ()
    present = [peer for peer in PEERS if peer.version] if recorded else []
    runs = [Run(labelled=one, turns=read_recording(one.path).turns) for one in recorded]
    watched = watch_all(runs, present) if present else {}
    return {
        str(peer): round(times_ours(watched[str(peer)], watched[OURS]), 2)
        if str(peer) in watched
        else None
        for peer in PEERS
    }


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - texts, no secrets


def a_turn(number: int, chance: random.Random) -> Turn:
    """One of many different calls, now and then one seen before."""
    target = chance.randrange(1, 2000)
    text = "\n".join(" ".join(chance.choices(WORDS, k=8)) for _ in range(20))
    return Turn(
        role=Role.ASSISTANT,
        tool="Bash",
        args={"command": f"sed -n {target},{target + 40}p app/module_{target % 97}.py"},
        content=f"Step {number}: look at module {target % 97}.",
        result=text,
        seq=number,
    )


def over_a_long_run() -> list[dict[str, Any]]:
    """One engine from turn 1 to `LONG`: time before each mark."""
    chance, engine = seeded(7), Engine()
    rows, took = [], list[float]()
    for number in range(1, LONG + 1):
        took += timed(engine, [a_turn(number, chance)])
        if number in MARKS:
            rows.append({"turn": number, "us_of_last_100": spread(took[-100:])})
    return rows


def memory_over_a_long_run() -> list[dict[str, int]]:
    """The same run again with memory traced, which makes it too slow to time."""
    chance, engine, rows = seeded(7), Engine(), []
    tracemalloc.start()
    for number in range(1, LONG + 1):
        engine.observe(a_turn(number, chance))
        if number in MARKS:
            gc.collect()
            held, peak = tracemalloc.get_traced_memory()
            rows.append({"turn": number, "held_kb": held // 1024, "peak_kb": peak // 1024})
    tracemalloc.stop()
    return rows


def on_long_results() -> dict[str, Any]:
    """Results of 1 kB to 10 MB: what is read of them is bounded."""
    found = {}
    for size in (1_000, 100_000, 1_000_000, 10_000_000):
        chance, engine = seeded(size), Engine()
        took = []
        for number in range(12):
            text = f"{number} " + " ".join(chance.choices(WORDS, k=50)) + "\n"
            result = text * (size // len(text) + 1)
            turn = Turn(role=Role.ASSISTANT, tool="Bash", args={"n": number}, result=result)
            took += timed(engine, [turn])
        found[f"{size:,} characters"] = spread(took)
    return found


def on_import() -> dict[str, Any]:
    """`import guard` in fresh processes, and whether Django came with it."""
    rows = []
    for _ in range(ROUNDS):
        done = subprocess.run(
            [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
        )
        rows.append(done.stdout.split())
    return {
        "import_ms": round(statistics.median(float(row[0]) for row in rows), 1),
        "with_an_engine_ms": round(statistics.median(float(row[1]) for row in rows), 1),
        "django": any(row[2] == "True" for row in rows),
    }


def main() -> None:
    found = {
        "bench": "the engine, CPU microseconds a turn",
        "load": os.getloadavg(),
        "recorded_runs": on_recorded_runs(),
        "times_of_peers": times_of_peers(),
        "long_run": over_a_long_run(),
        "long_run_memory": memory_over_a_long_run(),
        "long_results": on_long_results(),
        "import": on_import(),
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
