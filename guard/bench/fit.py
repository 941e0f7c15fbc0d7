"""`guard fit`: fits the stuck score's weights to recorded runs.

What an attempt repeats and brings does not depend on the weights, so each run is read
once, and each choice of weights is then a sum over its attempts. Weights are chosen by
coordinate search; the reported ones are fitted without the source they are judged on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from guard.bench.labels import Labelled, read_corpus
from guard.bench.scores import SLACK
from guard.detectors.score import (
    GAINS,
    KEEPS,
    SCORE_FILE,
    Weight,
    fitted_weights,
    sum_evidence,
    weighs_tries,
    weight_of,
)
from guard.detectors.stall import is_progress
from guard.engine import SPAN, Engine
from guard.errors import GuardError
from guard.formats import Recording, read_recording
from guard.policy import DEFAULT_POLICY, Policy
from guard.printing import progress
from guard.reading.step import Step

Weights = Mapping[str, float]

# The cost of one false alarm per 1,000 healthy turns, in percentage points of loops found.
COST_OF_A_FALSE_ALARM = 8.0
# The extra worth of a loop found at most `_SOON` turns after it was evident: the sources leave
# several weights undecided, and of these, quick ones do better on an unseen source.
WORTH_OF_SOON = 0.25
_SOON = 2

_GAINS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
# The most careful first, since the first of equal choices is kept.
_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
_KEEPS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)
_ROUNDS = 4
# Upper bounds. `same` and `first` are not fitted: three equal attempts in vain define stuck.
# A check that fails after each of many edits is left to `errors`, at the seventh; different
# questions with one answer are left to `stagnation`, since a batch has many of them.
# Four pages that are each read again once are not yet a loop.
# Another answer to the same call ends a streak.
_MAX_WEIGHTS = {"still_failing": 0.15, "other_question": 0.05, "again": 0.2, "news": 0.5}
# Lower bounds. A different failure is some progress, but not a success.
_MIN_WEIGHTS = {"new_failure": 0.5}
_ALIKE_FIRST = ("same", "near", "reworded", "other_question")
_FITTED = (*(name for name in GAINS if name != "same"), *KEEPS, "third")
_DETECTOR = "stall"
_PLAIN_GAIN = 0.3
# The start of weights that have not been fitted.
_PLAIN_KEEP = 0.5


class Mark(NamedTuple):
    """The facts of one attempt that the score uses.

    Attributes:
        place: Its turn's position in the file.
        repeats: A key of `GAINS`; "" if it repeats nothing.
        begins: It repeats an attempt that was not a repetition itself.
        brings: A key of `KEEPS`; "" if it brings nothing.
        is_fresh: Streaks start afresh before it.
        is_held: Another rule trips here, whatever the score.
        recovers: It brought something new, which settles an open card.
        moves: It brought or changed something: not an attempt in vain.
        tries: Tries of the same command that failed alike, each as (attempts ago, 1 for the
            attempt itself; its weight as if nothing stood in between).
    """

    place: int
    repeats: str
    begins: bool
    brings: str
    is_fresh: bool
    is_held: bool
    recovers: bool
    moves: bool = False
    tries: tuple[tuple[int, Weight], ...] = ()


@dataclass(frozen=True, slots=True)
class Traced:
    """A labelled run as marks, oldest first."""

    labelled: Labelled
    turns: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Worth:
    """How well a set of weights does on a set of runs.

    Attributes:
        found: Loops found, by source.
        soon: Loops found at most `_SOON` turns after they were evident, by source.
        stuck: All loops, by source.
        false: Alarms outside every stuck stretch, except arguable ones.
        healthy_turns: Turns in which an alarm would be false.
    """

    found: Counter[str]
    soon: Counter[str]
    stuck: Counter[str]
    false: int
    healthy_turns: int

    @property
    def macro(self) -> float:
        """Share of loops found, averaged over sources, in [0, 1]."""
        return self._macro(self.found)

    def _macro(self, found: Counter[str]) -> float:
        shares = [found[name] / stuck for name, stuck in self.stuck.items()]
        return sum(shares) / max(1, len(shares))

    def _points(self, found: Counter[str]) -> float:
        """Return points, half by source and half by run: neither big nor small sources dominate."""
        share = sum(found.values()) / max(1, sum(self.stuck.values()))
        return 50 * (self._macro(found) + share)

    @property
    def false_per_1000(self) -> float:
        """False alarms per 1,000 healthy turns."""
        return 1000 * self.false / max(1, self.healthy_turns)

    @property
    def objective(self) -> float:
        """Points for loops found, and found soon, minus the cost of false alarms."""
        points = self._points(self.found) + WORTH_OF_SOON * self._points(self.soon)
        return points - COST_OF_A_FALSE_ALARM * self.false_per_1000


def trace(labelled: Labelled, recording: Recording, policy: Policy) -> Traced:
    """Read a run into the facts that the score uses."""
    engine, marks, freshly = Engine(policy), list[Mark](), True
    last: Step | None = None
    for place, turn in enumerate(recording.turns):
        if turn is None:
            continue
        known = len(engine.history.steps)
        assessment = engine.observe(turn)
        steps, weights = engine.history.steps, engine.history.weights
        # The engine cleared its history: a person spoke, or another session began.
        if not steps:
            freshly = True
            continue
        if steps[-1] is last:
            continue  # a notice, or an answer to an older call
        if known == len(steps) and last is not None and last.seq == steps[-1].seq and marks:
            freshly = marks.pop().is_fresh  # the answer to the last attempt replaces its mark
        last, weight = steps[-1], weights[-1]
        tries = engine.history.tries if weighs_tries(policy) else {}
        # Every rule except `stall`, the one that is being fitted.
        rules = [signal for signal in assessment.signals if signal.detector != _DETECTOR]
        marks.append(
            Mark(
                place,
                weight.repeats,
                weight.begins,
                weight.brings,
                freshly,
                any(signal.trips for signal in rules),
                assessment.changed and turn.tool is not None,
                moves=is_progress(last, weight),
                tries=tuple((len(steps) - steps.index(one), tries[one]) for one in tries),
            )
        )
        freshly = False
    return Traced(labelled, len(recording.turns), tuple(marks))


def alarms_of(traced: Traced, weights: Weights) -> list[int]:
    """Return the positions at which a card would open under these weights."""
    found, is_open = list[int](), False
    done: list[Weight] = []
    for mark in traced.marks:
        if mark.is_fresh:
            done = []
        done.append(weight_of(weights, mark.repeats, mark.brings, begins=mark.begins))
        # As in the engine, an attempt that adds nothing itself opens no card.
        evidence = max(sum_evidence(done[-SPAN:]), sum_tries(mark, weights, len(done)))
        trips = mark.is_held or (done[-1].gain > 0 and evidence >= 1.0)
        if is_open:
            # As in `guard.replay`, a card closes if the agent got on; its streaks start afresh.
            if mark.recovers and not trips:
                is_open, done = False, []
        elif trips:
            found.append(mark.place)
            is_open = True
    return found


def sum_tries(mark: Mark, weights: Weights, since: int) -> float:
    """Return the evidence of a mark's tries alone, within the last `since` attempts."""
    if not mark.tries:  # true of nearly all attempts
        return 0.0
    tries = [
        weight_of(weights, one.repeats, one.brings, begins=one.begins)
        for ago, one in mark.tries
        if ago <= since
    ]
    return sum_evidence(tries) / weights["third"]


