"""When the judge is asked: measured with an oracle in its place.

The oracle knows the labels and says *loop* of a turn inside a stuck stretch, so that
this measures the questions and not a model: how many are put outside every stuck
stretch, and what would be found if each were answered rightly. A *careful* oracle says
so only once the label calls it evident: a question that comes too soon is lost on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from guard.bench.labels import Labelled
from guard.bench.scores import SLACK, Trial, macro_average, rounded, score, score_by
from guard.formats import Recording, read_recording
from guard.judge import Case, Ruling, Verdict
from guard.policy import Policy
from guard.printing import progress
from guard.reading.attempts import Kind, TurnReader
from guard.replay import replay

# Attempts after a stretch is evident within which a question is in time.
IN_TIME = 2

# A stuck stretch: from its start to the last turn at which a question is in time.
Span = tuple[int, int]


def is_loop(labelled: Labelled, at: int, *, careful: bool) -> bool:
    """Say what the oracle says of a turn."""
    stretch = labelled.stretch_at(at, slack=SLACK)
    # With the slack of the scores: an alarm that counts as found must be confirmed here too.
    return stretch is not None and (not careful or at >= stretch.evident)


@dataclass
class Oracle:
    """Answers by the label: *loop* inside a stuck stretch, and only there.

    Attributes:
        labelled: The run it knows.
        careful: It says *loop* only once that is evident.
        asked: The turns it was asked about, oldest first.
        name: What it is called.
    """

    labelled: Labelled
    careful: bool = False
    asked: list[int] = field(default_factory=list)
    name: str = "oracle"

    def ask(self, case: Case) -> Ruling:
        """Answer about the newest turn it is shown."""
        # The newest it is shown: a question rests on older turns, and is asked now.
        at = max(turn.seq or 0 for turn in case.history)
        self.asked.append(at)
        loop = is_loop(self.labelled, at, careful=self.careful)
        verdict = Verdict(judge=self.name, loop=loop, confidence=1.0, reason="the label")
        return Ruling(asked=self.name, verdict=verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked about one run.

    Attributes:
        trial: Its cards, where the oracle confirms and dismisses.
        in_vain: Questions about turns outside every stuck stretch, trips among them.
        reached: How many stretches were asked about in time.
        stretches: How many there are.
    """

    trial: Trial
    in_vain: int
    reached: int
    stretches: int


def ask_about(
    labelled: Labelled, recording: Recording, policy: Policy, *, careful: bool = False
) -> Asked:
    """Replay one run with the oracle as its judge."""
    # By their places in the file, since labels are: the engine's own numbers leave some out.
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
    """Hold questions against the labels; `cards` stand open from one turn to another."""
    # A card that stands open when a stretch begins has asked about it already.
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
    """Give where each stuck stretch of a run is to be asked about, to be in time."""
    attempts = find_attempts(recording)
    spans = []
    for stretch in labelled.parts:
        # Up to the turn before the attempt that comes too late.
        later = [at for at in attempts if at > stretch.evident]
        # Where fewer attempts follow, any question until the end is in time.
        last = later[IN_TIME] - 1 if len(later) > IN_TIME else len(recording.turns) - 1
        if stretch.end is not None:
            last = min(last, stretch.end + SLACK)
        spans.append((stretch.start, last))
    return spans


def find_attempts(recording: Recording) -> list[int]:
    """Give the positions of a run's attempts: calls; where there are none, messages."""
    reader, actions = TurnReader(), list[tuple[int, bool]]()
    for at, turn in enumerate(recording.turns):
        read = reader.take(turn, at) if turn else None
        if read and read.kind in {Kind.ACTION, Kind.REFUSAL}:
            actions.append((at, read.turn.tool is not None))
    # Among calls, messages are talk; a run of talk alone has no other attempts.
    return [at for at, is_call in actions if is_call] or [at for at, _ in actions]


@dataclass(frozen=True, slots=True)
class Reach:
    """What asking comes to over many runs."""

    runs: tuple[Asked, ...]

    @property
    def per_1000(self) -> float:
        """Questions in 1,000 turns outside every stuck stretch."""
        healthy = sum(one.trial.healthy_turns for one in self.runs)
        return 1000 * sum(one.in_vain for one in self.runs) / max(1, healthy)

    @property
    def share(self) -> float | None:
        """Share of stuck stretches asked about in time, in [0, 1]; None: there are none."""
        reached = sum(one.reached for one in self.runs)
        return reached / self.stretches if self.stretches else None

    @property
    def stretches(self) -> int:
        """How many stuck stretches there are."""
        return sum(one.stretches for one in self.runs)

    def by_source(self) -> dict[str, Reach]:
        """Split by source, in alphabetical order."""
        groups: dict[str, list[Asked]] = {}
        for one in self.runs:
            groups.setdefault(one.trial.labelled.source, []).append(one)
        return {name: Reach(tuple(groups[name])) for name in sorted(groups)}

    def as_row(self) -> dict[str, Any]:
        """Give plain JSON values."""
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
    """Replay labelled runs with the oracle as their judge.

    Raises:
        UnreadableRecording: a labelled run has no readable turn file.
    """
    shown = progress(runs, total=len(runs), what="runs asked about")
    return Reach(
        tuple(ask_about(one, read_recording(one.path), policy, careful=careful) for one in shown)
    )
