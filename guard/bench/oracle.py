"""When to ask the judge, measured with an oracle in its place and chosen on some sources.

The oracle knows the labels and answers *loop* for a turn inside a stuck stretch. So this
measures the questions, not a model: how many are asked outside every stuck stretch, and
what would be found if each were answered correctly. A *careful* oracle answers *loop*
only once it is evident by the label: a question asked too early is then wasted.

The two numbers that decide when to ask are chosen on some sources and judged on others. Each run
is read once; the questions of a choice are then a sum over its attempts, as in `guard fit`.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from guard.bench.fit import Mark, Traced, sum_tries, trace
from guard.bench.labels import Labelled
from guard.bench.scores import SLACK, Trial, macro_average, rounded, score, score_by
from guard.detectors.score import evidence_limit, fitted_weights, weight_of
from guard.formats import Recording, read_recording
from guard.judge import Case, Ruling, Verdict
from guard.policy import Policy
from guard.printing import progress
from guard.reading.attempts import TurnKind, TurnReader
from guard.replay import replay

# A question is in time up to so many attempts after a stretch is evident.
IN_TIME = 2

# A stuck stretch: from its start to the last turn at which a question is in time.
Span = tuple[int, int]
# Per 1,000 healthy turns of the sources chosen on; unseen sources lead to more questions.
MAX_QUESTIONS = 15.0
_SHARES = (0.3, 0.4, 0.5, 0.6)
_DROUGHTS = (5, 6, 7, 8, 10, 12)
# Rounding errors in sums of tenths are smaller than this.
_ROUNDING = 1e-9


def is_loop(labelled: Labelled, at: int, *, careful: bool) -> bool:
    """Return the oracle's answer for a turn."""
    stretch = labelled.stretch_at(at, slack=SLACK)
    # With the slack of the scores: an alarm that counts as found must also be confirmed here.
    return stretch is not None and (not careful or at >= stretch.evident)


