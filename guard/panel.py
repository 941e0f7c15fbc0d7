"""The detectors of a policy, as they look at one step and climb the ladder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from guard.detectors import DETECTORS, Detector, View
from guard.nature import ToolNature
from guard.policy import Policy
from guard.policy.ladder import Rungs
from guard.signals import Kind, Rung, Signal
from guard.turn import Turn

_KEPT = 500
"""Pairs of tool and agent whose policy is remembered; a run has few."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A detector with the ladder its signals climb."""

    detector: Detector
    rungs: Rungs


class Spoken(NamedTuple):
    """What was last said of a matter: on which turns, and at which look."""

    turns: tuple[int, ...]
    look: int

    def is_same(self, signal: Signal, look: int) -> bool:
        """It goes on: on some of the same turns, or without a pause."""
        return look - self.look <= 1 or not set(signal.turns).isdisjoint(self.turns)


class Panel:
    """Every detector a policy names; tools and agents may have their own.

    It remembers of each detector the turns it last spoke of, to tell the first
    signal of a streak from the next: two entries for each detector and rung.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._everyone = _seats(policy)
        reads = any(seat.detector.reads_verbatim for seat in self._everyone)
        # Tables of a tool or an agent may name other detectors.
        self.reads_verbatim = reads or bool(policy.tool or policy.agent)
        self._scoped: dict[tuple[str | None, str | None], list[Seat]] = {}
        self._natures: dict[str | None, ToolNature | None] = {}
        self._spoken: dict[tuple[str, Rung, bool], Spoken] = {}
        self._looks = 0

    def nature_of(self, turn: Turn) -> ToolNature | None:
        """Give what the turn, then the policy, says of its tool; None: nothing."""
        declared = self._declared(turn.tool) if self._policy.tool else None
        return turn.nature.over(declared) if turn.nature else declared

    def examine(self, view: View, turn: Turn) -> Iterator[Signal]:
        """Have each detector look; its signals stand on their rung."""
        self._looks += 1
        for seat in self._seats_for(turn):
            signal = seat.detector.examine(view)
            # A completion may arrive after later turns: what they show was said then.
            if signal is not None and view.seq in signal.turns:
                yield self._mark(signal, seat.rungs.rung_of(signal))

    def forget(self) -> None:
        """Start every streak afresh."""
        self._spoken.clear()

    def _mark(self, signal: Signal, rung: Rung) -> Signal:
        """Set a signal on its rung; tell the first of a streak there from those that follow.

        Several detectors near their limits on the same turns are one matter: the
        agent is told once. A trip is each detector's own.
        """
        is_sure = signal.score >= 1.0
        if not is_sure and rung > Rung.NUDGE:
            return signal.on(rung, first=signal.first)
        whose = signal.detector if is_sure or signal.kind is Kind.BUDGET else ""
        spoken = self._spoken.get((whose, rung, is_sure))
        self._spoken[whose, rung, is_sure] = Spoken(signal.turns, self._looks)
        again = spoken is not None and spoken.is_same(signal, self._looks)
        return signal.on(rung, first=signal.first and not again)

    def _seats_for(self, turn: Turn) -> list[Seat]:
        if not self._policy.tool and not self._policy.agent:
            return self._everyone
        whose = (turn.tool, turn.agent)
        if whose not in self._scoped:
            _make_room(self._scoped)
            scoped = self._policy.for_step(tool=turn.tool, agent=turn.agent)
            self._scoped[whose] = self._everyone if scoped is self._policy else _seats(scoped)
        return self._scoped[whose]

    def _declared(self, tool: str | None) -> ToolNature | None:
        if tool not in self._natures:
            _make_room(self._natures)
            self._natures[tool] = self._policy.nature_of(tool)
        return self._natures[tool]


def _seats(policy: Policy) -> list[Seat]:
    named = [name for name in DETECTORS if name in policy.detectors]
    return [Seat(DETECTORS[name](policy), policy.rungs_of(name)) for name in named]


def _make_room(known: dict[Any, Any]) -> None:
    """Bound a memory that names from outside fill."""
    if len(known) >= _KEPT:
        known.clear()
