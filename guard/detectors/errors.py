"""The same failure, whatever is tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from guard.detectors import base
from guard.detectors.base import Detector, History, View, signal_of, tail_of, tries_of
from guard.policy import Policy
from guard.reading.normalize import NEAR_EQUAL, RELATED
from guard.reading.step import Step
from guard.reading.terms import differ_in_quotes, words_in
from guard.signals import Kind, Signal

_PATIENCE_FACTOR = 3
_MAX_REFUSALS = 3
_MIN_SAME = 3


class Errors(Detector):
    """Trip when calls keep failing: the same way, one command in all its variants, or all of them.

    That failures are the same counts more than that there are any: "unknown column
    A" and then "unknown column B" is progress. But if nothing works for many attempts in a
    row, whatever is tried, somebody should look. A busy service is given more time.

    Source: deer-flow's salient keys; KARIMO's fingerprint of an error.
    """

    name: ClassVar[str] = "errors"

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.errors

    def examine(self, view: View) -> Signal | None:
        """Look only if the newest call was in vain; most are not."""
        newest = view.history.last
        return super().examine(view) if newest.is_in_vain and newest.is_answered else None

    def refused_work(self, history: History) -> Iterator[Signal]:
        """Find submitted work that was refused in the same way, whatever was done in between."""
        newest, count = history.last, history.last.refusals
        if count:
            kind, limit = Kind.SAME_ERROR, _MAX_REFUSALS
            summary = f"It handed in its work {count} times; each was refused alike."
            yield signal_of(self.name, kind, [newest], summary, limit=limit, repeats=count)

    def repeated_failures(self, history: History) -> Iterator[Signal | None]:
        """Find what one agent keeps failing at."""
        rule, newest = self._rule, history.last
        if newest.refusals:
            return
        calls = history.answered_of(newest.agent)

        def is_try(step: Step) -> bool:
            return step.verb == newest.verb

        def is_alike(step: Step) -> bool:
            return step.failure == newest.failure

        in_vain = tail_of(calls, lambda step: step.is_in_vain)
        if any(step.failed for step in in_vain):  # otherwise `stagnation` tells it from a sweep
            yield self._signal(in_vain, rule.same)
        if not newest.failed or _is_one_request([step for step in calls if step.failed]):
            return  # `repeat` reports it, like each case below
        near = tail_of(calls, lambda step: is_alike(step) and step.similarity(newest) >= NEAR_EQUAL)
        if len(near) < _MIN_SAME or not base.have_own_targets(
            near, in_words=True
        ):  # otherwise a batch
            yield self._signal(near, rule.near)
        # The same short refusal, whatever is asked for.
        refused = tail_of(calls, lambda step: _is_same_refusal(step, newest))
        if len({step.verb for step in refused}) > 1:
            yield self._signal(refused, rule.refused)
        # Failing variants of one command, with no success and no edit in between.
        variants = tries_of(
            calls,
            is_try,
            lambda step: step.failed and step.similarity(newest) >= RELATED,
            base.has_edited,
        )
        yield self._signal(variants, rule.variants)
        # The same failure of one command, whatever was read in between; then, whatever was edited.
        # Edits of one file, in any words, are nearly the same request.
        unedited = tries_of(calls, is_try, is_alike, base.changed_something)
        edited = tries_of(calls, is_try, is_alike)
        held = ((unedited, rule.near if newest.is_edit else rule.same), (edited, rule.variants))
        yield from (
            self._signal(tries, limit) for tries, limit in held if not base.have_own_targets(tries)
        )

    checks = (refused_work, repeated_failures)

    def _signal(self, steps: Sequence[Step], limit: int) -> Signal | None:
        """Compare the number of steps with a limit; None if there is at most one request."""
        steps = base.one_per_batch(steps)
        if _is_one_request(steps):
            return None
        if 2 * sum([step.needs_time for step in steps]) > len(steps):
            limit *= _PATIENCE_FACTOR
        summary = f"It tried {len(steps)} variants of one call and none succeeded."
        if steps[-1].failed and len({step.failure for step in steps}) == 1:
            summary = f"It tried {len(steps)} times and failed the same way each time."
        elif len({step.verb for step in steps}) > 1:
            summary = f"Its last {len(steps)} attempts, of several kinds, failed or found nothing."
        return signal_of(self.name, Kind.SAME_ERROR, steps, summary, limit=limit)


def _is_one_request(steps: Sequence[Step]) -> bool:
    return len({step.request for step in steps}) < 2  # noqa: PLR2004 - none, or one


def _is_same_refusal(step: Step, newest: Step) -> bool:
    """Return whether the failure is the same, except for names and quotes of the request."""
    if not step.template or not newest.template:
        return False
    if step.template == newest.template:
        return True
    before, again = words_in(step.template), words_in(newest.template)
    return before != again and differ_in_quotes(before, step.words, again, newest.words)
