"""A correction that was given instead of a call is enforced: the call waits again at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from guard.reading.step import Step
from guard.signals import Evidence, Kind, Signal
from guard.turn import Turn

_DETECTOR = "repeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A call that was answered with a correction instead of being run.

    Attributes:
        call: The call, as it was proposed or done.
        turns: `seq` of the turns it repeated, oldest first, itself included.
    """

    call: Turn
    turns: tuple[int, ...] = ()


class Corrections:
    """The corrections in force: given, and neither lifted nor overtaken by a change."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], Correction] = {}

    def __bool__(self) -> bool:
        return bool(self._given)

    def take(self, given: Iterable[tuple[Correction, Step]]) -> None:
        """Put these in force, each with its call as it was read, and no others."""
        self._given = {(step.agent, step.request): one for one, step in given}

    def examine(self, step: Step) -> Signal | None:
        """Trip where a corrected request comes back; a change in between may be the cure."""
        if step.acted:
            self._given.clear()
        answered = self._given.get((step.agent, step.request)) if self._given else None
        if answered is None:
            return None
        call, turns = answered.call, (*answered.turns, step.seq)
        if step.seq == call.seq or (step.key is not None and step.key == call.key):
            return None  # this only reports the corrected call, as not run
        action = "is about to do the same again" if step.proposed else "did the same again"
        return Signal(
            detector=_DETECTOR,
            kind=Kind.EXACT_REPEAT,
            score=1.0,
            turns=turns,
            evidence=Evidence(
                summary=f"It was corrected and {action}.",
                calls=(step.call,),
                repeats=len(turns),
                limit=len(turns),
                similarity=1.0,
                threshold=1.0,
            ),
        )
