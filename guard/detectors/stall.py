"""Nothing moves: a mixture of repeats, none of which would be enough alone.

The evidence of the stuck score is compared with two thresholds. At the policy's sensitivity
a person is asked (`Stall`). Below it there is only a suspicion, never an alarm: news that do
not serve the goal, the same verification in new words or real edits on a wrong guess differ
from work only to a reader, so a judge is asked (`Suspicion`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from guard.detectors.base import Detector, History, View, signal_of
from guard.detectors.score import Weight, evidence_limit, fitted_weights, sum_evidence, weighs_tries
from guard.policy import Policy
from guard.reading.step import Step
from guard.signals import Kind, Signal

# The share of a card's evidence that is worth a question, if every attempt brings something. Only
# this and `judge.drought` were fitted for questions: they reach most stuck stretches with at most
# 15 questions in 1,000 healthy turns of recorded runs. `guard bench --oracle` fits it again without
# each source and reports the result on that source.
SUSPICION_SHARE = 0.4
_MIN_SCORE = 0.5
_LIMIT = 3
_MAX_SHOWN = 12
_ROUNDING = 1e-9
_PROGRESS = frozenset({"news", "better"})


class Stall(Detector):
    """Trip when the stuck score (`guard.detectors.score`) reaches the policy's sensitivity.

    Every attempt adds what it repeats (the same call and outcome, the same failure
    in other words, another question with the same answer), and removes what it
    brings (news, a success after a failure, fewer failures).
    """

    name: ClassVar[str] = "stall"

    def __init__(self, policy: Policy) -> None:
        self.limit = evidence_limit(policy)
        self._weighs_tries = weighs_tries(policy)

    def evidence_of(self, history: History) -> float:
        """Return the evidence, or that of the tries alone if it is higher."""
        if not (history.tries and self._weighs_tries):
            return history.evidence
        tries = sum_evidence(history.tries.values()) / fitted_weights()["third"]
        return max(history.evidence, tries)

    def examine(self, view: View) -> Signal | None:
        """Compare the evidence of the remembered steps with the policy."""
        history = view.history
        if history.weights[-1].gain <= 0:
            return None
        evidence = self.evidence_of(history)
        score = evidence / self.limit
        if score < _MIN_SCORE:
            return None
        if evidence > history.evidence:
            vain = list(history.tries)[-_MAX_SHOWN:]
            summary = f"It tried {len(vain)} times and failed the same way each time."
        else:
            vain = history.repeats[-_MAX_SHOWN:]
            if len({(step.request, step.outcome_key, step.agent) for step in vain}) == 1:
                return None  # one call with one answer: `repeat` reports it
            summary = f"Nothing new has come of its last {len(vain)} attempts."
        return signal_of(self.name, Kind.STALL, vain, summary, limit=_LIMIT, score=min(1.0, score))


class Suspicion:
    """Finds what a judge should read although no rule trips.

    Besides the evidence, and with less weight, it counts the attempts since one that brought
    something.
    """

    def __init__(self, policy: Policy) -> None:
        self._drought = policy.judge.drought
        self._evidence = SUSPICION_SHARE * evidence_limit(policy)
        self._every = policy.judge.every
        self._questions_asked = 0
        self._asked_at = -math.inf

    def examine(self, view: View, signals: Sequence[Signal] = ()) -> Signal | None:
        """Return a signal below 1.0 that asks for a question; None: nothing new to ask.

        It asks when the doubt is worth a question, and again when it is worth one more, at
        most once in `judge.every` turns. If one of the turn's `signals` trips, there is nothing
        left to suspect.
        """
        history, in_vain = view.history, set[Step]()
        for step, weight in zip(reversed(history.steps), reversed(history.weights), strict=True):
            if is_progress(step, weight):
                break
            if not step.thinks and not step.proposed:
                in_vain.add(step)
        # How many questions the doubt is worth; evidence and a drought both count.
        doubt = sum_evidence(history.weights) / self._evidence + len(in_vain) / self._drought
        worth = int(doubt + _ROUNDING)
        if worth <= self._questions_asked:
            self._questions_asked = worth
            return None
        if view.seq - self._asked_at < self._every or any(signal.trips for signal in signals):
            return None
        self._questions_asked, self._asked_at = worth, view.seq
        repeats, count = history.repeats, len(history.steps)
        parts = [
            f"{len(in_vain)} attempts have brought little" if in_vain else "",
            f"{len(repeats)} of its last {count} steps repeat an earlier one" if repeats else "",
        ]
        rests_on = [step for step in history.steps if step in in_vain or step in repeats]
        return signal_of(
            "suspicion",
            Kind.SUSPICION,
            rests_on[-_MAX_SHOWN:],
            ", ".join(filter(None, parts)) + ".",
            repeats=len(rests_on),
            score=_MIN_SCORE,
        )


def is_progress(step: Step, weight: Weight) -> bool:
    """Return whether an attempt brought or changed something."""
    return weight.brings in _PROGRESS or step.had_effect
