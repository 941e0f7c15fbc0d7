"""What every detector is: a pure look at the run's last steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from guard.budget import Spent
from guard.policy import Policy
from guard.signals import Kind, Signal
from guard.similarity import cosine
from guard.step import Step
from guard.trail import Trail


class Meter(Protocol):
    """Tells what a run has used."""

    @property
    def spent(self) -> Spent:
        """What the run has used so far."""


@dataclass(slots=True, kw_only=True)
class View:
    """What a detector looks at: the steps since a person spoke, and the meter.

    Attributes:
        seq: The observed turn.
        trail: Steps, oldest first; never empty.
        meter: What the run has used, to be read by those who ask.
    """

    seq: int
    trail: Trail
    meter: Meter

    @property
    def spent(self) -> Spent:
        """What the run has used so far."""
        return self.meter.spent


class Detector(ABC):
    """One idea of what a loop is.

    A detector keeps no state: what it says follows from the view alone, so the
    same steps give the same signal, and a cleared trail is a fresh start.
    """

    name: ClassVar[str]
    kind: ClassVar[Kind]
    reads_verbatim: ClassVar[bool] = False
    """It reads the turns' own words (`Step.said`)."""

    @abstractmethod
    def __init__(self, policy: Policy) -> None:
        """Take the thresholds that concern this detector."""

    @abstractmethod
    def examine(self, view: View) -> Signal | None:
        """Look at the newest step; a signal below 1.0 is a nudge."""


_REWORDED = 4


def says_again(earlier: Step, later: Step, threshold: float) -> bool:
    """Tell whether a message says what another said, in these words or nearly."""
    if earlier.request == later.request:
        return True
    if len(later.terms - earlier.terms) > _REWORDED:
        return False
    return cosine(earlier.vector, later.vector) >= threshold


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


def name_the_deed(step: Step) -> str:
    """Say in words what kind of deed is repeated: "ran the same test"."""
    return _DEEDS.get(step.action, "made the same call")


_DEEDS = {
    "file_edit": "made the same edit",
    "message": "said the same",
    "read": "read the same thing",
    "search": "made the same search",
    "shell_exec": "ran the same command",
    "test_run": "ran the same test",
}


def name_the_answer(step: Step) -> str:
    """Say in words what came back: "the same error"."""
    return "the same error" if step.failed else "the same answer"
