"""The run's life as a table: `(status, move) -> status`. Pure.

`holding` and `stopping` mean *asked*; `held` and `terminated` mean *known*.
Moves that cross each other are self-loops; a pair that is not in the table raises NoSuchMove.
"""

from __future__ import annotations

from enum import StrEnum

from missioncontrol.errors import NoSuchMove


class Status(StrEnum):
    RUNNING = "running"
    HOLDING = "holding"
    HELD = "held"
    STOPPING = "stopping"
    COMPLETED = "completed"
    FAILED = "failed"
    TERMINATED = "terminated"
    LOST = "lost"


class Source(StrEnum):
    """Where the reports about a run come from."""

    AGENT = "agent"
    # Only spans and logs: there is no way to hold it.
    TELEMETRY = "telemetry"
    # A file that a person imported: the run had already ended, and nobody is asked about it.
    RECORDING = "recording"


class Move(StrEnum):
    HOLD = "hold"
    WAIT = "wait"
    GIVE_UP = "give up waiting"
    RELEASE = "go on"
    STOP = "stop"
    COMPLETE = "complete"
    FAIL = "fail"
    END = "end"
    SPEAK = "speak"
    RETURN = "return to its hold"
    FALL_SILENT = "fall silent"


S, M = Status, Move

# Not expected to speak; all but `terminated` may come back.
ENDED = frozenset({S.COMPLETED, S.FAILED, S.TERMINATED, S.LOST})
ON_HOLD = frozenset({S.HOLDING, S.HELD})
# The directive is `stop`, whatever else is true.
MUST_STOP = frozenset({S.STOPPING, S.TERMINATED})
# In any other status a run is held, or it has ended and may be held when it comes back.
NEVER_HELD = MUST_STOP | {S.RUNNING}

