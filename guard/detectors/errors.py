"""The same failure, whatever is tried, and whoever tries it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from guard.detectors.base import (
    Detector,
    View,
    has_edited,
    name_other_targets,
    surest,
    tail_of,
    tries_of,
)
from guard.policy import Policy
from guard.reading.normalize import ALIKE, NEAR
from guard.reading.step import Step
from guard.reading.terms import NEWS, same_but_quoted, words_in
from guard.signals import Kind, Signal

_PATIENCE = 3
_HANDED_IN = 3
_FEW = 3
_AGENTS = 3
"""So many agents, one after another, that end on one failure."""
_GIVES_OUT = frozenset({"agent", "task", "sub_agent", "subagent", "spawn_agent", "dispatch_agent"})


class Errors(Detector):
    """Trip when calls keep failing the same way, or one command in all its variants.

    The identity of a failure counts, not the fact of one: "unknown column A"
    and then "unknown column B" is progress. A busy service is given more time.
    Agents that follow each other, each given the matter anew, and end on the same
    failure count as well; workers side by side do not.

    Source: deer-flow's salient keys; KARIMO's fingerprint of an error.
    """

    name: ClassVar[str] = "errors"

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.errors

    def examine(self, view: View) -> Signal | None:
        """Look at the failures the run ends with."""
        newest = view.history.last
        if not newest.failed or not newest.is_answered:
            return None
        if newest.refusals:
            return self._handed_in(newest)
        found = list(self._own(view.history.answered_of(newest.agent)))
        if not view.history.has_one_agent and newest.failure is not None:
            found.append(self._passed_on(view.history.steps))
        return surest(found)

    def _own(self, calls: Sequence[Step]) -> Iterator[Signal | None]:
        """Look for what one agent keeps failing at."""
        if _is_one_request([step for step in calls if step.failed]):
            return  # `repeat` names it, as it would each of the rows below
        rule, newest = self._rule, calls[-1]
        row = tail_of(calls, lambda step: step.failed)
        same = tail_of(row, lambda step: step.failure == newest.failure)
        near = tail_of(same, lambda step: step.nearness(newest) >= NEAR)
        if len(near) >= _FEW and name_other_targets(near):
            near = []  # a batch
        # The same short refusal, whatever is asked.
        refused = tail_of(row, lambda step: _is_of_one_sort(step, newest))
        yield self._hold(same, rule.same)
        yield self._hold(near, rule.near)
        if len({step.verb for step in refused}) > 1:
            yield self._hold(refused, rule.refused)

        # Failing variants of one command: no success of it between, and no edit.
        variants = tries_of(
            calls,
            lambda step: step.verb == newest.verb,
            lambda step: step.failed and step.nearness(newest) >= ALIKE,
            has_edited,
        )
        yield self._hold(variants, rule.variants)

    def _hold(self, steps: Sequence[Step], limit: int) -> Signal | None:
        """Hold steps against a limit; None where they are one request or none."""
        if _is_one_request(steps):
            return None
        if 2 * sum([step.patient for step in steps]) > len(steps):
            limit *= _PATIENCE
        summary = f"It tried {len(steps)} variants of one call and none succeeded."
        if len({step.failure for step in steps}) == 1:
            summary = f"It tried {len(steps)} times and failed the same way each time."
        return self.signal(Kind.SAME_ERROR, steps, summary, limit=limit)

    def _handed_in(self, newest: Step) -> Signal:
        """Count how often the work was handed in and refused, whatever stood between."""
        summary = f"It handed in its work {newest.refusals} times; each was refused alike."
        count = newest.refusals
        return self.signal(Kind.SAME_ERROR, [newest], summary, limit=_HANDED_IN, repeats=count)

    def _passed_on(self, steps: Sequence[Step]) -> Signal | None:
        """Look back for agents that were given the matter before and ended on this failure."""
        if _gives_out(steps[-1]) or len(row := _relay(steps)) < 2:  # noqa: PLR2004 - one alone
            return None
        ends = [shift.end for shift in row]
        since = [step for step in steps[row[0].last + 1 : row[-1].last] if not _gives_out(step)]
        limit = _AGENTS + any(step.news >= NEWS for step in since)
        limit *= 2 if any(end.patient for end in ends) else 1
        summary = f"{len(row)} agents, one after another, ended on the same failure."
        return self.signal(Kind.SAME_ERROR, ends, summary, limit=limit)


def _is_one_request(steps: Sequence[Step]) -> bool:
    return len({step.request for step in steps}) < 2  # noqa: PLR2004 - none, or one


def _is_of_one_sort(step: Step, newest: Step) -> bool:
    """The same failure, without names and what each quotes of its own request."""
    if not step.template or not newest.template:
        return False
    if step.template == newest.template:
        return True
    told, again = words_in(step.template), words_in(newest.template)
    return told != again and same_but_quoted(told, step.words, again, newest.words)


# --- one agent after another ------------------------------------------------------


class _Shift(NamedTuple):
    """What one agent did: the places of its first call and of the one it ended on."""

    first: int
    last: int
    end: Step


def _relay(steps: Sequence[Step]) -> list[_Shift]:
    """Give the shifts that end on the newest failure, oldest first, with no action since."""
    actions = (at for at, step in enumerate(steps) if step.acted and not _gives_out(step))
    changed = max(actions, default=-1)
    shifts: dict[str, _Shift] = {}
    for at, step in enumerate(steps):
        if step.is_answered and not _gives_out(step):
            first = shifts[step.agent].first if step.agent in shifts else at
            shifts[step.agent] = _Shift(first, at, step)
    *before, newest = sorted(shifts.values(), key=lambda shift: shift.last)
    row = [newest]
    for shift in reversed(before):
        end = shift.end
        if shift.last < changed or not end.failed or end.failure != newest.end.failure:
            break
        if end.nearness(newest.end) < NEAR or not _follows(steps, shift, row[0]):
            break
        row.insert(0, shift)
    return row


def _follows(steps: Sequence[Step], shift: _Shift, later: _Shift) -> bool:
    """The later agent began when the earlier was over, and was given the matter then."""
    if shift.last >= later.first:
        return False
    given = any(map(_gives_out, steps[shift.last + 1 : later.first]))
    begun = max((at for at in range(shift.first) if _gives_out(steps[at])), default=0)
    earlier = [step for step in steps[begun : shift.last] if _gives_out(step)]
    return given and all(step.outcome_known for step in earlier)


def _gives_out(step: Step) -> bool:
    return step.hands_over or step.verb.lower() in _GIVES_OUT
