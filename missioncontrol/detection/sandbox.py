"""Read and judge recordings that people send, each in a process of its own with limits.

No reader can bound what an open quote or a million records cost. The kernel's limits cover all of
that (`setrlimit`), and no thread of the server waits for the interpreter meanwhile. Nothing here
imports Django: its imports decide how long such a process takes to start.
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

MAX_TURNS = 20_000
# Processor seconds. Reading 8 MB of a transcript takes 1 or 2; judging 20,000 turns takes 10 to 20.
READING_CPU_S = 10
JUDGING_CPU_S = 60
# An import occupies one of the six threads for people's requests.
MAX_CONCURRENT = 2
RETRY_AFTER_S = 5
# Bytes of data, not addresses: libraries that start a thread for each processor reserve far more.
MAX_MEMORY = 1024 * 1024 * 1024
# Not by `-m` alone: that would import whatever lies in the working directory, where agents write.
ROOT = Path(__file__).parents[2]
START = f"import sys; sys.path.append(sys.argv[1]); from {__name__} import main; main()"
# Factor for the time-out by the clock: on a busy machine the process has less than a processor.
CLOCK_FACTOR = 4
OUT_OF_MEMORY = 3
# JSON nests as deep as the interpreter's limit, and pickling takes more calls than reading did.
PICKLING_DEPTH = 10_000

_slots = threading.BoundedSemaphore(MAX_CONCURRENT)


@contextmanager
def import_slot() -> Iterator[None]:
    """Hold one of the few places for an import.

    Raises:
        Unavailable: all are taken.
    """
    if not _slots.acquire(blocking=False):
        raise Unavailable("Other recordings are being read; try again.", wait_s=RETRY_AFTER_S)
    try:
        yield
    finally:
        _slots.release()


def read_recording(file: BinaryIO, *, name: str) -> Recording:
    """Read an open file that its sender calls `name`; afterwards it is at its beginning again.

    Raises:
        UnreadableRecording: it is in no known format.
        InvalidRequest: it holds too many turns, or takes too much time or memory.
    """
    descriptor = file.fileno()
    file.flush()
    file.seek(0)
    try:
        found = run_limited(_read, descriptor, name, cpu_s=READING_CPU_S, descriptors=[descriptor])
    except LimitExceeded:
        raise _limit_error(f"{name}: reading it") from None
    finally:
        file.seek(0)  # the process shares our position in the file
    if found is None:
        raise UnreadableRecording(name, "is in no known format")
    if isinstance(found, int):
        raise too_many_turns(found)
    return found


def judge_recording(
    recorded: Recording, policy: Policy
) -> tuple[list[Assessment], tuple[Alarm, ...]]:
    """Replay a recording under a policy; return each turn's assessment, and where cards open.

    Raises:
        InvalidRequest: it takes too much time or memory.
    """
    try:
        return run_limited(_judge, recorded, policy, cpu_s=JUDGING_CPU_S)
    except LimitExceeded:
        raise _limit_error("Judging its turns") from None


def _read(descriptor: int, name: str) -> Recording | int | None:
    """Return the recording; if it has too many turns, their number. None: no known format."""
    try:
        with open(descriptor, "rb", closefd=False) as file:
            found = read_stream(file, Path(name))
    except UnreadableRecording:
        return None
    turns = sum(turn is not None for turn in found.turns)
    return turns if turns > MAX_TURNS else found


def _judge(recorded: Recording, policy: Policy) -> tuple[list[Assessment], tuple[Alarm, ...]]:
    replayed = replay(recorded, policy)
    return [moment.assessment for moment in replayed.moments], replayed.alarms


def too_many_turns(turns: int) -> InvalidRequest:
    """Return the error for a recording with too many turns."""
    return InvalidRequest(
        f"At most {MAX_TURNS} turns a recording; this one has {turns}.", field="file"
    )


def _limit_error(what: str) -> InvalidRequest:
    return InvalidRequest(
        f"{what} takes too much time or memory for a recording of one run.", field="file"
    )


class LimitExceeded(Exception):
    """The function took more time or memory than it may."""


def run_limited(
    function: Callable[..., T], *args: Any, cpu_s: int, descriptors: Collection[int] = ()
) -> T:
    """Run a module's function in a process with `cpu_s` processor seconds; return its result.

    `descriptors` are our open files that it reads, under the same numbers.

    Raises:
        LimitExceeded: it took more time, or too much memory.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", START, str(ROOT), str(cpu_s), str(MAX_MEMORY)],
            input=pickle.dumps((function, args), pickle.HIGHEST_PROTOCOL),
            capture_output=True,
            timeout=cpu_s * CLOCK_FACTOR,
            check=False,
            pass_fds=descriptors,
        )
    except subprocess.TimeoutExpired:
        raise LimitExceeded from None
    # SIGKILL: the hard limit of time, or the machine itself had no memory left.
    if done.returncode in {OUT_OF_MEMORY, -signal.SIGXCPU, -signal.SIGKILL}:
        raise LimitExceeded
    if done.returncode:
        raise RuntimeError(f"{function.__name__} failed: {done.stderr.decode(errors='replace')}")
    result: T = pickle.loads(done.stdout)  # noqa: S301 - our own process wrote it
    return result


def main() -> None:
    """Call the function that standard input names, and write what it returns."""
    cpu_s, memory = map(int, sys.argv[2:])
    # macOS has no such limit of memory; a limit that is already lower stays.
    for limit, most in ((resource.RLIMIT_CPU, cpu_s), (resource.RLIMIT_DATA, memory)):
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    # At a lower priority than what agents wait for.
    os.nice(10)
    try:
        function, args = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own server wrote it
        result = function(*args)
        sys.setrecursionlimit(PICKLING_DEPTH)
        pickled = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    sys.stdout.buffer.write(pickled)
