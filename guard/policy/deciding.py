"""What is done about a loop: an assessment and a mode give a response."""

from __future__ import annotations

from enum import StrEnum

from guard.signals import Assessment, Kind, Rung
from guard.wire import Mode


class Response(StrEnum):
    """What follows from an assessment."""

    GO_ON = "go_on"
    WARN = "warn"
    FLAG = "flag"
    HOLD = "hold"
    FIX = "fix"
    ESCALATE = "escalate"
    """A card as in `flag`, and the agent is asked for another strategy."""
    STOP = "stop"
    """The run ends by the policy; not one more turn is let through."""


_ANSWERS = {
    Mode.WARN: Response.WARN,
    Mode.FLAG: Response.FLAG,
    Mode.PAUSE: Response.HOLD,
    Mode.AUTO: Response.FIX,
}


def decide(assessment: Assessment, mode: Mode, *, card_open: bool, fix_failed: bool) -> Response:
    """Say what a run in this mode does about an assessment.

    The mode bounds the rung: in `warn` nothing but a warning follows, in `flag` no run
    is held or ended. An end is the one answer that an open card does not keep back.

    Args:
        assessment: What the engine said of the turn.
        mode: The run's mode.
        card_open: A decision of the run is open already: nothing opens twice.
        fix_failed: In `auto`, a correction for this trouble did not help.
    """
    trip = assessment.trip
    if trip is None:
        return Response.GO_ON
    if trip.rung is Rung.STOP and mode in {Mode.PAUSE, Mode.AUTO}:
        return Response.STOP
    if card_open:
        return Response.GO_ON
    if trip.rung is Rung.ESCALATE and mode is not Mode.WARN:
        return Response.ESCALATE
    answer = _ANSWERS[mode]
    # No correction makes money: a spent budget always waits for a person.
    if answer is Response.FIX and (fix_failed or trip.kind is Kind.BUDGET):
        return Response.HOLD
    return answer
