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
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

MOST_MEMORY = 1024 * 1024 * 1024
# By the clock: a busy machine gives the process less than a processor.
WAITS = 4
OUT_OF_MEMORY = 3
# JSON nests as deep as the interpreter's limit, and pickling takes more calls than reading did.
PICKLING_DEPTH = 10_000


class TooMuch(Exception):
    """The function took more time or memory than it may."""


def call(function: Callable[..., T], *args: Any, cpu_s: int) -> T:
    """Return what a module's function returns, after at most `cpu_s` seconds of a processor.

    Raises:
        TooMuch: it took more, or more memory.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__, str(cpu_s), str(MOST_MEMORY)],
            input=pickle.dumps((function, args), pickle.HIGHEST_PROTOCOL),
            capture_output=True,
            timeout=cpu_s * WAITS,
            check=False,
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


def main(cpu_s: str, memory: str) -> None:
    """Call the function that standard input names, and write what it returns."""
    # macOS has no limit of memory; one that is lower already stays.
    for limit, most in ((resource.RLIMIT_CPU, int(cpu_s)), (resource.RLIMIT_AS, int(memory))):
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


if __name__ == "__main__":
    main(*sys.argv[1:])
