"""One agent after another is given the matter and ends on the same failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from guard.detectors.base import Detector, View, once_each, turns_of
from guard.nearness import NEAR
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.step import NEWS, Step

_GIVES_OUT = frozenset({"agent", "task", "sub_agent", "subagent", "spawn_agent", "dispatch_agent"})
_PATIENCE = 2


@dataclass(frozen=True, slots=True)
class _Shift:
    """What one agent of the row did: from its first call to the failure it ended on."""

    first: int
    last: int
    end: Step


class Relay(Detector):
    """Trip when agents that follow each other end on the same failing call.

    Each was given the matter anew, one at a time, and nothing was changed between.
    Workers side by side that stumble over the same thing are no relay, nor are
    followers who get further than the one before.

    Source: the failing call that moves from sub-agent to sub-agent (issue 3, item 2);
    openclaw #37842 is its form without calls (`hand_offs`).
    """

    name: ClassVar[str] = "relay"
    kind: ClassVar[Kind] = Kind.SAME_ERROR

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.relay

    def examine(self, view: View) -> Signal | None:
        """Look back from a failure for agents that ended on it before."""
        steps = view.trail.steps
        newest = steps[-1]
        if not newest.failed or not newest.is_answered or newest.failure is None:
            return None
        if view.trail.has_one_agent or _gives_out(newest):
            return None  # nobody took the matter on
        row = _row(steps)
        return self._signal(steps, row) if len(row) > 1 else None

    def _signal(self, steps: Sequence[Step], row: Sequence[_Shift]) -> Signal:
        ends = [shift.end for shift in row]
        since = [step for step in steps[row[0].last + 1 : row[-1].last] if not _gives_out(step)]
        limit = self._rule.agents + any(step.news >= NEWS for step in since)
        limit *= _PATIENCE if any(end.patient for end in ends) else 1
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=min(1.0, len(row) / limit),
            turns=turns_of(ends),
            evidence=Evidence(
                summary=f"{len(row)} agents, one after another, ended on the same failure.",
                calls=once_each(ends),
                repeats=len(row),
                limit=limit,
            ),
        )


def _row(steps: Sequence[Step]) -> list[_Shift]:
    """Give the shifts that end on the newest failure, oldest first."""
    deeds = (at for at, step in enumerate(steps) if step.acted and not _gives_out(step))
    changed = max(deeds, default=-1)
    shifts = _shifts(steps)
    newest = shifts.pop()
    row = [newest]
    for shift in reversed(shifts):
        if shift.last < changed or not _same_end(shift.end, newest.end):
            break
        if not _follows(steps, shift, row[0]):
            break
        row.insert(0, shift)
    return row


def _shifts(steps: Sequence[Step]) -> list[_Shift]:
    """Give each agent's calls as a shift, in the order in which they ended."""
    found: dict[str, _Shift] = {}
    for at, step in enumerate(steps):
        if step.is_answered and not _gives_out(step):
            first = found[step.agent].first if step.agent in found else at
            found[step.agent] = _Shift(first, at, step)
    return sorted(found.values(), key=lambda shift: shift.last)


def _same_end(earlier: Step, later: Step) -> bool:
    if not earlier.failed or earlier.failure != later.failure:
        return False
    return earlier.nearness(later) >= NEAR


def _follows(steps: Sequence[Step], shift: _Shift, later: _Shift) -> bool:
    """The later agent began when the earlier was over, and was given the matter then."""
    if shift.last >= later.first:
        return False
    given = [step for step in steps[shift.last + 1 : later.first] if _gives_out(step)]
    begun = max((at for at in range(shift.first) if _gives_out(steps[at])), default=0)
    earlier = [step for step in steps[begun : shift.last] if _gives_out(step)]
    return bool(given) and all(step.outcome_known for step in earlier)


def _gives_out(step: Step) -> bool:
    return step.hands_over or step.verb.lower() in _GIVES_OUT
