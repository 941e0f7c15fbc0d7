"""Measure the engine beside other loop detectors, in one run of one process.

    uv run --with agent-patrol==0.1.0 --with agentbelt-loop==0.1.1 \
        --with agentcircuit==0.5.0 python -m tests.bench.bench_peers

Each of them at its own defaults, driven as its README says: a fresh detector for a run, fed
what its API takes. No person's turn is an agent's step to them; those that know calls alone
get no messages. What cannot be imported is told as absent. Read are the labelled runs of
$MISSIONCONTROL_SHARED/corpus or ../shared/corpus, where they are, and our drawings, the
sealed ones apart.

Terms and verdicts as in `guard bench`. Microseconds are CPU time of the detector's call alone,
for each turn the least of three passes over everything, our caches emptied before each; the
ratio is of medians over the turns that this detector takes. One JSON object on stdout, tables
on stderr.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from guard.bench.labels import Labelled, read_corpus
from guard.bench.scores import Score, Trial, score
from guard.formats import Recording, read_recording
from guard.printing import table
from guard.replay import replay
from guard.turn import Role, Turn
from tests.bench.caches import empty_our_caches
from tests.guard.drawings.drawing import Drawing
from tests.guard.drawings.gallery import open_drawings, sealed_drawings
from tests.installations import SHARED

OURS = "guard, default policy"
PASSES = 3
CORPUS = SHARED / "corpus"

Asked = tuple[Any, ...]
"""What a detector is told of one turn."""
Ask = Callable[..., bool]
"""Tell a detector of a turn; does it alarm?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A labelled run with its turns; None: a turn that cannot be read."""

    labelled: Labelled
    turns: tuple[Turn | None, ...]


@dataclass(slots=True)
class Watched:
    """What a detector did with a run.

    Attributes:
        alarm: Position of the first turn it alarmed at.
        us: CPU microseconds turn by turn; None: a turn it does not take.
    """

    alarm: int | None = None
    us: list[float | None] = field(default_factory=list)

    def keep_least(self, us: Iterable[float | None]) -> None:
        """Take the quicker of two passes, turn by turn."""
        pairs = zip(self.us, us, strict=True)
        self.us = [one if other is None or one is None else min(one, other) for one, other in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Another project's detector.

    Attributes:
        name: Its distribution.
        way: What is told to it, where it is driven in more ways than one.
        module: What is imported of it.
        takes: What its API is told of a turn; None: nothing.
        begin: Makes a fresh detector from the module.
    """

    name: str
    module: str
    takes: Callable[[Turn], Asked | None]
    begin: Callable[[Any], Ask]
    way: str = ""

    def __str__(self) -> str:
        return f"{self.name}, {self.way}" if self.way else self.name

    def watch(self, run: Run) -> Watched:
        """Let it see a run to its end."""
        ask, watched = self.begin(import_module(self.module)), Watched()
        for position, turn in enumerate(run.turns):
            asked = None if turn is None or turn.role is Role.USER else self.takes(turn)
            alarmed = asked is not None and _timed(ask, asked, watched)
            if asked is None:
                watched.us.append(None)
            elif alarmed and watched.alarm is None:
                watched.alarm = position
        return watched

    @property
    def version(self) -> str | None:
        """What is installed; None: it is absent."""
        try:
            import_module(self.module)
        except ImportError:
            return None
        return metadata.version(self.name)


def _timed(ask: Ask, asked: Asked, watched: Watched) -> bool:
    started = time.thread_time_ns()
    alarmed = ask(*asked)
    watched.us.append((time.thread_time_ns() - started) / 1000)
    return alarmed


def watch_ourselves(run: Run) -> Watched:
    """Replay a run as `guard bench` does: the default engine before the local judge."""
    replayed = replay(Recording(run=run.labelled.run, turns=run.turns))
    took = iter(replayed.us)
    us = [None if turn is None else next(took) for turn in run.turns]
    return Watched(alarm=replayed.first_alarm, us=us)


# --- how each of them is driven ------------------------------------------------


def action_and_result(turn: Turn) -> Asked | None:
    """Describe the act in one text, a message by its words, and give what came back."""
    if turn.tool is None:
        return (turn.content, turn.result or turn.error or "") if turn.content else None
    return (f"{turn.tool}({_arguments(turn)})", turn.result or turn.error or "")


def thought_action_and_result(turn: Turn) -> Asked | None:
    """Put what the agent thought before the act."""
    asked = action_and_result(turn)
    if asked is None or turn.tool is None or not turn.content:
        return asked
    action, result = asked
    return (f"{turn.content} {action}", result)


def call_and_result(turn: Turn) -> Asked | None:
    """Give tool, arguments and what came back."""
    if turn.tool is None:
        return None
    return (turn.tool, dict(turn.args or {}), turn.result or turn.error)


def call_alone(turn: Turn) -> Asked | None:
    """Give the call as the state a node is entered with."""
    if turn.tool is None:
        return None
    return ({"tool": turn.tool, "args": dict(turn.args or {})},)


def _arguments(turn: Turn) -> str:
    return json.dumps(dict(turn.args or {}), default=str)


def agent_patrol(package: Any) -> Ask:
    """Take a report of any pathology; without a task told, drift from it is not looked for."""
    monitor = package.PatrolMonitor()
    return lambda action, result: monitor.observe(action, result).pathology is not None


def agentbelt_loop(package: Any) -> Ask:
    """Record and check; its library of patterns starts empty with each run."""
    detector = package.LoopDetector(package.LoopPolicy())

    def ask(tool: str, args: dict[str, Any], result: str | None) -> bool:
        detector.record("run", tool=tool, args=args, result=result)
        try:
            detector.check("run")
        except package.LoopDetected:
            return True
        return False

    return ask


