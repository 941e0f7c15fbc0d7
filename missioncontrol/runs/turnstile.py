"""Let writers of one SQLite file take turns.

SQLite makes a second writer sleep and look again (1 ms, then up to 100), so the
lock often lies free while everyone sleeps. A kernel file lock in front of it wakes
the next writer at once. It is a courtesy, never the guarantee: the transaction is.
PostgreSQL has its own queues and needs none of this.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_files = threading.local()


@contextmanager
def in_turn(connection: Any) -> Iterator[None]:
    """Wait for this process's turn to write; inside a transaction it has come already."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    file = _own_file(f"{connection.settings_dict['NAME']}-turnstile")
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _own_file(path: str) -> int:
    """Return this thread's descriptor; one from before a fork would share its lock."""
    known: tuple[str, int, int] | None = getattr(_files, "known", None)
    if known is None or known[:2] != (path, os.getpid()):
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        known = _files.known = (path, os.getpid(), descriptor)
    return known[2]
