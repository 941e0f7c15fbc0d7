"""`guard fit`: the stuck score's weights, chosen on recorded runs.

What an attempt repeats and what it brings does not depend on the weights, so each run
is read once and every choice of weights is then a sum over it. Chosen is by coordinate
search; what is reported is chosen without the source it is judged on.
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
    add_up,
    fitted_weights,
    weighs_tries,
    weight_of,
)
from guard.detectors.stall import moves_on
from guard.engine import SPAN, Engine
from guard.errors import GuardError
from guard.formats import Recording, read_recording
from guard.policy import DEFAULT_POLICY, Policy
from guard.printing import progress
from guard.reading.step import Step

Weights = Mapping[str, float]

# What one false alarm in 1,000 healthy turns costs, in points of loops found.
COST_OF_A_FALSE_ALARM = 8.0
# What a loop counts more that is found so many turns after it was evident, or sooner: the
# sources leave several weights open, and of those the quick ones do better on a source not seen.
WORTH_OF_SOON = 0.25
_SOON = 2

_GAINS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
# The most careful first: of equals it stays.
_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
_KEEPS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)
_ROUNDS = 4
# `same` and `first` are no choice: three equal attempts in vain are what stuck means.
# A check that is red after each of many edits is `errors`'s, at its seventh; other
# questions with one answer are `stagnation`'s: a batch has many of them.
# And four pages read again, once each, are no loop yet.
# And another answer to the same call ends a streak.
_MOST = {"still_failing": 0.15, "other_question": 0.05, "again": 0.2, "news": 0.5}
# Another failure is some way on, and no success.
_LEAST = {"new_failure": 0.5}
_ALIKE_FIRST = ("same", "near", "reworded", "other_question")
_FITTED = (*(name for name in GAINS if name != "same"), *KEEPS, "third")
_DETECTOR = "stall"
_PLAIN_GAIN = 0.3
# What weights begin at that nothing was fitted for.
_PLAIN_KEEP = 0.5


class Mark(NamedTuple):
    """One attempt as the score sees it.

    Attributes:
        place: Its turn's position in the file.
        repeats: Which of `GAINS` it is, "" for none.
        begins: It repeats an attempt that repeated none itself.
        brings: Which of `KEEPS` it is, "" for none.
        is_fresh: Streaks start afresh before it.
        is_held: A rule trips here, whatever the score.
        recovers: It brought something new, so that an open card is settled.
        moves: It brought something, or changed something: no attempt in vain.
        tries: What it tried before in vain, itself included: how many attempts ago, and what
            each does to the score where nothing else counts.
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
    """What some weights are worth on some runs.

    Attributes:
        found: Loops found, by source.
        soon: Those that were found as soon as they were evident, or nearly.
        stuck: Loops there are, by source.
        false: Alarms outside every stuck stretch.
        healthy_turns: Turns in which an alarm would be one.
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
        """Half by source, half by run: neither a source of many runs nor one of few decides."""
        share = sum(found.values()) / max(1, sum(self.stuck.values()))
        return 50 * (self._macro(found) + share)

    @property
    def false_per_1000(self) -> float:
        """False alarms per 1,000 healthy turns."""
        return 1000 * self.false / max(1, self.healthy_turns)

    @property
    def objective(self) -> float:
        """Points of loops found, and found soon, less what false alarms cost."""
        points = self._points(self.found) + WORTH_OF_SOON * self._points(self.soon)
        return points - COST_OF_A_FALSE_ALARM * self.false_per_1000


def trace(labelled: Labelled, recording: Recording, policy: Policy) -> Traced:
    """Read a run once into what the score sees of it."""
    engine, marks, freshly = Engine(policy), list[Mark](), True
    last: Step | None = None
    for place, turn in enumerate(recording.turns):
        if turn is None:
            continue
        known = len(engine.history.steps)
        assessment = engine.observe(turn)
        steps, weights = engine.history.steps, engine.history.weights
        # The history was cleared: a person spoke, or another session began.
        if not steps:
            freshly = True
            continue
        if steps[-1] is last:
            continue  # a notice, or an answer to an older call
        if known == len(steps) and last is not None and last.seq == steps[-1].seq and marks:
            freshly = marks.pop().is_fresh  # its answer
        last, weight = steps[-1], weights[-1]
        tries = engine.history.tries if weighs_tries(policy) else {}
        # All rules but the score's own, which is what is being fitted.
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
                moves=moves_on(last, weight),
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
        # As in the engine: what adds nothing itself opens no card, whatever stands before it.
        evidence = max(add_up(done[-SPAN:]), add_up_tries(mark, weights, len(done)))
        trips = mark.is_held or (done[-1].gain > 0 and evidence >= 1.0)
        if is_open:
            # As `guard.replay` closes a card: the agent got on, and its streaks start afresh.
            if mark.recovers and not trips:
                is_open, done = False, []
        elif trips:
            found.append(mark.place)
            is_open = True
    return found


def add_up_tries(mark: Mark, weights: Weights, since: int) -> float:
    """Return what a mark's tries come to alone, of the last `since` attempts."""
    if not mark.tries:  # as of nearly all
        return 0.0
    tries = [
        weight_of(weights, one.repeats, one.brings, begins=one.begins)
        for ago, one in mark.tries
        if ago <= since
    ]
    return add_up(tries) / weights["third"]


