"""Let writers of one SQLite file take turns, a person's tap before the machine's work.

SQLite makes a second writer sleep and look again (1 ms, then up to 100), so the
lock often lies free while everyone sleeps. A kernel file lock in front of it wakes
the next writer at once. It is a courtesy, never the guarantee: the transaction is.
PostgreSQL has its own queues and needs none of this.

Detection and storing queue at a second lock, so that only one of them waits for the
write lock; a tap goes straight to it and is announced by a shared third one, which
who leaves the queue passes. A tap waits for one transaction, not for a queue of them,
and work on many runs ends its transaction early while one waits (`is_awaited`);
taps without end (a script's) hold the machine's work up for half a second at a time.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# Seconds in which the machine's work lets people go before it.
PATIENCE = 0.5
LOOK_AGAIN = 0.002

_files = threading.local()


class _File:
    """A descriptor that is closed with the thread it belongs to."""

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    # Threads come and go, and a thread-local has no other end.
    def __del__(self) -> None:
        os.close(self.number)


class _Lane(threading.local):
    """Which way this thread goes to the write lock, and whether it lost its patience there."""

    ahead = False
    impatient = False
    look_at = 0.0
    """When it is asked next whether a person waits: a look takes two calls of the kernel."""


_lane = _Lane()


@contextmanager
def going_ahead(ahead: bool = True) -> Iterator[None]:
    """Have this thread's next transaction go before what the machine has to write."""
    before, _lane.ahead = _lane.ahead, ahead
    try:
        yield
    finally:
        _lane.ahead = before


@contextmanager
def in_turn(name: str) -> Iterator[None]:
    """Wait for this thread's turn to write the file `name`."""
    if _lane.ahead:
        # Shared, for several people may be announced at once.
        with _locked(f"{name}-people", fcntl.LOCK_SH), _locked(f"{name}-turnstile"):
            yield
        return
    with _locked(f"{name}-queue"):
        # Wait until nobody is announced, at most for so long; who comes later waits for this one.
        patient_until = time.monotonic() + PATIENCE
        while is_announced := _is_announced(name):
            if time.monotonic() > patient_until:
                break
            # A flock cannot be waited for with a time-out.
            time.sleep(LOOK_AGAIN)
        _lane.impatient, _lane.look_at = is_announced, 0.0
        with _locked(f"{name}-turnstile"):
            try:
                yield
            finally:
                _lane.impatient, _lane.look_at = False, 0.0


def is_awaited(name: str) -> bool:
    """Tell whether a person waits for this thread's turn; not if it let people go for long.

    It may be asked after each small piece of work: it looks every `LOOK_AGAIN` seconds.
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
