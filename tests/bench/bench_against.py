"""This checkout's engine beside a commit's: is every assessment equal, and what does a turn cost?

`uv run python -m tests.bench.bench_against COMMIT`; prints JSON. Recorded runs are read from
$MISSIONCONTROL_SHARED or ../shared: each as it is and call by call (proposed, then done), every
`--every` th in all forms too and under every preset.

Two processes live through all rounds and watch a few runs in turn, with one hash seed, so that
both meet the same moments of the machine. Caches are emptied before each round; of each turn its
least CPU time counts. Run it under `chrt -r 1` where other work runs.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from guard.bench.forms import FORMS
from guard.bench.scores import quantile
from guard.engine import Engine
from guard.formats import read_recording
from guard.policy import DEFAULT_POLICY, PRESETS, Policy
from guard.turn import Phase, Turn
from tests.bench.bench_sdk import tree_of
from tests.bench.caches import empty_our_caches
from tests.installations import SHARED

TOGETHER = 10
"""So many runs are timed before it is the other's turn."""

Sequence = tuple[str, Policy, list[Turn]]


def recorded() -> dict[str, list[Turn]]:
    """Give the turns of each recorded run, by the run's name."""
    paths = sorted((SHARED / "corpus" / "runs").glob("*.jsonl"))
    return {path.stem: [turn for turn in read_recording(path).turns if turn] for path in paths}


def call_by_call(turns: list[Turn]) -> list[Turn]:
    """Give each call as a host has it: before it runs, and with what came of it."""
    told = []
    for place, turn in enumerate(turns):
        if turn.tool is not None:
            asked = replace(turn, key=f"{place}", result=None, error=None)
            told.append(replace(asked, phase=Phase.PROPOSED))
            turn = replace(turn, key=f"{place}")  # noqa: PLW2901 - the same turn, done
        told.append(turn)
    return told


def sequences(every: int) -> Iterator[Sequence]:
    """Give what both engines are asked to watch."""
    for place, (name, turns) in enumerate(recorded().items()):
        yield name, DEFAULT_POLICY, turns
        yield f"{name}, call by call", DEFAULT_POLICY, call_by_call(turns)
        if place % every == 0:
            for form, change in FORMS.items():
                told = [one.turn for one in change(turns)]
                yield f"{name}, {form}", DEFAULT_POLICY, told
            for preset, policy in PRESETS.items():
                yield f"{name}, {preset}", policy, turns


def assessed(every: int) -> dict[str, tuple[int, str]]:
    """Give how many assessments each sequence has, and a digest of them all."""
    found = {}
    for name, policy, turns in sequences(every):
        engine, digest = Engine(policy, suspects=True), blake2b(digest_size=16)
        for turn in turns:
            digest.update(repr(engine.observe(turn)).encode("utf-8", "surrogatepass"))
        found[name] = len(turns), digest.hexdigest()
    return found


def timed(runs: list[list[Turn]]) -> list[float]:
    """Give CPU microseconds, turn by turn."""
    gc.collect()
    gc.freeze()  # what a collection costs that looks through all recorded runs is not ours
    took, now = [], time.thread_time_ns
    for turns in runs:
        engine = Engine()
        for turn in turns:
            started = now()
            engine.observe(turn)
            took.append((now() - started) / 1000)
    return took


def answer() -> None:
    """Answer what is asked on standard input, a line each, until it ends."""
    logging.disable()  # other systems' rules say what they find
    asked: dict[str, Any]
    runs: list[list[Turn]] = []
    for line in sys.stdin:
        asked = json.loads(line)
        if every := asked.get("assess"):
            found: Any = assessed(every)
        else:
            runs, at = runs or list(recorded().values())[:: asked["part"]], asked["at"]
            if at == 0:
                empty_our_caches()
            found = timed(runs[at : at + TOGETHER])
        print(json.dumps(found), flush=True)


class Tree:
    """A living process over the guard of a folder."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.bench_against", "--answer"],
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": "0", "MISSIONCONTROL_SHARED": str(SHARED)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **what: int) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(what), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate()


def spread(took: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(took), 1),
        "mean": round(statistics.fmean(took), 1),
        "p99": round(quantile(sorted(took), 0.99) or 0.0, 1),
    }


def compared(asked: argparse.Namespace) -> dict[str, Any]:
    """Ask both trees in turn."""
    with tempfile.TemporaryDirectory() as folder:
        before, now = trees = [
            Tree(tree_of(commit, Path(folder) / name))
            for name, commit in (("before", asked.commit), ("now", None))
        ]
        found: dict[str, Any] = {"python": sys.version.split()[0], "load": os.getloadavg()}
        if asked.every:
            first, second = (tree.ask(assess=asked.every) for tree in trees)
            apart = [name for name, one in first.items() if second[name] != one]
            count = sum(count for count, _ in first.values())
            found |= {"sequences": len(first), "assessments": count, "apart": apart}
        least: list[list[float]] = [[], []]
        for _ in range(asked.rounds):
            rounds: list[list[float]] = [[], []]
            at, came = 0, True
            while came:
                for place, tree in enumerate((before, now)):
                    came = tree.ask(part=asked.part, at=at)
                    rounds[place] += came
                at += TOGETHER
            pairs = zip(least, rounds, strict=True)
            least = [list(map(min, one, other)) if one else other for one, other in pairs]
        if asked.rounds:
            one, two = map(spread, least)
            ratio = {name: round(two[name] / one[name], 3) for name in one}
            found |= {"turns": len(least[0]), "before_us": one, "now_us": two, "ratio": ratio}
        for tree in trees:
            tree.end()
    return found


def main() -> None:
    """Compare as the command line asks, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", nargs="?", default="HEAD")
    parser.add_argument("--every", type=int, default=5, help="0: hold no assessments together")
    parser.add_argument("--rounds", type=int, default=4, help="0: time nothing")
    parser.add_argument("--part", type=int, default=1, help="time every so many-th run")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.answer:
        answer()
    else:
        print(json.dumps(compared(asked), indent=1))


if __name__ == "__main__":
    main()
