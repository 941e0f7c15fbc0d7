"""What a rule is, a pure function of the run's last steps, and how those are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, ClassVar

from guard.budget import KnownUsage, UsageMeter
from guard.detectors.score import Weight, sum_evidence, weigh_step
from guard.policy import Policy
from guard.reading.step import Step
from guard.signals import Evidence, Kind, Severity, Signal

_NEWCOMER_CALLS = 2
_MIN_TRIES = 3
IDENTICAL = (1.0, 1.0)  # as alike as possible, and nothing less counts


class History:
    """The last steps since a person spoke, oldest first, at most `span`."""

    last: Step  # the newest; missing before the first

    def __init__(self, span: int) -> None:
        self._span = span
        self.steps: list[Step] = []
        self.calls: list[Step] = []  # the steps that are tool calls
        self._proposed = 0  # how many steps are not done yet; usually none
        self._gains = 0  # how many steps repeat an earlier one; usually none
        self.weights: list[Weight] = []  # what each step does to the stuck score
        self.evidence = 0.0  # for the newest step's agent being stuck (`sum_evidence`)
        # The newest tries of one command with the same failure, weighed as if nothing were between.
        self.tries: dict[Step, Weight] = {}

    def clear(self) -> None:
        """Forget everything: a person stepped in."""
        self.steps.clear()
        self.weights.clear()
        self.calls.clear()
        self.tries = {}
        self._proposed = self._gains = 0

    def add(self, step: Step, place: int | None) -> None:
        """Add a step and forget the oldest beyond the span, or replace the step at `place`."""
        self._proposed += step.proposed
        if place is None:
            self.weights.append(weigh_step(step, self.steps, self.weights))
            self._gains += self.weights[-1].gain > 0
            self.steps.append(step)
            if step.is_call:
                self.calls.append(step)
            if len(self.steps) > self._span:
                oldest = self.steps.pop(0)
                self._proposed -= oldest.proposed
                self._gains -= self.weights.pop(0).gain > 0
                del self.calls[: oldest.is_call]
        else:
            self._proposed -= self.steps[place].proposed
            self.steps[place] = step
            self.weights[place] = weigh_step(step, self.steps[:place], self.weights)
            self._gains = sum(weight.gain > 0 for weight in self.weights)
            self.calls = [step for step in self.steps if step.is_call]
        self.last = newest = self.steps[-1]
        self.evidence, self.tries = 0.0, {}
        if not self._gains:
            return
        counted = self.weights
        # What others did before does not count for a newcomer that looks around.
        looks = newest.explores
        if looks and [one.agent for one in self.calls].count(newest.agent) <= _NEWCOMER_CALLS:
            pairs = zip(self.steps, self.weights, strict=True)
            counted = [weight for one, weight in pairs if one.agent == newest.agent]
        self.evidence = sum_evidence(counted)
        self.tries = self._weigh_tries()

    def _weigh_tries(self) -> dict[Step, Weight]:
        """Weigh the tries of a command that the agent came back to and that failed alike again.

        What was read in between takes nothing from them; a change may have been the cure.
        """
        newest = self.last
        if not newest.failed or not newest.is_answered:
            return {}

        def is_try(step: Step) -> bool:
            is_same = step.agent == newest.agent and step.verb == newest.verb and step.is_answered
            return is_same and (not step.is_in_vain or step.failure == newest.failure)

        tries = tries_of(self.calls, is_try, lambda step: step.is_in_vain, changed_something)
        own = self.answered_of(newest.agent)
        # Consecutive ones are in the score already, and have their own rules.
        if len(tries) < _MIN_TRIES or own[-len(tries)] is tries[0]:
            return {}
        weights: list[Weight] = []
        for place, step in enumerate(tries):
            weights.append(weigh_step(step, tries[:place], weights))
        return dict(zip(tries, weights, strict=True))

    @property
    def repeats(self) -> list[Step]:
        """The attempts that repeat an earlier one."""
        return [self.steps[place] for place, one in enumerate(self.weights) if one.gain > 0]

    def since(self, first: Step) -> list[Step]:
        """Return a remembered step and all steps after it."""
        return self.steps[self.steps.index(first) :]

    def answered_of(self, agent: str) -> list[Step]:
        """Return the calls of one agent whose outcome is known."""
        return [step for step in self.steps if step.agent == agent and step.is_answered]

    def find(self, seq: int | None, key: str | None = None, *, proposed: bool) -> int | None:
        """Return the place of the call with this key or number, if `proposed` a proposed one."""
        if proposed and not self._proposed:
            return None
        places = [at for at, step in enumerate(self.steps) if step.proposed or not proposed]
        for place in reversed(places):
            step = self.steps[place]
            has_keys = key is not None and step.key is not None
            if key == step.key if has_keys else seq == step.seq:
                return place
        return None


@dataclass(slots=True)
class View:
    """What a rule sees: the observed turn, the steps since a person spoke, the usage."""

    seq: int
    history: History
    meter: UsageMeter | KnownUsage
    agent: str  # who acts: usage is counted under this name


# One thing that a rule looks for: a method, so that each can be measured separately.
Check = Callable[[Any, History], Iterable[Signal | None]]


class Detector(ABC):
    """One idea of what a loop is.

    It keeps no state: its signal depends on the view alone, so the same steps give
    the same signal, and a cleared history is a fresh start.
    """

    name: ClassVar[str]
    reads_raw: ClassVar[bool] = False  # it reads the turns' own words (`Step.raw`)
    reads_usage: ClassVar[bool] = False  # it needs the run's usage even without a ceiling
    checks: ClassVar[tuple[Check, ...]] = ()  # what it looks for, each independently

    @abstractmethod
    def __init__(self, policy: Policy) -> None:
        """Take the thresholds for this rule."""

    def examine(self, view: View) -> Signal | None:
        """Look at the newest step and return the surest signal; below 1.0 it is a nudge."""
        surest = None
        for check in self.checks:
            for signal in check(self, view.history):
                if signal is not None and (surest is None or signal.score > surest.score):
                    surest = signal
        return surest


def signal_of(
    detector: str,
    kind: Kind,
    steps: Sequence[Step],  # the steps it rests on, oldest first
    summary: str,  # one sentence, subject "It"
    *,
    limit: int = 0,  # at how many repeats it trips
    repeats: int | None = None,  # None: as many as steps
    score: float | None = None,  # in [0, 1]; None: the reached share of the limit
    # The lowest similarity of a pair, and the threshold for it.
    alike: tuple[float, float] | tuple[None, None] = (None, None),
    severity: Severity = Severity.ASK,  # for a rule that sets its own severity
) -> Signal:
    """Return the signal for these steps; its score follows from their count and the limit."""
    count = len(steps) if repeats is None else repeats
    return Signal(
        detector=detector,
        kind=kind,
        score=min(1.0, count / limit) if score is None else score,
        severity=severity,
        turns=tuple([step.seq for step in steps]),
        evidence=Evidence(
            summary=summary,
            calls=tuple(dict.fromkeys([step.call for step in steps])),
            repeats=count,
            limit=limit,
            similarity=alike[0],
            threshold=alike[1],
        ),
    )


def tail_of(steps: Sequence[Step], belongs: Callable[[Step], bool]) -> list[Step]:
    """Return the longest tail of steps that all satisfy `belongs`, oldest first."""
    return list(takewhile(belongs, reversed(steps)))[::-1]


def one_per_batch(steps: Iterable[Step]) -> list[Step]:
    """Return the last step of each answer: parallel calls cannot learn from each other."""
    return list({step.batch: step for step in steps}.values())


def tries_of(
    steps: Sequence[Step],
    is_try: Callable[[Step], bool],
    is_in_vain: Callable[[Step], bool],
    is_cure: Callable[[Step], bool] = lambda _: False,
) -> list[Step]:
    """Return the last tries of something, oldest first, after the last that was not in vain.

    A step in between that may be the cure ends them too.
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
    """Return whether the step is an edit that took effect."""
    return step.is_edit and step.had_effect


