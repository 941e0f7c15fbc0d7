"""Nothing moves: a mixture of repeats, none of which would be enough alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from guard.detectors.base import Detector, View, once_each
from guard.evidence import Weight
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal

_LATELY = 6
_OFTEN = 3
_SHOWN = 12


class Stall(Detector):
    """Trip when the evidence that nothing moves adds up.

    Every step adds what it repeats (the same call and outcome, the same failure
    in other words, another question with the same answer), and takes away what
    it brings (news, a success where there was a failure, fewer failures).

    Source: the ladder of the measured prototype (FINDINGS 3).
    """

    name: ClassVar[str] = "stall"
    kind: ClassVar[Kind] = Kind.STALL

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.stall

    def examine(self, view: View) -> Signal | None:
        """Add up the weights of the remembered steps."""
        weights = view.trail.weights
        lately = [weight.gain > 0 for weight in weights[-_LATELY:]]
        if not lately[-1] or sum(lately) < _OFTEN:
            return None
        score = add_up(weights)
        if score < self._rule.evidence / 2:
            return None
        steps = [
            step for step, weight in zip(view.trail.steps, weights, strict=True) if weight.gain > 0
        ][-_SHOWN:]
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=min(1.0, score / self._rule.evidence),
            turns=tuple(step.seq for step in steps),
            evidence=Evidence(
                summary=f"Nothing new has come of its last {len(steps)} attempts.",
                calls=once_each(steps),
                repeats=len(steps),
                limit=_OFTEN,
            ),
        )


def add_up(weights: Sequence[Weight]) -> float:
    """Give the score after the last weight: each fades what came before it."""
    score = 0.0
    for weight in weights:
        score = score * weight.keep + weight.gain
    return score