def agentcircuit(package: Any) -> Ask:
    """Use the fuse without its decorator, which hashes the whole history again at each call."""
    fuse, history = package.Fuse(), list[str]()

    def ask(state: dict[str, Any]) -> bool:
        try:
            fuse.check(history, state)
        except package.LoopError:
            return True
        finally:
            history.append(fuse._hash_state(state))
        return False

    return ask


PEERS = (
    Peer(
        name="agent-patrol",
        module="agent_patrol",
        takes=action_and_result,
        begin=agent_patrol,
    ),
    Peer(
        name="agent-patrol",
        way="thoughts too",
        module="agent_patrol",
        takes=thought_action_and_result,
        begin=agent_patrol,
    ),
    Peer(
        name="agentbelt-loop",
        module="agentbelt_loop",
        takes=call_and_result,
        begin=agentbelt_loop,
    ),
    Peer(
        name="agentcircuit",
        module="agentcircuit",
        takes=call_alone,
        begin=agentcircuit,
    ),
)


# --- the runs ------------------------------------------------------------------


def sources() -> dict[str, list[Run]]:
    """Read the recorded runs, where they are, and draw the others."""
    recorded = read_corpus(CORPUS).runs if CORPUS.is_dir() else ()
    if not recorded:
        sys.stderr.write(f"no recorded runs at {CORPUS}: drawings only\n")
    found = {
        "recorded": [Run(labelled=one, turns=read_recording(one.path).turns) for one in recorded],
        "open drawings": [_drawn(drawing) for drawing in open_drawings()],
        "sealed drawings": [_drawn(drawing) for drawing in sealed_drawings()],
    }
    return {title: runs for title, runs in found.items() if runs}


def _drawn(drawing: Drawing) -> Run:
    labelled = Labelled(
        run=drawing.name,
        source=drawing.kind,
        path=Path(drawing.name),
        loop_start=drawing.start,
        kind=drawing.shape,
        rationale=drawing.why,
    )
    return Run(labelled=labelled, turns=drawing.turns)


# --- measuring -----------------------------------------------------------------


def watch_all(runs: Sequence[Run], peers: Iterable[Peer]) -> dict[str, list[Watched]]:
    """Let every detector see every run, in turn with the others, pass after pass."""
    watches = {OURS: watch_ourselves, **{str(peer): peer.watch for peer in peers}}
    found: dict[str, list[Watched]] = {name: [] for name in watches}
    for number in range(PASSES):
        empty_our_caches()
        for place, run in enumerate(runs):
            for name, watch in watches.items():
                watched = watch(run)
                if number:
                    found[name][place].keep_least(watched.us)
                else:
                    found[name].append(watched)
    return found


def rate(runs: Sequence[Run], watched: Sequence[Watched]) -> Score:
    """Hold the alarms against the labels."""
    return score(
        Trial(
            labelled=run.labelled,
            turns=sum(turn is not None for turn in run.turns),
            alarms=() if one.alarm is None else (one.alarm,),
            us=tuple(us for us in one.us if us is not None),
        )
        for run, one in zip(runs, watched, strict=True)
    )


def times_ours(theirs: Sequence[Watched], ours: Sequence[Watched]) -> float:
    """Give the ratio of medians over the turns that both take."""
    both = [
        (us, our_us)
        for one, our_one in zip(theirs, ours, strict=True)
        for us, our_us in zip(one.us, our_one.us, strict=True)
        if us is not None and our_us is not None
    ]
    return statistics.median(us for us, _ in both) / statistics.median(us for _, us in both)


# --- telling -------------------------------------------------------------------


def main() -> int:
    """Measure what is installed; tell of what is not."""
    versions = {peer.name: peer.version for peer in PEERS}
    present = [peer for peer in PEERS if versions[peer.name]]
    report: dict[str, Any] = {
        "peers": {name: version or "absent" for name, version in versions.items()},
        "passes": PASSES,
        "load_before": os.getloadavg(),
        "runs": {title: _measured(title, runs, present) for title, runs in sources().items()},
    }
    for name, version in versions.items():
        sys.stderr.write("" if version else f"{name}: absent\n")
    print(json.dumps({**report, "load_after": os.getloadavg()}, indent=1))
    return 0


def _measured(title: str, runs: Sequence[Run], peers: Sequence[Peer]) -> dict[str, Any]:
    found = watch_all(runs, peers)
    rows = {
        name: {
            **rate(runs, watched).as_row(),
            "turns_taken": sum(us is not None for one in watched for us in one.us),
            "us_times_ours": round(times_ours(watched, found[OURS]), 2),
        }
        for name, watched in found.items()
    }
    sys.stderr.write(table((title, *_HEADS), _lines(rows)) + "\n")
    return rows


_HEADS = ("found", "early", "missed", "false", "FA/1k", "delay", "p90", "us", "p99", "times ours")


def _lines(rows: dict[str, dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for name, row in rows.items():
        yield (
            name,
            f"{row['found']}/{row['stuck']}",
            str(row["early"]),
            str(row["missed"]),
            f"{row['false']}/{row['healthy']}",
            f"{row['false_alarms_per_1000']:.2f}",
            *(str(row[key]) for key in ("delay_median", "delay_p90", "us_median", "us_p99")),
            f"{row['us_times_ours']:.2f}",
        )


if __name__ == "__main__":
    sys.exit(main())
