"""Read and judge what somebody sent as a recording, each in a process of its own with limits.

No reader can promise what an open quote or a million records cost. The kernel counts for all alike
(`setrlimit`), and no thread of the server waits for the interpreter meanwhile. Nothing here knows
Django: what it takes to start such a process is what it imports.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from guard.errors import UnreadableRecording
from guard.formats import read_stream
from guard.formats.recording import Recording
from guard.policy import Policy
from guard.replay import Alarm, replay
from guard.signals import Assessment
from missioncontrol.errors import InvalidRequest, Unavailable

T = TypeVar("T")

MOST_TURNS = 20_000
# 8 MB of an agent's transcript take one or two; judging 20,000 turns takes ten to twenty.
READING_S = 10
JUDGING_S = 60
# An import keeps its thread, of which people have six.
AT_ONCE = 2
COME_AGAIN_S = 5
# Data alone, not addresses: libraries that start a thread a processor reserve far more.
MOST_MEMORY = 1024 * 1024 * 1024
# Not by `-m` alone: that would import whatever lies in the working directory, where agents write.
ROOT = Path(__file__).parents[2]
START = f"import sys; sys.path.append(sys.argv[1]); from {__name__} import main; main()"
# By the clock: a busy machine gives the process less than a processor.
WAITS = 4
OUT_OF_MEMORY = 3
# JSON nests as deep as the interpreter's limit, and pickling takes more calls than reading did.
PICKLING_DEPTH = 10_000

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
        found = call(_read, descriptor, name, cpu_s=READING_S, descriptors=[descriptor])
    except TooMuch:
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
        return call(_judge, recorded, policy, cpu_s=JUDGING_S)
    except TooMuch:
        raise _refused("Judging its turns") from None


def _read(descriptor: int, name: str) -> Recording | int | None:
    """Return the recording; of one with too many turns how many, of no known form None."""
    try:
        with open(descriptor, "rb", closefd=False) as file:
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


class TooMuch(Exception):
    """The function took more time or memory than it may."""


def call(
    function: Callable[..., T], *args: Any, cpu_s: int, descriptors: Collection[int] = ()
) -> T:
    """Return what a module's function returns, after at most `cpu_s` seconds of a processor.

    `descriptors` are open files of ours that it reads, by the same numbers.

    Raises:
        TooMuch: it took more, or more memory.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", START, str(ROOT), str(cpu_s), str(MOST_MEMORY)],
            input=pickle.dumps((function, args), pickle.HIGHEST_PROTOCOL),
            capture_output=True,
            timeout=cpu_s * WAITS,
            check=False,
            pass_fds=descriptors,
        )
    except subprocess.TimeoutExpired:
        raise TooMuch from None
    # SIGKILL: the hard limit of time, or the machine itself had no memory left.
    if done.returncode in {OUT_OF_MEMORY, -signal.SIGXCPU, -signal.SIGKILL}:
        raise TooMuch
    if done.returncode:
        raise RuntimeError(f"{function.__name__} failed: {done.stderr.decode(errors='replace')}")
    result: T = pickle.loads(done.stdout)  # noqa: S301 - our own process wrote it
    return result


def main() -> None:
    """Call the function that standard input names, and write what it returns."""
    cpu_s, memory = map(int, sys.argv[2:])
    # macOS has no limit of memory; one that is lower already stays.
    for limit, most in ((resource.RLIMIT_CPU, cpu_s), (resource.RLIMIT_DATA, memory)):
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    # Behind whatever agents wait for.
    os.nice(10)
    try:
        function, args = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own server wrote it
        result = function(*args)
        sys.setrecursionlimit(PICKLING_DEPTH)
        pickled = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    sys.stdout.buffer.write(pickled)
