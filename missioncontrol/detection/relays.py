"""Agents that follow each other over linked runs and end on the same failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from guard.detectors.base import History, signal_of
from guard.policy import Policy
from guard.reading.normalize import NEAR
from guard.reading.step import Step
from guard.reading.terms import NEWS
from guard.signals import Kind, Signal

_RULE = "errors"
# So many agents, one after another, that end on one failure; one more where they learned.
_AGENTS = 3
_GIVES_OUT = frozenset({"agent", "task", "sub_agent", "subagent", "spawn_agent", "dispatch_agent"})


class _Shift(NamedTuple):
    """What one agent did: the places of its first call and of the one it ended on."""

    first: int
    last: int
    end: Step


def find_relay(history: History, policy: Policy) -> Signal | None:
    """Look back for agents that were given the matter in turn and ended on the newest failure.

    Workers side by side that stumble over the same thing are none: no one of them is
    over when the next begins.
    """
    is_alone = len({step.agent for step in history.steps}) < 2  # noqa: PLR2004 - or nobody
    if is_alone or _RULE not in policy.detectors:
        return None
    steps, newest = history.steps, history.last
    if not newest.is_answered or newest.failure is None or newest.refusals or _gives_out(newest):
        return None
    row = _relay(steps)
    if len(row) < 2:  # noqa: PLR2004 - one alone
        return None
    ends = [shift.end for shift in row]
    since = [step for step in steps[row[0].last + 1 : row[-1].last] if not _gives_out(step)]
    # One more where something was new on the way: they may be getting nearer.
    limit = _AGENTS + any(step.news >= NEWS for step in since)
    # Twice as many where one of them waits on purpose: what it waits for may yet come.
    limit *= 2 if any(end.patient for end in ends) else 1
    summary = f"{len(row)} agents, one after another, ended on the same failure."
    found = signal_of(_RULE, Kind.SAME_ERROR, ends, summary, limit=limit)
    return found.on(policy.escalation_of(_RULE).severity_of(found), first=True)


def _relay(steps: Sequence[Step]) -> list[_Shift]:
    """Give the shifts that end on the newest failure, oldest first, with no action since."""
    actions = (at for at, step in enumerate(steps) if step.acted and not _gives_out(step))
    # An action may have mended it: what failed before is another matter.
    changed = max(actions, default=-1)
    shifts: dict[str, _Shift] = {}
    for at, step in enumerate(steps):
        if step.is_answered and not _gives_out(step):
            first = shifts[step.agent].first if step.agent in shifts else at
            shifts[step.agent] = _Shift(first, at, step)
    # By where each ended, for that is what is compared.
    *before, newest = sorted(shifts.values(), key=lambda shift: shift.last)
    row = [newest]
    for shift in reversed(before):
        end = shift.end
        if shift.last < changed or not end.failed or end.failure != newest.end.failure:
            break
        # The later agent began when the earlier was over, and was given the matter then.
        if end.nearness(newest.end) < NEAR or shift.last >= row[0].first:
            break
        if not any(map(_gives_out, steps[shift.last + 1 : row[0].first])):
            break
        begun = max((at for at in range(shift.first) if _gives_out(steps[at])), default=0)
        earlier = filter(_gives_out, steps[begun : shift.last])
        if not all(step.outcome_known for step in earlier):
            break
        row.insert(0, shift)
    return row


def _gives_out(step: Step) -> bool:
    return step.hands_over or step.verb.lower() in _GIVES_OUT
