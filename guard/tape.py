"""How like a turn is to the last few: the upper of the two lines a screen draws of a run."""

from __future__ import annotations

from guard.step import Step

_SPAN = 8
_ANOTHER_ANSWER = 0.75


class Tape:
    """The last eight steps, oldest first, whoever spoke between."""

    def __init__(self) -> None:
        self._steps: list[Step] = []

    def take(self, step: Step) -> None:
        """Take a new step."""
        self._steps = [*self._steps[1 - _SPAN :], step]

    def put(self, step: Step) -> None:
        """Replace a proposed step by its completion, which has its number."""
        self._steps = [step if old.seq == step.seq else old for old in self._steps]

    def likeness(self, step: Step) -> float:
        """Give how like a step is to the most alike of these, in [0, 1].

        A quarter of it is what came back: a poll that moves shows as 0.75.
        """
        talks = not step.is_call
        others = [old for old in self._steps[::-1] if old.is_call != talks and old.seq != step.seq]
        again = [_share(step, old) for old in others if old.request == step.request]
        best = max(again, default=0.0)
        return round(best if best == 1.0 else max(best, _most_alike(step, others, best)), 3)


def _share(step: Step, old: Step) -> float:
    """Give how like two turns with the same words are."""
    came, then = step.outcome_key, old.outcome_key
    return 1.0 if came is None or then is None or came == then else _ANOTHER_ANSWER


def _most_alike(step: Step, others: list[Step], best: float) -> float:
    """Compare words (`similarity.overlap`), where they may be more alike than the best so far."""
    words, size = step.words, len(step.words)
    for old in others:
        theirs = old.words
        total, fewer = size + len(theirs), min(size, len(theirs))
        if fewer and 2 * fewer / total > best:
            likeness = 2 * len(words & theirs) / total
            if likeness > best:
                best = max(best, _share(step, old) * likeness)
    return best
