"""Nothing moves: a mixture of repeats, none of which would be enough alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from guard.detectors.base import Detector, View, once_each, turns_of
from guard.detectors.unanswered import asked_in_vain
from guard.evidence import Weight
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.step import Step

_LATELY = 6
_OFTEN = 3
_SHOWN = 12


class Stall(Detector):
    """Trip when the evidence that nothing moves adds up.

    Every step adds what it repeats (the same call and outcome, the same failure
    in other words, another question with the same answer), and takes away what
    it brings (news, a success where there was a failure, fewer failures).

    Where no results are known, the same calls asked over again, in any order, are
    enough: eight that name nothing the run had not named.

    Source: the ladder of the measured prototype (FINDINGS 3).
    """

    name: ClassVar[str] = "stall"
    kind: ClassVar[Kind] = Kind.STALL

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.stall

    def examine(self, view: View) -> Signal | None:
        """Add up the weights of the remembered steps; without results, what was asked."""
        asked = asked_in_vain(view.trail.steps, self._rule.without_results)
        return self._asked(asked) if asked else self._adds_up(view)

    def _asked(self, row: Sequence[Step]) -> Signal:
        return self._signal(
            row,
            1.0,
            f"Its last {len(row)} calls ask for nothing that it had not asked for; what came \
back is not known.",
            self._rule.without_results,
        )

    def _adds_up(self, view: View) -> Signal | None:
        weights = view.trail.weights
        if weights[-1].gain <= 0 or sum([gain > 0 for gain, _ in weights[-_LATELY:]]) < _OFTEN:
            return None
        score = add_up(weights)
        if score < self._rule.evidence / 2:
            return None
        steps = [
            step for step, weight in zip(view.trail.steps, weights, strict=True) if weight.gain > 0
        ][-_SHOWN:]
        summary = f"Nothing new has come of its last {len(steps)} attempts."
        return self._signal(steps, min(1.0, score / self._rule.evidence), summary, _OFTEN)

    def _signal(self, steps: Sequence[Step], score: float, summary: str, limit: int) -> Signal:
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=score,
            turns=turns_of(steps),
            evidence=Evidence(
                summary=summary, calls=once_each(steps), repeats=len(steps), limit=limit
            ),
        )


def add_up(weights: Sequence[Weight]) -> float:
    """Give the score after the last weight: each fades what came before it."""
    score = 0.0
    for gain, keep in weights:
        score = score * keep + gain
    return score
