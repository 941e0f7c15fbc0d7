"""Different questions that teach nothing: the same answer, or one known already."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import ClassVar

from guard.detectors.base import Detector, View, once_each, tail_of, turns_of
from guard.detectors.targets import aim_elsewhere, name_other_targets
from guard.evidence import complains, is_refusal
from guard.nearness import NEAR
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.step import NEWS, Step

_PATIENCE = 2
_FEW = 3
_HEAD = 400
_FIGURE = re.compile(r"\d+")

Held = tuple[float, Sequence[Step], int, str]
"""Steps against a limit: the score, 0.0 where they are none of ours; and what came back."""


class Stagnation(Detector):
    """Trip when an agent keeps asking and learns nothing.

    Three forms: different questions with one and the same answer (paging past
    the end, searching for what is not there); near-equal ones, commands among
    them that grow by themselves; questions whose answers held nothing the run had
    not seen. Other acts are not meant: equal acknowledgements of them are a batch.

    Source: stella's stagnation rung; request polarity of FINDINGS 2.5.
    """

    name: ClassVar[str] = "stagnation"
    kind: ClassVar[Kind] = Kind.STAGNATION

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.stagnation

    def examine(self, view: View) -> Signal | None:
        """Look at the questions the run ends with."""
        newest = view.trail.last
        if newest.news >= NEWS or not newest.is_answered:
            return None
        if newest.outcome is not None and newest.outcome.has_more:
            return None
        calls = view.trail.of_agent(newest.agent).answered
        look = self._questions if newest.asks or newest.runs else self._deeds
        best = max(look(calls), key=itemgetter(0), default=None)
        return self._signal(*best) if best and best[0] else None

    def _deeds(self, calls: Sequence[Step]) -> Iterator[Held]:
        yield self._hold(_unmoved(calls), self._rule.near, "the same refusal")

    def _questions(self, calls: Sequence[Step]) -> Iterator[Held]:
        last = calls[-_FEW:]
        if len(last) == _FEW and len({step.outcome_key for step in last}) == 1:
            same, near = _one_matter(_same_answer(calls)), _one_matter(_near(calls))
            yield self._hold(same, self._rule.questions, "the same answer")
            yield self._hold(near, self._rule.near, "the same answer")
        if not any(step.fresh for step in last):
            yield self._hold(_known(calls), self._rule.known, "nothing it did not know")

    def _hold(self, steps: Sequence[Step], limit: int, answer: str) -> Held:
        """Hold steps against a limit: the score, 0.0 where they are none of ours."""
        if len(steps) < _FEW or len({(step.request, step.outcome_key) for step in steps}) == 1:
            return 0.0, steps, limit, answer  # exact_repeat's
        if any(step.patient for step in steps):
            limit *= _PATIENCE
        return min(1.0, len(steps) / limit), steps, limit, answer

    def _signal(self, score: float, steps: Sequence[Step], limit: int, answer: str) -> Signal:
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=score,
            turns=turns_of(steps),
            evidence=Evidence(
                summary=f"It asked {len(steps)} times in different ways and got {answer}.",
                calls=once_each(steps),
                repeats=len(steps),
                limit=limit,
            ),
        )


def _same_answer(calls: Sequence[Step]) -> list[Step]:
    newest = calls[-1]
    return tail_of(calls, lambda step: step.asks and step.outcome_key == newest.outcome_key)


def _one_matter(steps: Sequence[Step]) -> Sequence[Step]:
    """Let a batch go: lookups that each name another thing."""
    if len(steps) < _FEW or not name_other_targets(steps):
        return steps
    if steps[-1].action != "search":
        return ()
    # Other words that all find nothing count half; one figure found again does not.
    return steps if _tells_something(steps[-1]) else steps[len(steps) // 2 :]


def _tells_something(step: Step) -> bool:
    """Tell an answer with a figure in it from "nothing found", "0 rows" or "[]"."""
    text = step.outcome.text if step.outcome else ""
    return any(int(number[:9]) > 1 for number in _FIGURE.findall(text[:_HEAD]))


def _near(calls: Sequence[Step]) -> list[Step]:
    newest = calls[-1]
    return tail_of(
        calls,
        lambda step: (
            step.outcome_key == newest.outcome_key
            and (step.asks or step.runs)
            and (step is newest or step.nearness(newest) >= NEAR)
        ),
    )


def _unmoved(calls: Sequence[Step]) -> list[Step]:
    """Deeds on one thing that are all told the same at length: refused, in whatever words."""
    newest = calls[-1]
    verb, key = newest.verb, newest.outcome_key
    own = [step for step in calls if step.verb == verb]
    if newest.outcome is None or not all(step.outcome_key == key for step in own[-_FEW:]):
        return []
    same = tail_of(own, lambda step: step.outcome_key == key)
    if len(same) < _FEW:
        return []
    if complains(newest.outcome):
        return same
    return same if is_refusal(newest.outcome) and not aim_elsewhere(same) else []


def _known(calls: Sequence[Step]) -> list[Step]:
    return tail_of(calls, lambda step: step.asks and step.news < NEWS and not step.fresh)
