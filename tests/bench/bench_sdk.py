"""What a session adds to its host's turn: `uv run python -m tests.bench.bench_sdk`; prints JSON.

A turn is `before` and `after`. Without a server: it is away all the time, turns go
through the engine and onto the disk. CPU time of the host's thread, and the wall
clock, as multiples of the same loop without a session too.

`--against COMMIT` measures that commit's guard and this one in turn, each round in
processes of their own, beside a floor of the same process: the two lines of a turn
written as JSON to a file, and nothing else. Medians over the rounds, least and most.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from guard import Session
from tests.sdk.server import LoopbackServer

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
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
    loop, ours = timed(bare, texts), timed(turn, texts)
    added = ours["cpu_us_mean"] - loop["cpu_us_mean"]
    return {
        **ours,
        "added_cpu_us_mean": round(added, 1),
        "times_bare_loop": round(ours["cpu_us_mean"] / loop["cpu_us_mean"], 1),
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


# --- beside an earlier commit -----------------------------------------------------


def writing(file: int) -> Turn:
    """The least that keeping a turn takes: its two lines, unread and unmasked."""

    def turn(n: int, text: str) -> None:
        call = {"key": f"{n:032}", "agent": "agent", "role": "assistant", "tool": "read_file"}
        for outcome in ({"phase": "proposed"}, {"phase": "done", "result": text[:8000]}):
            line = {"turn": {**call, **outcome, "args": {"path": f"src/module_{n}.py"}}}
            os.write(file, json.dumps(line).encode() + b"\n")

    return turn


def median_us(turn: Turn, texts: list[str]) -> float:
    """Give the CPU time of the middle turn."""
    took: list[int] = []
    for n, text in enumerate(texts):
        started = time.thread_time_ns()
        turn(n, text)
        took.append(time.thread_time_ns() - started)
    return statistics.median(took) / 1000


def one_round() -> dict[str, dict[str, float]]:
    """Measure each size once, away and with an outbox, beside the floor."""
    found = {}
    for size, words in SIZES.items():
        texts = results(words)
        with (
            tempfile.TemporaryDirectory() as folder,
            tempfile.TemporaryFile() as file,
            Session("bench", url=NOBODY, key="k", outbox=Path(folder), ask=False) as session,
        ):
            turn = guarded(session)
            for n in range(20):
                turn(-n, f"warm {n}")
            us = median_us(turn, texts) - median_us(bare, texts)
            floor_us = median_us(writing(file.fileno()), texts)
        found[size] = {"us": us, "floor_us": floor_us, "times_floor": us / floor_us}
    return found


def spread(values: list[float]) -> dict[str, float]:
    """Give the median, the least and the most."""
    found = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return {name: round(value, 2) for name, value in found.items()}


def tree_of(commit: str | None, folder: Path) -> Path:
    """Lay out a folder to import guard from: a commit's, or this checkout's."""
    folder.mkdir()
    (folder / "tests").symlink_to(ROOT / "tests")
    if commit is None:
        (folder / "guard").symlink_to(ROOT / "guard")
        return folder
    packed = subprocess.run(
        ["git", "archive", commit, "guard"], cwd=ROOT, check=True, capture_output=True
    )
    subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
    return folder


def measured_in(tree: Path) -> dict[str, dict[str, float]]:
    """Run one round in a process of its own, over the guard of a tree."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.bench_sdk", "--round"],
        cwd=tree,
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def compared(commit: str) -> dict[str, Any]:
    """Measure a commit and this checkout in turn."""
    with tempfile.TemporaryDirectory() as folder:
        trees = {
            "before": tree_of(commit, Path(folder) / "before"),
            "after": tree_of(None, Path(folder) / "after"),
        }
        rounds = [{name: measured_in(tree) for name, tree in trees.items()} for _ in range(ROUNDS)]
    return {
        size: {
            **{
                name: {part: spread([one[name][size][part] for one in rounds]) for part in PARTS}
                for name in trees
            },
            "after_by_before": spread(
                [one["after"][size]["us"] / one["before"][size]["us"] for one in rounds]
            ),
        }
        for size in SIZES
    }


PARTS = ("us", "floor_us", "times_floor")


def main() -> None:
    """Measure what the command line asks for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--round", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    logging.getLogger("guard").setLevel(logging.ERROR)
    if asked.round:
        print(json.dumps(one_round()))
    elif asked.against:
        head = {"turns": TURNS, "rounds": ROUNDS, "against": asked.against}
        print(json.dumps({**head, **compared(asked.against)}, indent=2))
    else:
        print(json.dumps({"turns": TURNS, **dict(figures())}, indent=2))


if __name__ == "__main__":
    main()
