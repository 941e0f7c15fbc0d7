"""The two numbers that decide when to ask, chosen on some sources and judged on others.

Each run is read once; what a choice would ask is then a sum over its attempts, as in
`guard fit`. What stands in the engine is measured by replaying (`guard.bench.oracle`).
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from guard.bench.fit import Mark, Traced, add_up_tries, trace
from guard.bench.labels import Labelled
from guard.bench.oracle import Asked, Reach, Span, find_spans, is_loop, sum_up
from guard.bench.scores import Trial
from guard.detectors.score import evidence_limit, fitted_weights, weight_of
from guard.formats import read_recording
from guard.policy import Policy
from guard.printing import progress

# In 1,000 healthy turns, where a choice is made: sources it has not seen ask more.
MOST_QUESTIONS = 15.0
_SHARES = (0.3, 0.4, 0.5, 0.6)
_DROUGHTS = (5, 6, 7, 8, 10, 12)
# Sums of tenths miss a whole number by less than this.
_ROUNDING = 1e-9


class Choice(NamedTuple):
    """What decides when to ask: a share of a card's evidence, attempts in vain."""

    share: float
    drought: int


class Read(NamedTuple):
    """A labelled run, read once, and where its stretches are to be asked about."""

    traced: Traced
    spans: Sequence[Span]


def read_all(runs: Sequence[Labelled], policy: Policy) -> list[Read]:
    """Read each run once; one recording is in memory at a time."""
    found = []
    for labelled in progress(runs, total=len(runs), what="runs read"):
        recording = read_recording(labelled.path)
        found.append(Read(trace(labelled, recording, policy), find_spans(labelled, recording)))
    return found


def foresee(run: Read, choice: Choice, policy: Policy, *, careful: bool = False) -> Asked:
    """Say what a choice would ask about a run, and what comes of it with the oracle."""
    labelled, limit = run.traced.labelled, evidence_limit(policy)
    asked, cards = list[int](), list[tuple[int, int | None]]()
    # As if a question had been asked long ago: the first need not wait.
    doubt, last, is_open = _Doubt(choice, limit), -policy.judge.every, False
    for mark in run.traced.marks:
        if mark.is_fresh:
            doubt = _Doubt(choice, limit)
        doubt.take(mark)
        trips = mark.is_held or (doubt.trips and bool(mark.repeats))
        if is_open:
            if mark.recovers and not trips:
                cards[-1], is_open = (cards[-1][0], mark.place), False
                doubt = _Doubt(choice, limit)
            continue
        if not trips and not doubt.asks(is_due=mark.place - last >= policy.judge.every):
            continue
        asked.append(mark.place)
        # A trip is put to the judge at once, and no suspicion waits for it.
        last = last if trips else mark.place
        if is_loop(labelled, mark.place, careful=careful):
            cards.append((mark.place, None))
            is_open = True
        # Let go: its streaks start afresh, or the next attempt would trip again.
        elif trips:
            doubt = _Doubt(choice, limit)
    alarms = tuple(opened for opened, _ in cards)
    trial = Trial(labelled=labelled, turns=run.traced.turns, alarms=alarms)
    return sum_up(trial, asked, cards, run.spans)


class _Doubt:
    """What adds up over attempts (`guard.detectors.stall`), one at a time."""

    def __init__(self, choice: Choice, limit: float) -> None:
        self._choice = choice
        self._limit = limit
        self._evidence = 0.0
        self._tried = 0.0
        self._taken = 0
        self._in_vain = 0
        self._reached = 0

    @property
    def trips(self) -> bool:
        return max(self._evidence, self._tried) >= self._limit - _ROUNDING

    def take(self, mark: Mark) -> None:
        """Take the next attempt."""
        weight = weight_of(fitted_weights(), mark.repeats, mark.brings, begins=mark.begins)
        self._evidence = self._evidence * weight.keep + weight.gain
        self._taken += 1
        self._tried = add_up_tries(mark, fitted_weights(), self._taken)
        self._in_vain = 0 if mark.moves else self._in_vain + 1

    def asks(self, *, is_due: bool) -> bool:
        """Tell whether another question is worth it."""
        worth = self._evidence / (self._choice.share * self._limit)
        worth += self._in_vain / self._choice.drought + _ROUNDING
        asks = is_due and worth >= self._reached + 1
        # Down as well as up: a doubt that fell away and comes back is worth a question anew.
        if asks or worth < self._reached:
            self._reached = int(worth)
        return asks


class Foreseen(NamedTuple):
    """What a choice comes to, by source: with the oracle, and with the careful one."""

    plain: dict[str, Reach]
    careful: dict[str, Reach]


def leave_one_source_out(reads: Sequence[Read], policy: Policy) -> dict[str, Any]:
    """Choose on all sources but one and judge on that one, for each."""
    choices = list(itertools.starmap(Choice, itertools.product(_SHARES, _DROUGHTS)))
    foreseen = {
        choice: Foreseen(
            *[
                Reach(
                    tuple(foresee(run, choice, policy, careful=careful) for run in reads)
                ).by_source()
                for careful in (False, True)
            ]
        )
        for choice in progress(choices, total=len(choices), what="choices")
    }
    sources = sorted({run.traced.labelled.source for run in reads})
    chosen = {one: choose(foreseen, [name for name in sources if name != one]) for one in sources}
    plain = [run for one in sources for run in foreseen[chosen[one]].plain[one].runs]
    careful = [run for one in sources for run in foreseen[chosen[one]].careful[one].runs]
    return {
        "chosen_on_all": choose(foreseen, sources)._asdict(),
        "chosen_without_one": [
            {**choice._asdict(), "sources": count}
            for choice, count in Counter(chosen.values()).most_common()
        ],
        **Reach(tuple(plain)).as_row(),
        "careful": Reach(tuple(careful)).as_row(),
    }


def choose(foreseen: Mapping[Choice, Foreseen], sources: Sequence[str]) -> Choice:
    """Take what reaches most for the questions allowed, whichever oracle answers."""

    def worth(choice: Choice) -> tuple[bool, float]:
        plain, careful = foreseen[choice]
        asks = _together(plain, sources).per_1000
        reached = _reached(plain, sources) + _reached(careful, sources)
        # Whatever keeps to the questions allowed beats all that does not. Rounded, so that of
        # equals the first is taken.
        return asks <= MOST_QUESTIONS, round(reached, 6)

    return max(foreseen, key=worth)


def _together(reached: Mapping[str, Reach], sources: Sequence[str]) -> Reach:
    return Reach(tuple(run for name in sources for run in reached[name].runs))


def _reached(reached: Mapping[str, Reach], sources: Sequence[str]) -> float:
    """Add the share of stretches reached to its average over sources."""
    shares = [share for name in sources if (share := reached[name].share) is not None]
    return (_together(reached, sources).share or 0.0) + statistics.fmean(shares or [0.0])