def weigh_up(traces: Iterable[Traced], weights: Weights) -> Worth:
    """Count the loops that weights find and their false alarms."""
    found, soon, stuck = Counter[str](), Counter[str](), Counter[str]()
    false = healthy = 0
    for traced in traces:
        labelled = traced.labelled
        healthy += labelled.healthy_turns(traced.turns)
        alarms = alarms_of(traced, weights)
        inside = [at for at in alarms if labelled.stretch_at(at, slack=SLACK)]
        false += sum(at not in labelled.weak for at in alarms if at not in inside)
        if labelled.parts:
            stuck[labelled.source] += 1
            # Each run once, however many alarms: what counts is whether anybody was asked.
            found[labelled.source] += bool(inside)
            stretch = labelled.stretch_at(inside[0], slack=SLACK) if inside else None
            is_soon = stretch is not None and inside[0] <= stretch.evident + _SOON
            soon[labelled.source] += is_soon
    return Worth(found, soon, stuck, false, healthy)


def fit(traces: Sequence[Traced], start: Weights) -> dict[str, float]:
    """Choose weights by coordinate search; of equal choices, keep the first."""
    best = dict(start)
    worth = weigh_up(traces, best).objective
    for _ in range(_ROUNDS):
        before = worth
        for name in _FITTED:
            for value in _KEEPS if name in KEEPS else _GAINS if name in GAINS else _SHARES:
                tried = _ordered(best, name, value)
                if tried is None:
                    continue
                objective = weigh_up(traces, tried).objective
                # Better by more than rounding errors; otherwise equal weights would alternate.
                if objective > worth + 1e-9:
                    best, worth = tried, objective
        # A round that changed no weight would only be repeated.
        if worth == before:
            break
    return best


