"""Read and judge what somebody sent as a recording, each in a process with limits.

Nothing here knows Django: what it takes to start such a process is what it imports.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from guard.errors import UnreadableRecording
from guard.formats import read_stream
from guard.formats.recording import Recording
from guard.policy import Policy
from guard.replay import Alarm, replay
from guard.signals import Assessment
from missioncontrol.detection import limited_process
from missioncontrol.errors import InvalidRequest, Unavailable

MOST_TURNS = 20_000
# 8 MB of an agent's transcript take one or two; judging 20,000 turns takes ten to twenty.
READING_S = 10
JUDGING_S = 60
# An import keeps its thread, of which people have six.
AT_ONCE = 2
COME_AGAIN_S = 5

_places = threading.BoundedSemaphore(AT_ONCE)


@contextmanager
def place() -> Iterator[None]:
    """Hold one of the few places for an import.

    Raises:
        Unavailable: all are taken.
    """
    if not _places.acquire(blocking=False):
        raise Unavailable("Other recordings are being read.", wait_s=COME_AGAIN_S)
    try:
        yield
    finally:
        _places.release()


def read(file: BinaryIO, *, name: str) -> Recording:
    """Read an open file, which its sender calls `name`; it stands at its beginning afterwards.

    Raises:
        UnreadableRecording: it holds no known form.
        InvalidRequest: it holds too many turns, or takes too much time or memory.
    """
    descriptor = file.fileno()
    file.flush()
    file.seek(0)
    try:
        found = limited_process.call(
            _read, descriptor, name, cpu_s=READING_S, descriptors=[descriptor]
        )
    except limited_process.TooMuch:
        raise _refused(f"{name}: reading it") from None
    finally:
        file.seek(0)  # the process read on at our place
    if found is None:
        raise UnreadableRecording(name, "holds no known form")
    if isinstance(found, int):
        raise too_many(found)
    return found


def judge(recorded: Recording, policy: Policy) -> tuple[list[Assessment], tuple[Alarm, ...]]:
    """Replay it under a policy; what the engine says of each turn, and where cards open.

    Raises:
        InvalidRequest: it takes too much time or memory.
    """
    try:
        return limited_process.call(_judge, recorded, policy, cpu_s=JUDGING_S)
    except limited_process.TooMuch:
        raise _refused("Judging its turns") from None


def _read(descriptor: int, name: str) -> Recording | int | None:
    """Return the recording; of one with too many turns how many, of no known form None."""
    try:
        with open(descriptor, "rb") as file:
            found = read_stream(file, Path(name))
    except UnreadableRecording:
        return None
    turns = sum(turn is not None for turn in found.turns)
    return turns if turns > MOST_TURNS else found


def _judge(recorded: Recording, policy: Policy) -> tuple[list[Assessment], tuple[Alarm, ...]]:
    replayed = replay(recorded, policy)
    return [moment.assessment for moment in replayed.moments], replayed.alarms


def too_many(turns: int) -> InvalidRequest:
    """Say that a recording has too many turns."""
    return InvalidRequest(
        f"At most {MOST_TURNS} turns a recording; this one has {turns}.", field="file"
    )


def _refused(what: str) -> InvalidRequest:
    return InvalidRequest(
        f"{what} takes too much time or memory for a recording of one run.", field="file"
    )
