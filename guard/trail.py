"""The run as detectors see it: its last steps, oldest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from guard.evidence import Weight, weigh
from guard.step import Step
from guard.turn import Turn


class Trail:
    """The last steps since a person spoke, oldest first, at most `span`."""

    def __init__(self, span: int) -> None:
        self._span = span
        self._steps: list[Step] = []
        self._weights: list[Weight] = []
        self._proposed = 0
        self._picked: dict[tuple[str, str], list[Step]] = {}

    @property
    def steps(self) -> Sequence[Step]:
        """Every remembered step, oldest first."""
        return self._steps

    @property
    def weights(self) -> Sequence[Weight]:
        """What each remembered step does to the suspicion, oldest first."""
        return self._weights

    @property
    def has_calls(self) -> bool:
        """Calls are told of this run, not only what is said."""
        return any(step.is_call for step in self._steps)

    @property
    def last(self) -> Step:
        """The newest step."""
        return self._steps[-1]

    def clear(self) -> None:
        """Forget all: a person stepped in."""
        self._steps.clear()
        self._weights.clear()
        self._picked.clear()
        self._proposed = 0

    def add(self, step: Step) -> None:
        """Take a new step; the oldest beyond the span is forgotten."""
        self._picked.clear()
        self._weights.append(weigh(step, self._steps))
        self._steps.append(step)
        self._proposed += step.proposed
        if len(self._steps) > self._span:
            self._proposed -= self._steps[0].proposed
        del self._steps[: -self._span]
        del self._weights[: -self._span]

    def find_proposal(self, turn: Turn) -> int | None:
        """Give the place of the proposed step that this turn completes."""
        if not self._proposed:
            return None
        for index in range(len(self._steps) - 1, -1, -1):
            if _completes(turn, self._steps[index]):
                return index
        return None

    def place_of(self, seq: int | None) -> int | None:
        """Give the place of the step with this number, if it is remembered."""
        places = range(len(self._steps) - 1, -1, -1)
        return next((place for place in places if self._steps[place].seq == seq), None)

    def put(self, index: int, step: Step) -> None:
        """Replace a proposed step by its completion."""
        self._picked.clear()
        old = self._steps[index]
        self._proposed += step.proposed - old.proposed
        self._steps[index] = step._replace(seq=old.seq)
        self._weights[index] = weigh(step, self._steps[:index])

    def of_agent(self, agent: str) -> Sequence[Step]:
        """Give the steps of one agent, oldest first."""
        return self._pick("of", agent, lambda step: step.agent == agent)

    def answered_of(self, agent: str) -> Sequence[Step]:
        """Give one agent's calls of which is known what came back, oldest first."""
        return self._pick("answered", agent, lambda step: step.agent == agent and step.is_answered)

    def calls(self) -> Sequence[Step]:
        """Give the tool calls, oldest first."""
        return self._pick("calls", "", lambda step: step.is_call)

    def between(self, first: Step, last: Step) -> list[Step]:
        """Give what stands between two remembered steps."""
        start, end = self._place(first), self._place(last)
        return self._steps[start + 1 : end]

    def _pick(self, what: str, whose: str, belongs: Callable[[Step], bool]) -> Sequence[Step]:
        """Give the steps that belong, picked once: several detectors ask for the same."""
        if (what, whose) not in self._picked:
            self._picked[what, whose] = list(filter(belongs, self._steps))
        return self._picked[what, whose]

    def _place(self, wanted: Step) -> int:
        return next(place for place, step in enumerate(self._steps) if step is wanted)


def _completes(turn: Turn, step: Step) -> bool:
    if not step.proposed:
        return False
    if turn.key is not None and step.key is not None:
        return turn.key == step.key
    return turn.seq is not None and turn.seq == step.seq