def _ordered(weights: Weights, name: str, value: float) -> dict[str, float] | None:
    """Set one weight and adjust its neighbours, so that lesser likeness never counts more.

    This prior cannot be learnt from few sources. None: the value is out of bounds.
    """
    if not _MIN_WEIGHTS.get(name, 0.0) <= value <= _MAX_WEIGHTS.get(name, 1.0):
        return None
    tried = {**weights, name: value}
    if name in _ALIKE_FIRST:
        place = _ALIKE_FIRST.index(name)
        for closer in _ALIKE_FIRST[1:place]:
            tried[closer] = max(tried[closer], value)
        for farther in _ALIKE_FIRST[place + 1 :]:
            tried[farther] = min(tried[farther], value)
    return tried if value <= tried["same"] or name not in _ALIKE_FIRST else None


def leave_one_source_out(
    traces: Sequence[Traced], start: Weights
) -> dict[str, tuple[dict[str, float], Worth]]:
    """For each source, fit on all the others and judge on that source."""
    sources = sorted({traced.labelled.source for traced in traces})
    found = {}
    for source in progress(sources, total=len(sources), what="sources left out"):
        others = [one for one in traces if one.labelled.source != source]
        own = [one for one in traces if one.labelled.source == source]
        # Always from the same start, which was not fitted to any source.
        chosen = fit(others, start)
        found[source] = chosen, weigh_up(own, chosen)
    return found


def together(worths: Iterable[Worth]) -> Worth:
    """Add up the results of several sources."""
    known = list(worths)
    return Worth(
        found=sum((one.found for one in known), Counter()),
        soon=sum((one.soon for one in known), Counter()),
        stuck=sum((one.stuck for one in known), Counter()),
        false=sum(one.false for one in known),
        healthy_turns=sum(one.healthy_turns for one in known),
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("path", type=Path, metavar="PATH", help="labelled runs, as for bench")
    parser.add_argument("--write", action="store_true", help="put the weights into the engine")
    parser.add_argument(
        "--start",
        type=float,
        metavar="X",
        default=_PLAIN_GAIN,
        help=f"begin with every gain at X where a source is left out (default {_PLAIN_GAIN:g})",
    )


def run(args: argparse.Namespace) -> int:
    """Fit, judge on sources left out, print, and write if asked; return 2 without runs."""
    try:
        corpus = read_corpus(args.path)
        traces = [
            trace(labelled, read_recording(labelled.path), DEFAULT_POLICY)
            for labelled in progress(corpus.runs, total=len(corpus.runs), what="runs")
        ]
    except GuardError as error:
        sys.stderr.write(f"guard fit: {error}\n")
        return 2
    today = dict(fitted_weights())
    # Today's weights were fitted to every source, so the judged ones start without them.
    plain = today | {name: plain_weight(name, args.start) for name in _FITTED}
    left_out = leave_one_source_out(traces, plain)
    chosen = fit(traces, today)
    document = {
        "weights": dict(chosen),
        "provenance": {
            "command": "guard fit",
            "runs": len(corpus.runs),
            "sources": list(corpus.sources),
            "objective": "mean of macro and micro share found, in points, and "
            f"{WORTH_OF_SOON:g} of that of those found within {_SOON} turns of evident, less "
            f"{COST_OF_A_FALSE_ALARM:g} for each false alarm in 1,000 healthy turns",
            "fitted": _figures(weigh_up(traces, chosen)),
            "leave_one_source_out": _figures(together(worth for _, worth in left_out.values())),
            "by_source": {name: _figures(worth) for name, (_, worth) in left_out.items()},
        },
    }
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
    if args.write:
        SCORE_FILE.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def plain_weight(name: str, gain: float) -> float:
    """Return the start of a weight that has not been fitted, within its bounds."""
    value = _PLAIN_KEEP if name in KEEPS else gain if name in GAINS else 1.0
    return min(_MAX_WEIGHTS.get(name, 1.0), max(_MIN_WEIGHTS.get(name, 0.0), value))


def _figures(worth: Worth) -> dict[str, Any]:
    return {
        "found": sum(worth.found.values()),
        "soon": sum(worth.soon.values()),
        "stuck": sum(worth.stuck.values()),
        "macro": round(worth.macro, 3),
        "false": worth.false,
        "false_per_1000": round(worth.false_per_1000, 2),
    }
