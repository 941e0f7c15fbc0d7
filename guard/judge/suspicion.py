"""When no rule can tell: a suspicion, worth one judged question and no alarm.

News that does not serve the goal, the same verification in new words, a matter
handed round in fresh wording, real edits on a wrong guess: the trail shows that
something is odd, and only reading tells what (FINDINGS 7, a to d). A suspicion
never trips; with a model as judge it is put to it, at most once in
`judge.every` turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from guard.detectors.base import View, once_each, turns_of
from guard.detectors.stall import add_up
from guard.evidence import MUCH_NEWS
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.step import Step

NAME = "suspicion"
_SCORE = 0.5
_LATELY = 6
_SHARE_OF_NEWS = 4
_QUIET_CHECKS = 10
_VERIFIED = 3
_TALK = 6
_EDITS = 4

Found = tuple[Sequence[Step], str]


class Suspicion:
    """Looks at the trail for what a judge should read. Pure: no state."""

    def __init__(self, policy: Policy) -> None:
        self._drought = policy.judge.drought
        self._evidence = policy.stall.evidence / 2
        self._is_on = policy.judged and policy.judge.suspicions

    def examine(self, view: View, signals: Sequence[Signal] = ()) -> Signal | None:
        """Give a signal below 1.0 that asks for a question; None: nothing is odd.

        Where one of the turn's `signals` trips, there is nothing left to suspect.
        """
        if not self._is_on or view.trail.last.proposed:
            return None
        if any(signal.trips for signal in signals):
            return None
        found = next(self._reasons(view), None)
        return None if found is None else _signal(*found)

    def _reasons(self, view: View) -> Iterator[Found]:
        """Look for each reason in turn, the most certain first."""
        steps = view.trail.steps
        if self._adds_up(view):
            yield steps[-_LATELY * 2 :], "Evidence adds up that nothing moves."
        for look in (_verifies_again, _talks_only, _edits_in_vain):
            if found := look(steps):
                yield found
        if found := _runs_dry(steps, self._drought):
            yield found

    def _adds_up(self, view: View) -> bool:
        weights = view.trail.weights
        if weights[-1].gain <= 0 or len(weights) < _LATELY:
            return False
        return add_up(weights) >= self._evidence


def _signal(steps: Sequence[Step], summary: str) -> Signal:
    return Signal(
        detector=NAME,
        kind=Kind.SUSPICION,
        score=_SCORE,
        turns=turns_of(steps),
        evidence=Evidence(summary=summary, calls=once_each(steps), repeats=len(steps)),
    )


def _verifies_again(steps: Sequence[Step]) -> Found | None:
    """After an edit: check upon check, and none of them fails."""
    checks: list[Step] = []
    for step in reversed(steps):
        if step.edits and step.acted:
            break
        if step.failed or not step.outcome_known:
            return None
        if step.is_call:
            checks.append(step)
    else:
        return None
    tests = [step for step in checks if step.action == "test_run"]
    for known, least in ((tests, _VERIFIED), (checks, _QUIET_CHECKS)):
        if len(known) >= least:
            seen = known[::-1][-_QUIET_CHECKS:]
            return seen, f"It checked {len(known)} times after its last edit, and nothing failed."
    return None


def _talks_only(steps: Sequence[Step]) -> Found | None:
    """Messages only: one agent to itself, or several to each other."""
    last = steps[-_TALK:]
    if len(last) < _TALK or any(step.is_call for step in last):
        return None
    who = {step.agent for step in last}
    round_of = f"{len(who)} agents" if len(who) > 1 else "The agent"
    return last, f"{round_of} wrote {len(last)} messages in a row and used no tool."


def _edits_in_vain(steps: Sequence[Step]) -> Found | None:
    """Edit after edit, and every run since still fails, if in other ways."""
    if not steps[-1].failed:
        return None
    edits, runs = 0, []
    for step in reversed(steps):
        if not step.is_call:
            continue
        edits += step.edits and step.acted
        if step.edits or (step.asks and step.action != "test_run"):
            continue
        if not step.failed or step.improved:
            break
        runs.append(step)
    if edits < _EDITS or len(runs) < _EDITS:
        return None
    return runs[::-1][-_QUIET_CHECKS:], f"{len(runs)} runs failed in a row across {edits} edits."


def _runs_dry(steps: Sequence[Step], drought: int) -> Found | None:
    """Little came of many steps: no deed, hardly anything new; or reading without end."""
    last = steps[-drought:]
    if len(last) < drought:
        return None
    if not _brought(last[-1]) and not any(step.patient for step in last):
        gained = sum([_brought(step) for step in last])
        if gained * _SHARE_OF_NEWS <= drought:
            return last, f"Hardly anything came of its last {drought} steps."
    longer = steps[-2 * drought :]
    if len(longer) < 2 * drought or any(step.is_call and not step.asks for step in longer):
        return None
    return last, f"It only read in its last {len(longer)} steps and did nothing."


def _brought(step: Step) -> bool:
    return step.news >= MUCH_NEWS or step.improved or step.acted