def describe_answers(steps: Sequence[Step]) -> str:
    """Return how alike the answers of these steps are, in words.

    Rules compare answers without their times, numbers and ids. A person reads the turns
    with them, and must not be told that different texts are the same.
    """
    texts = {step.outcome.text for step in steps if step.outcome is not None}
    return "the same answer" if len(texts) <= 1 else "nearly the same answer"


def have_own_targets(steps: Sequence[Step], *, in_words: bool = False) -> bool:
    """Return whether each call is for something that the others are not for.

    Arguments are compared one by one, and equal ones skipped: three tables counted with one long
    query are three questions, three wordings of one search are not. All words of a question count.
    An action's target is in its short arguments (a path, an id): its text may be worded in any way,
    and counts only with `in_words`. Of more than three calls, one may repeat the target of another.
    """
    aims = [
        step.names if in_words or step.is_question or step.runs_code else step.arguments.targets
        for step in steps
    ]
    if not aims or len(frozenset.intersection(*aims)) in map(len, aims):
        return False  # one of them names nothing of its own
    return len(set(aims)) >= len(aims) - (len(aims) > _MIN_TRIES)


def changed_something(step: Step) -> bool:
    """Return whether the step is an effective edit, by its name or by the text it carries."""
    texts = (one.text for one in step.arguments.values() if one.is_body)
    return step.had_effect and (step.is_edit or any(" " in text for text in texts))
