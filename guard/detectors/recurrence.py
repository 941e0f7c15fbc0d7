"""The same call and the same outcome again and again, with others between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from guard.detectors.base import Detector, View, name_the_answer, name_the_deed, once_each, turns_of
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.step import Step

_MORE_EACH = 0.1
_MOST = 0.55
_POLLS = 8


class Recurrence(Detector):
    """Trip when a call keeps coming back and little was gained between.

    How much may have been gained (news, effective deeds) grows with the number
    of recurrences. A request that keeps being refused trips whatever was read
    between; only an effective edit excuses it.

    Source: stella's interleaved rung, with a share of news as a veto (FINDINGS 3).
    """

    name: ClassVar[str] = "recurrence"
    kind: ClassVar[Kind] = Kind.RECURRENCE

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.recurrence

    def examine(self, view: View) -> Signal | None:
        """Count how often the newest call was made before."""
        newest = view.trail.last
        if not newest.is_call or newest.fresh or newest.outcome is None:
            return None
        found = [self._recurs(view.trail.steps, newest), self._refused(view.trail.steps, newest)]
        return max(filter(None, found), key=lambda signal: signal.score, default=None)

    def _recurs(self, steps: Sequence[Step], newest: Step) -> Signal | None:
        request, key = newest.request, newest.outcome_key
        again = [step for step in steps if step.request == request and step.is_call]
        same = [step for step in again if step.outcome_key == key]
        if len(same) < 2:  # noqa: PLR2004 - once is no repeat
            return None
        start = steps.index(same[0])
        later = [step for step in steps[start + 1 :] if step.is_call or step.agent != newest.agent]
        if len(later) < len(same):
            return None  # nothing stands between: exact_repeat's
        waits = newest.stays_patient or any(step.patient for step in later)
        limit = _POLLS if waits else self._rule.repeats
        if len(same) >= limit and not self._gained_little(later, same):
            limit = len(same) + 1
        return self._signal(same, limit)

    def _gained_little(self, later: Sequence[Step], same: Sequence[Step]) -> bool:
        gained = sum(_gains(step) for step in later)
        allowed = min(_MOST, self._rule.moved + _MORE_EACH * (len(same) - self._rule.repeats))
        newest = same[-1]
        if not newest.failed and _edited_each_time(later, same):
            return False
        if newest.outcome is not None and not newest.outcome.is_long and not newest.failed:
            allowed /= 2
        return gained <= allowed * len(later)

    def _refused(self, steps: Sequence[Step], newest: Step) -> Signal | None:
        if not newest.failed or newest.patient:
            return None
        refused: list[Step] = []
        request, agent = newest.request, newest.agent
        for step in reversed(steps):
            if step.request == request and step.agent == agent:
                if step.failure != newest.failure:
                    break
                refused.append(step)
            elif step.edits and step.acted:
                break
        refused.reverse()
        return self._signal(refused, self._rule.refused) if len(refused) > 1 else None

    def _signal(self, same: Sequence[Step], limit: int) -> Signal:
        newest = same[-1]
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=min(1.0, len(same) / limit),
            turns=turns_of(same),
            evidence=Evidence(
                summary=f"It {name_the_deed(newest)} {len(same)} times, with other steps between, \
and got {name_the_answer(newest)}.",
                calls=once_each(same),
                repeats=len(same),
                limit=limit,
                similarity=1.0,
                threshold=1.0,
            ),
        )


def _gains(step: Step) -> bool:
    """Tell whether something came of a call, or another agent told something new."""
    return step.progressed if step.is_call else step.tells_something


def _edited_each_time(later: Sequence[Step], same: Sequence[Step]) -> bool:
    """A check after an edit looks at a new state, and green is as it should be."""
    edited = 0
    since = False
    for step in later:
        if step.edits and step.acted:
            since = True
        elif step in same:
            edited, since = edited + since, False
    return edited >= len(same) - 1
