"""A series of turns that comes round again: A-B-C-A-B-C-A-B-C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from guard.detectors.base import Detector, View, once_each, turns_of
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.step import Step

_SHORTEST = 2
_SHORT = 3
_PATIENT_ROUNDS = 6
_BLIND = 3


class KCycle(Detector):
    """Trip when the tail of the run repeats with a period of 2 to 8 turns.

    Three rounds up to a period of 3, two rounds and a turn beyond. Outcomes
    count where they are known, and nothing may have come of any repeat.

    Source: the cycle rules of stella (up to 4) and gemini-cli (up to 5).
    """

    name: ClassVar[str] = "k_cycle"
    kind: ClassVar[Kind] = Kind.K_CYCLE

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.k_cycle

    def examine(self, view: View) -> Signal | None:
        """Look for the shortest period among the calls, then among all turns."""
        trail = view.trail
        if trail.last.is_first:
            return None
        tails = [trail.calls, trail.steps] if trail.last.is_call else [trail.steps]
        for steps in tails:
            for period in self._periods(steps):
                signal = self._look(steps, period)
                if signal is not None:
                    return signal
        return None

    def _periods(self, steps: Sequence[Step]) -> list[int]:
        """Give how far back the newest request stands, shortest first."""
        wanted, longest = steps[-1].request, min(self._rule.longest, len(steps) - 1)
        periods = range(_SHORTEST, longest + 1)
        return [period for period in periods if steps[-1 - period].request == wanted]

    def _look(self, steps: Sequence[Step], period: int) -> Signal | None:
        again = _count_again(steps, period)
        if again < period:
            return None
        tail = steps[-(again + period) :]
        if len({step.request for step in tail}) == 1:
            return None
        needed = self._needed(tail, period)
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=min(1.0, len(tail) / needed),
            turns=turns_of(tail),
            evidence=Evidence(
                summary=f"It went through the same {period} turns {len(tail) / period:.1f} times \
and came out where it began."
                if len(tail) % period
                else f"It went through the same {period} turns {len(tail) // period} times \
and came out where it began.",
                calls=once_each(tail),
                repeats=len(tail) // period,
                limit=self._rule.rounds,
            ),
        )

    def _needed(self, tail: Sequence[Step], period: int) -> int:
        """How many turns of the series trip."""
        blind = not all(step.outcome_known for step in tail[:-1])
        if any(step.stays_patient if blind else step.patient for step in tail):
            return period * _PATIENT_ROUNDS * (_BLIND if blind else 1)
        rounds = self._rule.rounds + blind
        return rounds * period if period <= _SHORT else (rounds - 1) * period + 1


def _count_again(steps: Sequence[Step], period: int) -> int:
    """Count the turns of the tail that repeat the one a period before."""
    count = 0
    for place in range(len(steps) - 1, period - 1, -1):
        if not _is_again(steps[place - period], steps[place]):
            break
        count += 1
    return count


def _is_again(earlier: Step, later: Step) -> bool:
    if earlier.request != later.request or earlier.agent != later.agent:
        return False
    if later.is_call and later.progressed:
        return False
    return later.answers_as(earlier) or _differs_in_counters(earlier, later)


def _differs_in_counters(earlier: Step, later: Step) -> bool:
    """Only numbers moved, in a small part of what came back: a clock, a move count."""
    first, second = earlier.outcome, later.outcome
    return first is not None and second is not None and first.shape == second.shape