@dataclass
class Oracle:
    """A judge that answers by the label: *loop* only inside a stuck stretch.

    Attributes:
        labelled: The run whose label it knows.
        careful: It answers *loop* only once that is evident.
        asked: The turns that it was asked about, oldest first.
        name: Its name as a judge.
    """

    labelled: Labelled
    careful: bool = False
    asked: list[int] = field(default_factory=list)
    name: str = "oracle"

    def ask(self, case: Case) -> Ruling:
        """Answer for the newest turn of the case."""
        # Not a turn of the evidence, which is older: the question is asked now.
        at = max(turn.seq or 0 for turn in case.history)
        self.asked.append(at)
        loop = is_loop(self.labelled, at, careful=self.careful)
        verdict = Verdict(judge=self.name, loop=loop, confidence=1.0, reason="the label")
        return Ruling(asked=self.name, verdict=verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The questions that were asked about one run.

    Attributes:
        trial: Its cards, as the oracle confirms or dismisses them.
        in_vain: Questions about turns outside every stuck stretch, including trips.
        reached: Number of stuck stretches that were asked about in time.
        stretches: Number of stuck stretches.
    """

    trial: Trial
    in_vain: int
    reached: int
    stretches: int


def ask_about(
    labelled: Labelled, recording: Recording, policy: Policy, *, careful: bool = False
) -> Asked:
    """Replay one run with the oracle as its judge."""
    # Labels count places in the file; the engine's own numbers skip some of them.
    numbered = [turn and replace(turn, seq=at) for at, turn in enumerate(recording.turns)]
    oracle = Oracle(labelled, careful)
    replayed = replay(replace(recording, turns=tuple(numbered)), policy, oracle)
    trial = Trial(
        labelled=labelled,
        turns=len(numbered),
        alarms=tuple(alarm.index for alarm in replayed.alarms),
        detector=replayed.detector,
    )
    cards = [(alarm.index, alarm.until) for alarm in replayed.alarms]
    return sum_up(trial, oracle.asked, cards, find_spans(labelled, recording))


def sum_up(
    trial: Trial,
    asked: Sequence[int],
    cards: Sequence[tuple[int, int | None]],
    spans: Sequence[Span],
) -> Asked:
    """Compare questions with the labels; `cards` are pairs of the turns of opening and closing."""
    # A card that is open when a stretch begins has already asked about it.
    reached = sum(
        any(
            opened <= last and (closed is None or closed >= first - SLACK)
            for opened, closed in cards
        )
        for first, last in spans
    )
    outside = [at for at in asked if trial.labelled.stretch_at(at, slack=SLACK) is None]
    return Asked(trial=trial, in_vain=len(outside), reached=reached, stretches=len(spans))


def find_spans(labelled: Labelled, recording: Recording) -> list[Span]:
    """Return for each stuck stretch of a run the turns at which a question is in time."""
    attempts = find_attempts(recording)
    spans = []
    for stretch in labelled.parts:
        # In time until the turn before the first attempt that is too late.
        later = [at for at in attempts if at > stretch.evident]
        # If fewer attempts follow, every question until the end is in time.
        last = later[IN_TIME] - 1 if len(later) > IN_TIME else len(recording.turns) - 1
        if stretch.end is not None:
            last = min(last, stretch.end + SLACK)
        spans.append((stretch.start, last))
    return spans


def find_attempts(recording: Recording) -> list[int]:
    """Return the positions of a run's attempts: its calls, or its messages if it has no calls."""
    reader, actions = TurnReader(), list[tuple[int, bool]]()
    for at, turn in enumerate(recording.turns):
        read = reader.read(turn, at) if turn else None
        if read and read.kind in {TurnKind.ACTION, TurnKind.REFUSAL}:
            actions.append((at, read.turn.tool is not None))
    # Between calls, messages are not attempts; in a run without calls, they are.
    return [at for at, is_call in actions if is_call] or [at for at, _ in actions]


@dataclass(frozen=True, slots=True)
class Reach:
    """The questions about many runs added up."""

    runs: tuple[Asked, ...]

    @property
    def per_1000(self) -> float:
        """Questions in vain per 1,000 healthy turns."""
        trials = [one.trial for one in self.runs]
        healthy = sum(trial.labelled.healthy_turns(trial.turns) for trial in trials)
        return 1000 * sum(one.in_vain for one in self.runs) / max(1, healthy)

    @property
    def share(self) -> float | None:
        """Share of stuck stretches asked about in time, in [0, 1]; None: there are none."""
        reached = sum(one.reached for one in self.runs)
        return reached / self.stretches if self.stretches else None

    @property
    def stretches(self) -> int:
        """Number of stuck stretches."""
        return sum(one.stretches for one in self.runs)

    def by_source(self) -> dict[str, Reach]:
        """Split by source, in alphabetical order."""
        groups: dict[str, list[Asked]] = {}
        for one in self.runs:
            groups.setdefault(one.trial.labelled.source, []).append(one)
        return {name: Reach(tuple(groups[name])) for name in sorted(groups)}

    def as_row(self) -> dict[str, Any]:
        """Return plain JSON values."""
        trials = [one.trial for one in self.runs]
        total = score(trials)
        macro = macro_average(score_by(trials, lambda labelled: labelled.source).values())
        return {
            "questions_per_1000": round(self.per_1000, 1),
            "stretches": self.stretches,
            "reached_share": rounded(self.share, 3),
            "stuck": total.stuck,
            "found": total.found,
            "found_share": rounded(total.found_share, 3),
            "macro": rounded(macro.found_share, 3),
        }


def ask_all(runs: Sequence[Labelled], policy: Policy, *, careful: bool = False) -> Reach:
    """Replay labelled runs with the oracle as the judge.

    Raises:
        UnreadableRecording: a labelled run has no readable turn file.
    """
    shown = progress(runs, total=len(runs), what="runs asked about")
    return Reach(
        tuple(ask_about(one, read_recording(one.path), policy, careful=careful) for one in shown)
    )


class Choice(NamedTuple):
    """When to ask: at a share of a card's evidence, or after so many attempts in vain."""

    share: float
    drought: int


class Read(NamedTuple):
    """A labelled run, and the turns at which questions about its stretches are in time."""

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
    """Return the questions of a choice about a run, and their outcome with the oracle."""
    labelled, limit = run.traced.labelled, evidence_limit(policy)
    asked, cards = list[int](), list[tuple[int, int | None]]()
    # As if the last question was long ago: the first one need not wait.
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
        # A trip goes to the judge at once and does not delay the next suspicion.
        last = last if trips else mark.place
        if is_loop(labelled, mark.place, careful=careful):
            cards.append((mark.place, None))
            is_open = True
        # Dismissed: streaks start afresh, or the next attempt would trip again.
        elif trips:
            doubt = _Doubt(choice, limit)
    alarms = tuple(opened for opened, _ in cards)
    trial = Trial(labelled=labelled, turns=run.traced.turns, alarms=alarms)
    return sum_up(trial, asked, cards, run.spans)


class _Doubt:
    """The evidence after each attempt, as `guard.detectors.stall` adds it up."""

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
        self._tried = sum_tries(mark, fitted_weights(), self._taken)
        self._in_vain = 0 if mark.moves else self._in_vain + 1

    def asks(self, *, is_due: bool) -> bool:
        """Return whether to ask another question now."""
        worth = self._evidence / (self._choice.share * self._limit)
        worth += self._in_vain / self._choice.drought + _ROUNDING
        asks = is_due and worth >= self._reached + 1
        # It also falls: a doubt that subsided and returns is worth another question.
        if asks or worth < self._reached:
            self._reached = int(worth)
        return asks


class Foreseen(NamedTuple):
    """The results of a choice by source, with the plain and with the careful oracle."""

    plain: dict[str, Reach]
    careful: dict[str, Reach]


def leave_one_source_out(reads: Sequence[Read], policy: Policy) -> dict[str, Any]:
    """For each source, choose on all the others and judge on that source."""
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
    """Return the choice that reaches most, with both oracles, within `MAX_QUESTIONS`."""

    def worth(choice: Choice) -> tuple[bool, float]:
        plain, careful = foreseen[choice]
        asks = _together(plain, sources).per_1000
        reached = _reached(plain, sources) + _reached(careful, sources)
        # Choices within the limit beat all others. Rounded, so that the first of equal ones
        # is taken.
        return asks <= MAX_QUESTIONS, round(reached, 6)

    return max(foreseen, key=worth)


def _together(reached: Mapping[str, Reach], sources: Sequence[str]) -> Reach:
    return Reach(tuple(run for name in sources for run in reached[name].runs))


def _reached(reached: Mapping[str, Reach], sources: Sequence[str]) -> float:
    """Return the share of stretches reached plus its average over sources."""
    shares = [share for name in sources if (share := reached[name].share) is not None]
    return (_together(reached, sources).share or 0.0) + statistics.fmean(shares or [0.0])
