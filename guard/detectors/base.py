"""What every rule is: a pure look at the run's last steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from guard.budget import KnownUsage, Spent, UsageMeter
from guard.detectors.history import History
from guard.policy import Policy
from guard.reading.step import Step
from guard.signals import Evidence, Kind, Signal


@dataclass(slots=True, kw_only=True)
class View:
    """What a rule looks at: the steps since a person spoke, and the meter.

    Attributes:
        seq: The observed turn.
        history: Steps, oldest first; never empty.
        meter: What the run has used, to be read by those who ask.
    """

    seq: int
    history: History
    meter: UsageMeter | KnownUsage

    @property
    def spent(self) -> Spent:
        """What the run has used so far."""
        return self.meter.spent


class Detector(ABC):
    """One idea of what a loop is.

    It keeps no state: what it says follows from the view alone, so the same steps
    give the same signal, and a cleared history is a fresh start.
    """

    name: ClassVar[str]
    reads_verbatim: ClassVar[bool] = False
    """It reads the turns' own words (`Step.verbatim`)."""

    @abstractmethod
    def __init__(self, policy: Policy) -> None:
        """Take the thresholds that concern this rule."""

    @abstractmethod
    def examine(self, view: View) -> Signal | None:
        """Look at the newest step; a signal below 1.0 is a nudge."""

    def signal(
        self,
        kind: Kind,
        steps: Sequence[Step],
        summary: str,
        *,
        limit: int,
        repeats: int | None = None,
        score: float | None = None,
        similarity: float | None = None,
        threshold: float | None = None,
    ) -> Signal:
        """Say what these steps are; how sure follows from how many there may be.

        Args:
            kind: What sort of trouble it is.
            steps: What it rests on, oldest first.
            summary: One sentence, subject "It".
            limit: At how many repeats it trips.
            repeats: How many there are; None: as many as steps.
            score: In [0, 1]; None: the share of the limit that is reached.
            similarity: In [0, 1], lowest pairwise.
            threshold: What `similarity` is held against.
        """
        count = len(steps) if repeats is None else repeats
        return Signal(
            detector=self.name,
            kind=kind,
            score=min(1.0, count / limit) if score is None else score,
            turns=tuple([step.seq for step in steps]),
            evidence=Evidence(
                summary=summary,
                calls=once_each(steps),
                repeats=count,
                limit=limit,
                similarity=similarity,
                threshold=threshold,
            ),
        )


def surest(signals: Iterable[Signal | None]) -> Signal | None:
    """Give the signal with the highest score; of equals the first."""
    found = [signal for signal in signals if signal is not None]
    return max(found, key=lambda signal: signal.score, default=None)


def tail_of(steps: Sequence[Step], belongs: Callable[[Step], bool]) -> list[Step]:
    """Give the longest tail of steps that all belong, oldest first."""
    start = len(steps)
    while start > 0 and belongs(steps[start - 1]):
        start -= 1
    return list(steps[start:])


def once_each(steps: Iterable[Step]) -> tuple[str, ...]:
    """Give the calls of steps as text, each once, in order of appearance."""
    return tuple(dict.fromkeys([step.call for step in steps]))


def turns_of(steps: Iterable[Step]) -> tuple[int, ...]:
    """Give the numbers of steps, in their order."""
    return tuple([step.seq for step in steps])


def compare_answers(steps: Sequence[Step]) -> str:
    """Say whether these steps were answered alike or the same.

    Rules compare answers without their times, numbers and ids; a person who reads
    the turns does not, and must not be told what they do not show.
    """
    said = {step.outcome.text for step in steps if step.outcome is not None}
    return "the same answer" if len(said) <= 1 else "nearly the same answer"


# --- do like requests ask for the same thing, or each for another? ---------------------
#
# Arguments are compared one by one, and equal ones skipped: three tables counted
# with one long query are three questions, three wordings of one search are not.

_FEW = 3


def name_other_targets(steps: Sequence[Step]) -> bool:
    """Tell whether every call names something that none of the others does.

    Of more than three, one may ask again for what another did.
    """
    return _differ([step.names for step in steps])


def aim_elsewhere(steps: Sequence[Step]) -> bool:
    """Tell whether every call is for another thing, whatever an action says of it.

    A question is told by all its words. An action's target stands in its short
    arguments (a path, an id); its text may be worded in any way.
    """
    return _differ(
        [step.names if step.asks or step.runs else step.arguments.targets for step in steps]
    )


def changed_something(step: Step) -> bool:
    """Tell an effective edit, by its name or by the text that it carries."""
    if not step.acted:
        return False
    return step.edits or any(one.is_body and " " in one.text for one in step.arguments.values())


def _differ(names: Sequence[frozenset[str]]) -> bool:
    if not names:
        return False
    common = len(frozenset.intersection(*names))
    if common in map(len, names):
        return False  # it names nothing of its own
    spared = len(names) > _FEW
    return len(set(names)) >= len(names) - spared