# Written out row by row: the result of two moves that cross is decided here, not by which of
# several conditions happens to be tested first. A missing pair is refused.
TABLE: dict[tuple[Status, Move], Status] = {
    (S.RUNNING, M.HOLD): S.HOLDING,
    (S.RUNNING, M.WAIT): S.RUNNING,  # a poll that began before the hold was lifted
    (S.RUNNING, M.GIVE_UP): S.RUNNING,
    (S.RUNNING, M.RELEASE): S.RUNNING,  # crossing: released twice
    (S.RUNNING, M.STOP): S.STOPPING,
    (S.RUNNING, M.COMPLETE): S.COMPLETED,
    (S.RUNNING, M.FAIL): S.FAILED,
    (S.RUNNING, M.END): S.COMPLETED,
    (S.RUNNING, M.SPEAK): S.RUNNING,
    (S.RUNNING, M.FALL_SILENT): S.LOST,
    (S.HOLDING, M.HOLD): S.HOLDING,  # crossing: held by a person and by a card
    (S.HOLDING, M.WAIT): S.HELD,
    (S.HOLDING, M.GIVE_UP): S.HOLDING,
    (S.HOLDING, M.RELEASE): S.RUNNING,
    (S.HOLDING, M.STOP): S.STOPPING,
    (S.HOLDING, M.COMPLETE): S.COMPLETED,
    (S.HOLDING, M.FAIL): S.FAILED,
    (S.HOLDING, M.END): S.COMPLETED,
    (S.HOLDING, M.SPEAK): S.HOLDING,
    (S.HOLDING, M.FALL_SILENT): S.LOST,
    (S.HELD, M.HOLD): S.HELD,
    (S.HELD, M.WAIT): S.HELD,  # several calls of one run wait at once
    (S.HELD, M.GIVE_UP): S.HOLDING,
    (S.HELD, M.RELEASE): S.RUNNING,
    (S.HELD, M.STOP): S.STOPPING,
    (S.HELD, M.COMPLETE): S.COMPLETED,
    (S.HELD, M.FAIL): S.FAILED,
    (S.HELD, M.END): S.COMPLETED,
    (S.HELD, M.SPEAK): S.HELD,
    (S.HELD, M.FALL_SILENT): S.LOST,
    # A stop that was asked for leads to `terminated` alone: no move leads back.
    (S.STOPPING, M.HOLD): S.STOPPING,  # crossing: stop wins
    (S.STOPPING, M.WAIT): S.STOPPING,
    (S.STOPPING, M.GIVE_UP): S.STOPPING,
    (S.STOPPING, M.RELEASE): S.STOPPING,  # crossing: a continue that came too late
    (S.STOPPING, M.STOP): S.STOPPING,  # crossing: a repeated tap
    (S.STOPPING, M.COMPLETE): S.TERMINATED,
    (S.STOPPING, M.FAIL): S.TERMINATED,
    (S.STOPPING, M.END): S.TERMINATED,
    (S.STOPPING, M.SPEAK): S.STOPPING,
    (S.STOPPING, M.FALL_SILENT): S.TERMINATED,  # it must never go on
    # Ended by itself: no hold, as nobody is there to wait; a run that speaks again is running.
    (S.COMPLETED, M.WAIT): S.COMPLETED,
    (S.COMPLETED, M.GIVE_UP): S.COMPLETED,
    (S.COMPLETED, M.RELEASE): S.COMPLETED,
    (S.COMPLETED, M.STOP): S.TERMINATED,
    (S.COMPLETED, M.COMPLETE): S.COMPLETED,
    (S.COMPLETED, M.FAIL): S.FAILED,
    (S.COMPLETED, M.END): S.COMPLETED,
    (S.COMPLETED, M.SPEAK): S.RUNNING,
    (S.COMPLETED, M.RETURN): S.HOLDING,  # the hold outlived the session
    (S.FAILED, M.WAIT): S.FAILED,
    (S.FAILED, M.GIVE_UP): S.FAILED,
    (S.FAILED, M.RELEASE): S.FAILED,
    (S.FAILED, M.STOP): S.TERMINATED,
    (S.FAILED, M.COMPLETE): S.COMPLETED,
    (S.FAILED, M.FAIL): S.FAILED,
    (S.FAILED, M.END): S.FAILED,
    (S.FAILED, M.SPEAK): S.RUNNING,
    (S.FAILED, M.RETURN): S.HOLDING,
    # Final: a late tap or turn changes nothing and is no error.
    (S.TERMINATED, M.HOLD): S.TERMINATED,
    (S.TERMINATED, M.WAIT): S.TERMINATED,
    (S.TERMINATED, M.GIVE_UP): S.TERMINATED,
    (S.TERMINATED, M.RELEASE): S.TERMINATED,
    (S.TERMINATED, M.STOP): S.TERMINATED,
    (S.TERMINATED, M.COMPLETE): S.TERMINATED,
    (S.TERMINATED, M.FAIL): S.TERMINATED,
    (S.TERMINATED, M.END): S.TERMINATED,
    (S.TERMINATED, M.SPEAK): S.TERMINATED,
    (S.TERMINATED, M.RETURN): S.TERMINATED,
    # `lost` is a guess from silence, so whatever is heard of the run corrects it.
    (S.LOST, M.WAIT): S.LOST,
    (S.LOST, M.GIVE_UP): S.LOST,
    (S.LOST, M.RELEASE): S.LOST,
    (S.LOST, M.STOP): S.TERMINATED,
    (S.LOST, M.COMPLETE): S.COMPLETED,
    (S.LOST, M.FAIL): S.FAILED,
    (S.LOST, M.END): S.COMPLETED,
    (S.LOST, M.SPEAK): S.RUNNING,
    (S.LOST, M.RETURN): S.HOLDING,
}


def next_status(status: Status, move: Move) -> Status:
    """Return the status that `move` leads to.

    Raises:
        NoSuchMove: the table has no such row.
    """
    try:
        return TABLE[status, move]
    except KeyError:
        raise NoSuchMove(status, move) from None


def raises_version(before: Status, now: Status) -> bool:
    """Tell whether a change of status increases the run's version: an end or a
    comeback does, `holding` <-> `held` does not.
    """
    # A request that waits for an answer must not be woken by its own waiting.
    return before is not now and (before in ENDED or now in ENDED)
