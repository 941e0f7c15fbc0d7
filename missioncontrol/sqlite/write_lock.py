"""Let writers of one SQLite file take turns, a person's tap before the machine's work.

SQLite makes a second writer sleep and try again (1 ms, then up to 100), so the
lock is often free while everyone sleeps. A kernel file lock in front of it wakes
the next writer at once. It only improves waiting; the guarantee is the transaction.
PostgreSQL has its own queues and needs none of this.

Detection and storing queue at a second lock, so that only one of them waits for the
write lock. A tap goes straight to the write lock and is announced by a shared third
lock, which the first in the queue lets go ahead. So a tap waits for one transaction, not
for a queue of them, and work on many runs ends its transaction early while a tap waits
(`is_awaited`). Endless taps (a script's) delay the machine's work by half a second at a time.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# Seconds for which the machine's work lets people go first.
PATIENCE = 0.5
LOOK_AGAIN = 0.002

_files = threading.local()


class _File:
    """A descriptor that is closed with the thread it belongs to."""

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    # Threads come and go, and nothing else tells the end of a thread-local.
    def __del__(self) -> None:
        os.close(self.number)


class _Lane(threading.local):
    """Whether this thread goes ahead to the write lock, and whether its patience is over."""

    ahead = False
    impatient = False
    look_at = 0.0
    """When to check next whether a person waits: a check takes two system calls."""


_lane = _Lane()


@contextmanager
def going_ahead(ahead: bool = True) -> Iterator[None]:
    """Let this thread's next transaction go before the machine's own writes."""
    before, _lane.ahead = _lane.ahead, ahead
    try:
        yield
    finally:
        _lane.ahead = before


@contextmanager
def in_turn(name: str) -> Iterator[None]:
    """Wait for this thread's turn to write the file `name`."""
    if _lane.ahead:
        # Shared, as several people may be announced at once.
        with _locked(f"{name}-people", fcntl.LOCK_SH), _locked(f"{name}-turnstile"):
            yield
        return
    with _locked(f"{name}-queue"):
        # Wait until nobody is announced, at most `PATIENCE`; a later tap waits for this writer.
        patient_until = time.monotonic() + PATIENCE
        while is_announced := _is_announced(name):
            if time.monotonic() > patient_until:
                break
            # A flock has no wait with a time-out.
            time.sleep(LOOK_AGAIN)
        _lane.impatient, _lane.look_at = is_announced, 0.0
        with _locked(f"{name}-turnstile"):
            try:
                yield
            finally:
                _lane.impatient, _lane.look_at = False, 0.0


def is_awaited(name: str) -> bool:
    """Tell whether a person waits for this thread's turn; False once its patience is over.

    It may be called after each small piece of work: it checks every `LOOK_AGAIN` seconds.
    """
    at = time.monotonic()
    if _lane.impatient or at < _lane.look_at:
        return False
    _lane.look_at = at + LOOK_AGAIN
    return _is_announced(name)


def _is_announced(name: str) -> bool:
    announced = _own_file(f"{name}-people")
    try:
        fcntl.flock(announced, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(announced, fcntl.LOCK_UN)
    return False


@contextmanager
def _locked(path: str, how: int = fcntl.LOCK_EX) -> Iterator[None]:
    file = _own_file(path)
    fcntl.flock(file, how)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _own_file(path: str) -> int:
    """Return this thread's descriptor; one from before a fork would share its lock."""
    known: dict[tuple[str, int], _File] = _files.__dict__.setdefault("known", {})
    key = (path, os.getpid())
    if key not in known:
        known[key] = _File(path)
    return known[key].number
