"""What a host can listen to in its own process: one callback with typed events."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from guard.signals import Assessment, Severity, Signal
from guard.turn import Turn
from guard.wire import Directive, Message

logger = logging.getLogger("guard")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The engine has read a turn; sent for every turn, before what follows from it."""

    turn: Turn
    assessment: Assessment


@dataclass(frozen=True, slots=True, kw_only=True)
class Nudged:
    """A detector is nearly sure; once per streak. `sent`: the policy tells the agent."""

    signal: Signal
    sent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadowed:
    """A detector in `observe` would have tripped; once per streak. Nothing follows."""

    signal: Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class Tripped:
    """A detector is sure; sent for each turn at which it is."""

    signal: Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """Every streak starts afresh: a person spoke, a new session began, or the host said so."""

    why: Literal["user", "session", "host"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The run of a session exists on the server."""

    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Directed:
    """The server answered a turn of a session; sent more than once while a call is held."""

    turn: Turn
    directive: Directive


@dataclass(frozen=True, slots=True, kw_only=True)
class Messaged:
    """A message for the model has arrived; sent once for each."""

    turn: Turn
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """The server cannot be reached; sent once per outage."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """The server answers again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """Turns kept while the server could not be reached have been delivered.

    Attributes:
        turns: Observations that were new to the server.
        dropped: How many turns did not fit and are lost.
    """

    turns: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A session reported that its run is over."""

    status: Literal["completed", "failed"]


# A union, so that a type checker can tell whether a host's `match` covers all events.
Event = (
    Observed
    | Nudged
    | Shadowed
    | Tripped
    | Reset
    | Opened
    | Directed
    | Messaged
    | Away
    | Back
    | Delivered
    | Ended
)
Emit = Callable[[Event], object]


def events_of(turn: Turn, assessment: Assessment) -> Iterator[Event]:
    """Yield the events of a turn: that it was seen, then what follows."""
    yield Observed(turn=turn, assessment=assessment)
    for signal in assessment.signals:
        # A trip is sent at each turn, because each is answered; other signals once per streak.
        if signal.trips:
            yield Tripped(signal=signal)
        # Sure, but the rule may only observe: otherwise this would be a trip.
        elif signal.first and signal.severity is Severity.OBSERVE and signal.score >= 1.0:
            yield Shadowed(signal=signal)
        elif signal.first and signal.severity in {Severity.OBSERVE, Severity.NUDGE}:
            yield Nudged(signal=signal, sent=signal.severity is Severity.NUDGE)


class Emitter:
    """Calls a host's callback and never lets it break the agent.

    Only its first error is logged, with a traceback: a callback that fails would
    fail at every turn.
    """

    def __init__(self, callback: Emit | None) -> None:
        self._callback = callback
        self._failed = False
        self.has_listeners = callback is not None
        """Check this before creating events: without a listener a turn costs nothing here."""

    def __call__(self, event: Event) -> None:
        """Hand an event to the host, if it listens."""
        if self._callback is None:
            return
        try:
            self._callback(event)
        # This is the host's code: whatever it raises must not end its agent's turn.
        except Exception:
            if not self._failed:
                logger.exception("the emit callback failed on %s", type(event).__name__)
            self._failed = True
