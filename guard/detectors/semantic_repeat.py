"""Turns in other words that ask or say the same, with nothing gained."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar

from guard.detectors.base import Detector, View, name_the_answer, once_each, turns_of
from guard.detectors.targets import name_other_targets
from guard.embedding import likeness_by
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.step import NEWS, Step
from guard.talk import count_on, only_announces
from guard.trail import Trail

_MORE_FAILURES = 2
_COUNTED_TEXT = 2000


class SemanticRepeat(Detector):
    """Trip when the last turns of one agent are alike, pair by pair.

    The lowest pairwise cosine of the last 3 messages or questions, or 4 deeds, must
    reach 0.86 (LoopGuard's rule, which takes 3 of any). A likeness of words alone
    would stop healthy work, so that for calls nothing new may have come back and
    the outcome must be the same: a batch of acts, a later page or a changed error
    is quiet. So are calls that each name another target and get the same short
    answer ("0 rows" of three tables), and searches that find nothing; where calls
    for other targets fail alike, it takes two more. Identical requests are
    `exact_repeat`'s. A proposed call never trips this: other words may succeed.
    """

    name: ClassVar[str] = "semantic_repeat"
    kind: ClassVar[Kind] = Kind.SEMANTIC_REPEAT

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.semantic_repeat
        self._likeness = likeness_by(policy.semantic_repeat.embedding)

    def examine(self, view: View) -> Signal | None:
        """Look at the last turns of the agent that acted."""
        newest = view.trail.last
        if newest.proposed or newest.nudged or (newest.is_call and newest.progressed):
            return None
        count = self._rule.window if _is_light(view.trail, newest) else self._rule.acts
        window = _last_of_its_sort(view.trail, newest, count)
        if len(window) < count or not _is_fruitless(view.trail, window):
            return None
        pairs = combinations(window, 2)
        likeness = min(self._likeness(one.meaning, other.meaning) for one, other in pairs)
        if likeness < self._rule.threshold:
            return None
        if newest.is_call and not self._is_one_matter(view.trail, window):
            return None
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=1.0,
            turns=turns_of(window),
            evidence=Evidence(
                summary=_summarise(window),
                calls=once_each(window),
                repeats=len(window),
                limit=count,
                similarity=round(likeness, 3),
                threshold=self._rule.threshold,
            ),
        )

    def _is_one_matter(self, trail: Trail, window: Sequence[Step]) -> bool:
        """Tell reworded calls from calls that each ask for something else."""
        newest = window[-1]
        if newest.action == "search" and newest.outcome and not newest.outcome.is_long:
            return False  # whoever searches and finds nothing is stagnation's
        if not name_other_targets(window):
            return True
        if not newest.failed:
            return newest.outcome is not None and newest.outcome.is_long and not newest.asks
        more = len(window) + _MORE_FAILURES
        wider = _last_of_its_sort(trail, newest, more)
        return len(wider) == more and all(s.outcome_key == newest.outcome_key for s in wider)


def _is_light(trail: Trail, newest: Step) -> bool:
    """Questions and messages weigh less than deeds, and than deeds only announced."""
    if newest.is_call:
        return newest.asks and not newest.failed
    return not only_announces(trail.steps)


def _last_of_its_sort(trail: Trail, newest: Step, count: int) -> list[Step]:
    """Give the agent's last calls, or its last messages, oldest first."""
    own = trail.of_agent(newest.agent)
    return (own.calls if newest.is_call else own.messages)[-count:]


def _is_fruitless(trail: Trail, window: Sequence[Step]) -> bool:
    if not window[-1].is_call:
        return _said_in_vain(trail, window)
    if len({step.request for step in window}) == 1 or any(step.patient for step in window):
        return False
    if any(not step.outcome_known or step.proposed or step.acted for step in window):
        return False
    if any(step.progressed for step in window[1:]):
        return False
    # Other answers to like questions, even of lines seen before, are a search.
    return len({step.outcome_key for step in window}) == 1


def _said_in_vain(trail: Trail, window: Sequence[Step]) -> bool:
    """Messages in a row, with nothing learned or done between them."""
    if len({step.request for step in window}) == 1 or count_on(window):
        return False
    between = trail.between(window[0], window[-1])
    return not any(_is_matter(step, window[-1]) for step in between)


def _is_matter(step: Step, newest: Step) -> bool:
    if step.is_call:
        return step.progressed or not step.outcome_known
    return step.agent != newest.agent and step.news >= NEWS


def _summarise(window: Sequence[Step]) -> str:
    newest, count = window[-1], len(window)
    if not newest.is_call:
        return f"It said the same {count} times in other words."
    return f"It tried nearly the same {count} times and got {name_the_answer(newest)}."
