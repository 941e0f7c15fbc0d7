"""What every rule is, a pure look at the run's last steps, and how these are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from guard.budget import KnownUsage, Spent, UsageMeter
from guard.detectors.score import Weight, add_up, weigh
from guard.policy import Policy
from guard.reading.step import Step
from guard.signals import Evidence, Kind, Signal
from guard.turn import Turn

_NEWCOMER = 2


@dataclass(slots=True)
class Own:
    """What one agent said and did, oldest first; lists to be read, not changed."""

    steps: list[Step] = field(default_factory=list)
    calls: list[Step] = field(default_factory=list)
    messages: list[Step] = field(default_factory=list)
    answered: list[Step] = field(default_factory=list)

    def take(self, step: Step) -> None:
        """Enter a new step."""
        self.steps.append(step)
        (self.calls if step.is_call else self.messages).append(step)
        if step.is_answered:
            self.answered.append(step)

    def complete(self, call: Step) -> None:
        """Put what became of the newest step, a proposed call, in its place."""
        self.steps[-1] = self.calls[-1] = call
        if call.is_answered:
            self.answered.append(call)

    def drop(self, oldest: Step) -> None:
        """Forget the oldest step."""
        for steps in (self.steps, self.calls, self.messages, self.answered):
            if steps and steps[0] is oldest:
                del steps[0]


class History:
    """The last steps since a person spoke, oldest first, at most `span`.

    Attributes:
        steps: Every remembered step.
        calls: The tool calls among them.
        weights: What each step does to the stuck score.
        can_act: A call was made within the last `Engine.WINDOW` turns.
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
        self.can_act = False
        self._own: dict[str, Own] = {}
        self._proposed = 0

    @property
    def has_calls(self) -> bool:
        """Calls are told of this run, not only what is said."""
        return bool(self.calls)

    @property
    def has_one_agent(self) -> bool:
        """All that is remembered is of one agent."""
        return len(self._own) < 2  # noqa: PLR2004 - one

    def _weigh_all(self) -> float:
        """Add up the evidence that the newest step's agent is stuck.

        Who has hardly begun and looks around is not held to what others did before.
        """
        agent = self.last.agent
        is_new = self.last.looks_around and len(self.of_agent(agent).calls) <= _NEWCOMER
        if self.has_one_agent or not is_new:
            return add_up(self.weights)
        own = [w for step, w in zip(self.steps, self.weights, strict=True) if step.agent == agent]
        return add_up(own)

    def clear(self) -> None:
        """Forget all: a person stepped in."""
        self.steps.clear()
        self.weights.clear()
        self._sort_anew()
        self._proposed = 0

    def add(self, step: Step) -> None:
        """Take a new step; the oldest beyond the span is forgotten."""
        own = self.of_agent(step.agent)
        self.weights.append(weigh(step, self.steps, self.weights))
        self.steps.append(step)
        self.last = step
        self._proposed += step.proposed
        self._own.setdefault(step.agent, own).take(step)
        if step.is_call:
            self.calls.append(step)
        if len(self.steps) > self._span:
            self._drop_oldest()
        self.evidence = self._weigh_all()

    def of_agent(self, agent: str) -> Own:
        """Give what one agent said and did."""
        return self._own.get(agent) or Own()

    def find_proposal(self, turn: Turn) -> int | None:
        """Give the place of the proposed step that this turn completes."""
        if not self._proposed:
            return None
        for index in range(len(self.steps) - 1, -1, -1):
            if _completes(turn, self.steps[index]):
                return index
        return None

    def place_of(self, seq: int | None) -> int | None:
        """Give the place of the step with this number, if it is remembered."""
        places = range(len(self.steps) - 1, -1, -1)
        return next((place for place in places if self.steps[place].seq == seq), None)

    def put(self, index: int, step: Step) -> None:
        """Replace a step by its completion, which has its number."""
        old = self.steps[index]
        self._proposed += step.proposed - old.proposed
        self.steps[index] = step
        self.last = self.steps[-1]
        self.weights[index] = weigh(step, self.steps[:index], self.weights)
        if step is self.last and step.is_call and old.is_call and old.agent == step.agent:
            self.calls[-1] = step
            self._own[step.agent].complete(step)
        else:
            self._sort_anew()
        self.evidence = self._weigh_all()

    def between(self, first: Step, last: Step) -> list[Step]:
        """Give what stands between two remembered steps."""
        return self.steps[self.steps.index(first) + 1 : self.steps.index(last)]

    def _drop_oldest(self) -> None:
        oldest = self.steps.pop(0)
        del self.weights[0]
        self._proposed -= oldest.proposed
        if oldest.is_call:
            del self.calls[0]
        own = self._own[oldest.agent]
        own.drop(oldest)
        if not own.steps:
            del self._own[oldest.agent]

    def _sort_anew(self) -> None:
        self.calls = [step for step in self.steps if step.is_call]
        self._own = {}
        for step in self.steps:
            self._own.setdefault(step.agent, Own()).take(step)


def _completes(turn: Turn, step: Step) -> bool:
    if not step.proposed:
        return False
    if turn.key is not None and step.key is not None:
        return turn.key == step.key
    return turn.seq is not None and turn.seq == step.seq


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
