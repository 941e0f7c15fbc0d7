"""The ladder: what follows from a signal, from a quiet note up to the end.

observe -> nudge -> escalate -> ask -> stop. A detector proposes a rung; a policy
may set another, and higher ones at higher counts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum

from guard.policy.bounds import check_range, check_share
from guard.signals import Rung, Signal


class RungName(StrEnum):
    """The rungs as a policy names them."""

    OBSERVE = "observe"
    """Shadow: it is noted what would have happened, and nothing is done."""
    NUDGE = "nudge"
    """The agent is told what repeats; nobody is asked."""
    ESCALATE = "escalate"
    """Another strategy or a stronger model; a card tells people."""
    ASK = "ask"
    """A person decides."""
    STOP = "stop"
    """The run ends."""


class Nudge(StrEnum):
    """What is done when a detector is nearly sure."""

    OBSERVE = "observe"
    TELL = "tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rungs:
    """Which rung at which count, for one detector or (`every`) for all.

    Attributes:
        nudge: What is done below the trip: `observe` tells the host's callback
            alone, `tell` gives the agent a message. None: `observe`.
        nudge_at: Share of the way to the trip at which it is nearly sure, in
            (0, 1]; None: 0.6, the second of three repeats.
        trip: The rung of a trip; None: the one the detector asks for.
        escalate_at: From this many repeats a trip asks for another strategy,
        ask_at: from this many for a person,
        stop_at: and from this many it ends the run; each 2 to 1000.
    """

    nudge: Nudge | None = None
    nudge_at: float | None = None
    trip: RungName | None = None
    escalate_at: int | None = None
    ask_at: int | None = None
    stop_at: int | None = None

    def __post_init__(self) -> None:
        if self.nudge_at is not None:
            check_share("nudge_at", self.nudge_at)
        for name in ("escalate_at", "ask_at", "stop_at"):
            if (count := getattr(self, name)) is not None:
                check_range(name, count, 2, 1000)

    def over(self, other: Rungs) -> Rungs:
        """Give these rungs with what they leave open taken from others."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(other, **{name: value for name, value in said.items() if value is not None})

    def place(self, signal: Signal) -> Signal:
        """Set a signal's rung."""
        return signal.on(self.rung_of(signal), first=signal.first)

    def rung_of(self, signal: Signal) -> Rung:
        """Give a signal's rung: by its count where one is reached, else by the trip.

        A detector below its own limit never climbs: patience comes first.
        """
        if signal.score < 1.0:
            return self._below(signal)
        rung = self._reached(signal.evidence.repeats)
        return rung or (Rung[self.trip.upper()] if self.trip else signal.rung)

    def _below(self, signal: Signal) -> Rung:
        if signal.score < (self.nudge_at or NUDGE_AT):
            return signal.rung
        return Rung.NUDGE if self.nudge is Nudge.TELL else Rung.OBSERVE

    def _reached(self, repeats: int) -> Rung | None:
        steps = ((self.stop_at, Rung.STOP), (self.ask_at, Rung.ASK),
                 (self.escalate_at, Rung.ESCALATE))  # fmt: skip
        return next((rung for count, rung in steps if count and repeats >= count), None)


NUDGE_AT = 0.6
