"""The same failure, whatever is tried."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import ClassVar

from guard.detectors.base import Detector, View, once_each, tail_of, turns_of
from guard.detectors.targets import aim_elsewhere, changed_something, name_other_targets
from guard.nearness import ALIKE, NEAR
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.step import Step

_PATIENCE = 3
_FEW = 3


class SameError(Detector):
    """Trip when calls keep failing the same way, or one command in all its variants.

    The identity of a failure counts, not the fact of one: "unknown column A"
    and then "unknown column B" is progress. A busy service is given more time.

    Source: FINDINGS 2.2 and 3; deer-flow's salient keys; KARIMO's fingerprint.
    """

    name: ClassVar[str] = "same_error"
    kind: ClassVar[Kind] = Kind.SAME_ERROR

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.same_error

    def examine(self, view: View) -> Signal | None:
        """Look at the failures the run ends with."""
        newest = view.trail.last
        if not newest.failed or not newest.is_answered:
            return None
        calls = view.trail.of_agent(newest.agent).answered
        if _is_one_request([step for step in calls if step.failed]):
            return None  # exact_repeat's, as each of the rows below would be
        row = tail_of(calls, lambda step: step.failed)
        same, rule = _same(row), self._rule
        unedited, edited = _insists(calls)
        found = [
            self._hold(same, rule.in_a_row),
            self._hold(_near(same), rule.near),
            self._hold(_refusals(row), rule.refusals),
            self._hold(_variants(calls), rule.variants),
            self._hold(unedited, rule.in_a_row),
            self._hold(edited, rule.variants),
        ]
        best = max(found, key=itemgetter(0))
        return self._signal(*best) if best[0] else None

    def _hold(self, steps: Sequence[Step], limit: int) -> tuple[float, Sequence[Step], int]:
        """Hold steps against a limit: the score, 0.0 where they are none of ours."""
        if _is_one_request(steps):
            return 0.0, steps, limit  # exact_repeat's
        if 2 * sum([step.patient for step in steps]) > len(steps):
            limit *= _PATIENCE
        return min(1.0, len(steps) / limit), steps, limit

    def _signal(self, score: float, steps: Sequence[Step], limit: int) -> Signal:
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=score,
            turns=turns_of(steps),
            evidence=Evidence(
                summary=_summarise(steps),
                calls=once_each(steps),
                repeats=len(steps),
                limit=limit,
            ),
        )


def _is_one_request(steps: Sequence[Step]) -> bool:
    return len({step.request for step in steps}) < 2  # noqa: PLR2004 - none, or one


def _same(row: Sequence[Step]) -> list[Step]:
    failure = row[-1].failure
    return tail_of(row, lambda step: step.failure == failure)


def _near(same: Sequence[Step]) -> list[Step]:
    """The same failure of near-equal requests that ask for one thing."""
    if _is_one_request(same):
        return []
    newest = same[-1]
    near = tail_of(same, lambda step: step.nearness(newest) >= NEAR)
    is_batch = len(near) >= _FEW and name_other_targets(near)
    return [] if is_batch else near


def _refusals(row: Sequence[Step]) -> list[Step]:
    """The same short refusal, whatever is asked."""
    template = row[-1].template
    if not template or _is_one_request(row):
        return []
    same = tail_of(row, lambda step: step.template == template)
    return same if len({step.verb for step in same}) > 1 else []


def _variants(calls: Sequence[Step]) -> list[Step]:
    """Failing variants of one command: no success of it between, and no edit."""
    newest = calls[-1]
    variants: list[Step] = []
    for step in reversed(calls):
        if step.verb == newest.verb:
            if not step.failed or step.nearness(newest) < ALIKE:
                break
            variants.append(step)
        elif step.edits and step.acted:
            break
    variants.reverse()
    return variants


def _insists(calls: Sequence[Step]) -> tuple[list[Step], list[Step]]:
    """The same failure of one command, whatever was read between; and whatever was edited."""
    verb, failure = calls[-1].verb, calls[-1].failure
    failures: list[Step] = []
    unedited: int | None = None
    for step in reversed(calls):
        if step.verb == verb:
            if step.failure != failure:
                break
            failures.append(step)
        elif unedited is None and step.acted and changed_something(step):
            unedited = len(failures)
    whole = _of_one_thing(failures[::-1])
    return (whole if unedited is None else _of_one_thing(failures[:unedited][::-1])), whole


def _of_one_thing(failures: list[Step]) -> list[Step]:
    """Let go what is one request, or each for another thing."""
    return [] if _is_one_request(failures) or aim_elsewhere(failures) else failures


def _summarise(steps: Sequence[Step]) -> str:
    if len({step.failure for step in steps}) == 1:
        return f"It tried {len(steps)} times and failed the same way each time."
    return f"It tried {len(steps)} variants of one call and none succeeded."
