"""The run as detectors see it: its last steps, oldest first."""

from __future__ import annotations

from dataclasses import dataclass, field

from guard.detectors.score import Weight, add_up, weigh
from guard.reading.step import Step
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
