"""Let writers of one SQLite file take turns, a person's tap before the machine's work.

SQLite makes a second writer sleep and try again (1 ms, then up to 100), so the
lock is often free while everyone sleeps. A kernel file lock in front of it wakes
the next writer at once. It only improves waiting; the guarantee is the transaction.
PostgreSQL has its own queues and needs none of this.

Detection and storing queue at a second lock, so that only one of them waits for the
write lock. A tap goes straight to the write lock and is announced by a shared third
lock, which the first in the queue lets go ahead. So a tap waits for one transaction, not
for a queue of them, and work on many runs ends its transaction early while a tap waits
(`is_person_waiting`). Endless taps (a script's) delay the machine's work by half a second at a
time.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# Seconds for which the machine's work lets people go first.
MAX_YIELD_S = 0.5
POLL_S = 0.002

_descriptors = threading.local()


class _Descriptor:
    """A descriptor that is closed with the thread it belongs to."""

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    # Threads come and go, and nothing else tells the end of a thread-local.
    def __del__(self) -> None:
        os.close(self.number)


class _ThreadState(threading.local):
    """Whether this thread goes straight to the write lock, and whether it yields no longer."""

    has_priority = False
    has_waited_enough = False
    next_check_at = 0.0
    """When to check next whether a person waits: a check takes two system calls."""


_thread = _ThreadState()


@contextmanager
def with_priority(has_priority: bool = True) -> Iterator[None]:
    """Let this thread's next transaction go before the machine's own writes."""
    before, _thread.has_priority = _thread.has_priority, has_priority
    try:
        yield
    finally:
        _thread.has_priority = before


@contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Hold the write lock of the file `name` within this context; wait for it first."""
    if _thread.has_priority:
        # Shared, as several people may be announced at once.
        with _flocked(f"{name}-people", fcntl.LOCK_SH), _flocked(f"{name}-turnstile"):
            yield
        return
    with _flocked(f"{name}-queue"):
        # Wait until nobody is announced, at most `MAX_YIELD_S`; a later tap waits for this writer.
        yield_until = time.monotonic() + MAX_YIELD_S
        while is_waiting := _is_person_announced(name):
            if time.monotonic() > yield_until:
                break
            # A flock has no wait with a time-out.
            time.sleep(POLL_S)
        _thread.has_waited_enough, _thread.next_check_at = is_waiting, 0.0
        with _flocked(f"{name}-turnstile"):
            try:
                yield
            finally:
                _thread.has_waited_enough, _thread.next_check_at = False, 0.0


def is_person_waiting(name: str) -> bool:
    """Tell whether a person waits for this thread's lock; False once it has yielded long enough.

    It may be called after each small piece of work: it checks every `POLL_S` seconds.
    """
    at = time.monotonic()
    if _thread.has_waited_enough or at < _thread.next_check_at:
        return False
    _thread.next_check_at = at + POLL_S
    return _is_person_announced(name)


def _is_person_announced(name: str) -> bool:
    announced = _descriptor_of(f"{name}-people")
    try:
        fcntl.flock(announced, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(announced, fcntl.LOCK_UN)
    return False


@contextmanager
def _flocked(path: str, how: int = fcntl.LOCK_EX) -> Iterator[None]:
    file = _descriptor_of(path)
    fcntl.flock(file, how)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _descriptor_of(path: str) -> int:
    """Return this thread's descriptor; one from before a fork would share its lock."""
    known: dict[tuple[str, int], _Descriptor] = _descriptors.__dict__.setdefault("known", {})
    key = (path, os.getpid())
    if key not in known:
        known[key] = _Descriptor(path)
    return known[key].number
