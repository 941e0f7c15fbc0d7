"""Nothing moves: a mixture of repeats, none of which would be enough alone."""

from __future__ import annotations

from typing import ClassVar

from guard.detectors.base import Detector, View
from guard.detectors.score import evidence_limit
from guard.policy import Policy
from guard.signals import Kind, Signal

_LIKELY = 0.5
_OFTEN = 3
_SHOWN = 12


class Stall(Detector):
    """Trip when the stuck score (`guard.detectors.score`) reaches the policy's sensitivity.

    Every attempt adds what it repeats (the same call and outcome, the same failure
    in other words, another question with the same answer), and takes away what it
    brings (news, a success where there was a failure, fewer failures).
    """

    name: ClassVar[str] = "stall"

    def __init__(self, policy: Policy) -> None:
        self._limit = evidence_limit(policy)

    def examine(self, view: View) -> Signal | None:
        """Hold what the remembered steps add up to against the policy."""
        weights = view.history.weights
        score = view.history.evidence / self._limit
        if weights[-1].gain <= 0 or score < _LIKELY:
            return None
        pairs = zip(view.history.steps, weights, strict=True)
        vain = [step for step, weight in pairs if weight.gain > 0][-_SHOWN:]
        if len({(step.request, step.outcome_key, step.agent) for step in vain}) == 1:
            return None  # one call with one answer: `repeat` names it
        summary = f"Nothing new has come of its last {len(vain)} attempts."
        return self.signal(Kind.STALL, vain, summary, limit=_OFTEN, score=min(1.0, score))
