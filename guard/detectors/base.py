"""What every rule is, a pure look at the run's last steps, and how these are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from guard.budget import KnownUsage, UsageMeter
from guard.detectors.score import Weight, add_up, weigh
from guard.policy import Policy
from guard.reading.step import Step
from guard.signals import Evidence, Kind, Signal
from guard.turn import Turn

_NEWCOMER = 2


class History:
    """The last steps since a person spoke, oldest first, at most `span`.

    Attributes:
        steps: Every remembered step.
        calls: The tool calls among them.
        weights: What each step does to the stuck score.
        has_one_agent: All that is remembered is of one agent.
        evidence: What adds up that the newest step's agent is stuck (`add_up`).
        last: The newest step; there is none before the first.
    """

    last: Step

    def __init__(self, span: int) -> None:
        self._span = span
        self.steps: list[Step] = []
        self.calls: list[Step] = []
        self.weights: list[Weight] = []
        self.evidence = 0.0
        self.has_one_agent = True
        self._proposed = 0

    def clear(self) -> None:
        """Forget all: a person stepped in."""
        self.steps.clear()
        self.weights.clear()
        self.calls.clear()
        self._proposed = 0

    def add(self, step: Step) -> None:
        """Take a new step; the oldest beyond the span is forgotten."""
        self.weights.append(weigh(step, self.steps, self.weights))
        self.steps.append(step)
        self._proposed += step.proposed
        if step.is_call:
            self.calls.append(step)
        if len(self.steps) > self._span:
            oldest = self.steps.pop(0)
            self._proposed -= oldest.proposed
            del self.weights[0], self.calls[: oldest.is_call]
        self._add_up()

    def put(self, index: int, step: Step) -> None:
        """Replace a step by its completion, which has its number."""
        self._proposed += step.proposed - self.steps[index].proposed
        self.steps[index] = step
        self.weights[index] = weigh(step, self.steps[:index], self.weights)
        self.calls = [step for step in self.steps if step.is_call]
        self._add_up()

    def _add_up(self) -> None:
        self.last = newest = self.steps[-1]
        self.has_one_agent = len({step.agent for step in self.steps}) == 1
        counted = self.weights
        # Who has hardly begun and looks around is not held to what others did before.
        is_early = newest.looks_around and not self.has_one_agent
        if is_early and sum(step.agent == newest.agent for step in self.calls) <= _NEWCOMER:
            pairs = zip(self.steps, self.weights, strict=True)
            counted = [weight for step, weight in pairs if step.agent == newest.agent]
        self.evidence = add_up(counted)

    def answered_of(self, agent: str) -> list[Step]:
        """Give the calls of one agent of which is known what came back."""
        return [step for step in self.steps if step.agent == agent and step.is_answered]

    def find_proposal(self, turn: Turn) -> int | None:
        """Give the place of the proposed step that this turn completes."""
        if not self._proposed:
            return None
        for index in range(len(self.steps) - 1, -1, -1):
            step = self.steps[index]
            if step.proposed:
                has_keys = turn.key is not None and step.key is not None
                if turn.key == step.key if has_keys else turn.seq == step.seq:
                    return index
        return None

    def place_of(self, seq: int | None) -> int | None:
        """Give the place of the step with this number, if it is remembered."""
        places = range(len(self.steps) - 1, -1, -1)
        return next((place for place in places if self.steps[place].seq == seq), None)

    def between(self, first: Step, last: Step) -> list[Step]:
        """Give what stands between two remembered steps."""
        return self.steps[self.steps.index(first) + 1 : self.steps.index(last)]


@dataclass(slots=True, kw_only=True)
class View:
    """What a rule looks at: the observed turn, the steps since a person spoke, what was used."""

    seq: int
    history: History
    meter: UsageMeter | KnownUsage


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


def tries_of(
    steps: Sequence[Step],
    is_try: Callable[[Step], bool],
    is_in_vain: Callable[[Step], bool],
    is_cure: Callable[[Step], bool],
) -> list[Step]:
    """Give the last tries of something, oldest first, back to one that was not in vain.

    A step between that may be the cure ends them as well.
    """
    tries: list[Step] = []
    for step in reversed(steps):
        if is_try(step):
            if not is_in_vain(step):
                break
            tries.append(step)
        elif is_cure(step):
            break
    return tries[::-1]


def has_edited(step: Step) -> bool:
    """Tell an edit that took effect."""
    return step.edits and step.acted


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
    texts = (one.text for one in step.arguments.values() if one.is_body)
    return step.acted and (step.edits or any(" " in text for text in texts))


def _differ(names: Sequence[frozenset[str]]) -> bool:
    if not names:
        return False
    common = len(frozenset.intersection(*names))
    if common in map(len, names):
        return False  # it names nothing of its own
    spared = len(names) > _FEW
    return len(set(names)) >= len(names) - spared