def weigh_up(traces: Iterable[Traced], weights: Weights) -> Worth:
    """Count what weights find and what they cry wolf about."""
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
            # Once, however often it alarms inside: what counts is whether anybody was asked.
            found[labelled.source] += bool(inside)
            stretch = labelled.stretch_at(inside[0], slack=SLACK) if inside else None
            is_soon = stretch is not None and inside[0] <= stretch.evident + _SOON
            soon[labelled.source] += is_soon
    return Worth(found, soon, stuck, false, healthy)


def fit(traces: Sequence[Traced], start: Weights) -> dict[str, float]:
    """Choose weights by coordinate search; of equals the nearest to the start stays."""
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
                # Better by more than rounding: else equal weights would chase each other.
                if objective > worth + 1e-9:
                    best, worth = tried, objective
        # A whole round moved no weight: neither would another.
        if worth == before:
            break
    return best


def _ordered(weights: Weights, name: str, value: float) -> dict[str, float] | None:
    """Set one weight, and those beside it so that what is less alike counts no more.

    A prior that few sources cannot teach; None: the value is out of bounds.
    """
    if not _LEAST.get(name, 0.0) <= value <= _MOST.get(name, 1.0):
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
    """Fit on all sources but one and judge on that one, for each."""
    sources = sorted({traced.labelled.source for traced in traces})
    found = {}
    for source in progress(sources, total=len(sources), what="sources left out"):
        others = [one for one in traces if one.labelled.source != source]
        own = [one for one in traces if one.labelled.source == source]
        # From the same start each time, which has seen none of them.
        chosen = fit(others, start)
        found[source] = chosen, weigh_up(own, chosen)
    return found


def together(worths: Iterable[Worth]) -> Worth:
    """Add up what was judged source by source."""
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
    """Fit, judge on sources left out, print and perhaps write; 2 without runs."""
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
    # Today's weights have seen every source: what is judged begins from none of them.
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
    """Return what a weight begins at that nothing was fitted for, within its bounds."""
    value = _PLAIN_KEEP if name in KEEPS else gain if name in GAINS else 1.0
    return min(_MOST.get(name, 1.0), max(_LEAST.get(name, 0.0), value))


def _figures(worth: Worth) -> dict[str, Any]:
    return {
        "found": sum(worth.found.values()),
        "soon": sum(worth.soon.values()),
        "stuck": sum(worth.stuck.values()),
        "macro": round(worth.macro, 3),
        "false": worth.false,
        "false_per_1000": round(worth.false_per_1000, 2),
    }
