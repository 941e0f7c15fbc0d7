"""Call a function in a process of its own that may take only so much time and memory.

For work on what somebody sent: no reader can promise what an open quote or a million records
cost. The kernel counts for all alike (`setrlimit`), and no thread of the server waits for the
interpreter meanwhile.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

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
