"""Two turns that alternate: A-B-A-B, by one agent or between two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from guard.detectors.base import Detector, View, once_each, says_again, turns_of
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.similarity import cosine
from guard.step import Step
from guard.talk import only_announces
from guard.trail import Trail

_PATIENT_ROUNDS = 6
_BLIND = 3


class PingPong(Detector):
    """Trip when the last four turns are A-B-A-B, A unlike B, and nothing moved.

    Looked for among the calls (what is said between them does not matter) and
    among all turns, so that agents handing a matter to and fro are seen. Calls
    must be the same with the same outcome; messages may differ by a word.

    Source: LoopGuard's four-event tail; OpenHands' alternating pattern.
    """

    name: ClassVar[str] = "ping_pong"
    kind: ClassVar[Kind] = Kind.PING_PONG

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.ping_pong

    def examine(self, view: View) -> Signal | None:
        """Count the rounds at the tail of the calls, and of all turns."""
        trail = view.trail
        if trail.last.is_first:
            return None
        tails = [self._alternating(trail.steps)]
        if trail.last.is_call:
            among_calls = self._alternating(trail.calls)
            if among_calls and not _was_told(trail, among_calls):
                tails.append(among_calls)
        tail = max(tails, key=len)
        rounds = len(tail) // 2
        if rounds < 2:  # noqa: PLR2004 - once each is no alternation
            return None
        limit = self._limit(tail)
        if only_announces(trail.steps):
            limit = max(limit, self._rule.without_results)
        return self._signal(tail[-2 * rounds :], rounds=rounds, limit=limit)

    def _signal(self, tail: Sequence[Step], *, rounds: int, limit: int) -> Signal:
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=min(1.0, rounds / limit),
            turns=turns_of(tail),
            evidence=Evidence(
                summary=_summarise(tail, rounds),
                calls=once_each(tail),
                repeats=rounds,
                limit=limit,
                similarity=round(self._likeness(tail), 3),
                threshold=self._rule.threshold,
            ),
        )

    def _limit(self, tail: Sequence[Step]) -> int:
        known = all(step.outcome_known for step in tail[:-1])
        if any(step.stays_patient if not known else step.patient for step in tail):
            return max(self._rule.rounds, _PATIENT_ROUNDS * (1 if known else _BLIND))
        return self._rule.rounds if known else max(self._rule.rounds, self._rule.without_results)

    def _alternating(self, steps: Sequence[Step]) -> Sequence[Step]:
        """Give the longest tail in which every turn repeats the last but one."""
        if len(steps) < 2 or self._is_again(steps[-2], steps[-1], any_agent=True):  # noqa: PLR2004
            return ()
        start = len(steps) - 2
        while start > 0 and self._repeats_fruitlessly(steps[start - 1], steps[start + 1]):
            start -= 1
        return steps[start:]

    def _repeats_fruitlessly(self, earlier: Step, later: Step) -> bool:
        if later.is_call and later.progressed:
            return False
        return self._is_again(earlier, later)

    def _is_again(self, earlier: Step, later: Step, *, any_agent: bool = False) -> bool:
        if earlier.is_call != later.is_call:
            return False
        if earlier.agent != later.agent and not any_agent:
            return False
        if not later.is_call:
            return says_again(earlier, later, self._rule.threshold)
        if earlier.request != later.request:
            return False
        return later.answers_as(earlier)

    def _likeness(self, tail: Sequence[Step]) -> float:
        pairs = zip(tail, tail[2:], strict=False)
        return min(1.0 if one.is_call else cosine(one.vector, two.vector) for one, two in pairs)


def _was_told(trail: Trail, tail: Sequence[Step]) -> bool:
    """Another agent told something new between: the calls only hand out the work."""
    actors = {step.agent for step in tail}
    between = trail.between(tail[0], tail[-1])
    return any(
        not step.is_call and step.agent not in actors and step.tells_something for step in between
    )


def _summarise(tail: Sequence[Step], rounds: int) -> str:
    first, second = tail[-2], tail[-1]
    if first.agent != second.agent:
        return f"{first.agent or 'One'} and {second.agent or 'another'} answered each other \
the same way {rounds} times."
    return f"It went to and fro between the same two turns {rounds} times."
