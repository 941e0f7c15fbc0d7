"""End every process of an installation whose parent was killed.

`kill -9` runs no handler, so the parent cannot end its children. This process
leads their process group and waits for the end of a pipe that only the parent
holds open. When that ends, for whatever reason, it kills the whole group: web,
worker and its pool, beat, Valkey, and this process with them. Nothing is lost:
the database survives `kill -9`, and the broker stores nothing of its own.

It also holds the lock of the data directory, so that the next start waits until
nothing of this one is left. Works the same on Linux and macOS. Standard library
only; started with `python -I -S`, by its path.
"""

import os
import signal
import sys


def main(pipe: int) -> None:
    """Wait for the parent's end, then kill the group."""
    for deadly in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(deadly, signal.SIG_IGN)
    while os.read(pipe, 1):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]))
