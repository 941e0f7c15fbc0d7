"""Let writers of one SQLite file take turns, a person's tap before the machine's work.

SQLite makes a second writer sleep and look again (1 ms, then up to 100), so the
lock often lies free while everyone sleeps. A kernel file lock in front of it wakes
the next writer at once. It is a courtesy, never the guarantee: the transaction is.
PostgreSQL has its own queues and needs none of this.

Detection and storing queue at a second lock, so that only one of them stands at the
turnstile; a tap goes straight to it and is announced by a shared third one, which
who leaves the queue passes. A tap waits for one transaction, not for a queue of them;
taps without end (a script's) hold the machine's work up for half a second at a time.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 0.5
"""Seconds in which the machine's work lets people go before it."""
LOOK_AGAIN = 0.002

_files = threading.local()


class _File:
    """A descriptor that is closed with the thread it belongs to."""

    def __init__(self, path: str) -> None:
        self._number = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    def fileno(self) -> int:
        return self._number

    def __del__(self) -> None:
        os.close(self._number)


@contextmanager
def in_turn(connection: Any, *, ahead: bool = False) -> Iterator[None]:
    """Wait for this process's turn to write; inside a transaction it has come already.

    `ahead`: somebody waits for it; it goes before what the machine has to write.
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    lane = _ahead if ahead else _queued
    with lane(str(connection.settings_dict["NAME"])):
        yield


@contextmanager
def _ahead(name: str) -> Iterator[None]:
    with _locked(f"{name}-people", fcntl.LOCK_SH), _locked(f"{name}-turnstile"):
        yield


@contextmanager
def _queued(name: str) -> Iterator[None]:
    with _locked(f"{name}-queue"):
        _let_people_go(_own_file(f"{name}-people"))
        with _locked(f"{name}-turnstile"):
            yield


def _let_people_go(announced: _File) -> None:
    """Wait until nobody is announced, or long enough; who comes later waits for this one."""
    patient_until = time.monotonic() + PATIENCE
    while time.monotonic() < patient_until:
        try:
            fcntl.flock(announced, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOOK_AGAIN)
        else:
            fcntl.flock(announced, fcntl.LOCK_UN)
            return


@contextmanager
def _locked(path: str, how: int = fcntl.LOCK_EX) -> Iterator[None]:
    file = _own_file(path)
    fcntl.flock(file, how)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _own_file(path: str) -> _File:
    """Return this thread's descriptor; one from before a fork would share its lock."""
    known: dict[tuple[str, int], _File] = _files.__dict__.setdefault("known", {})
    key = (path, os.getpid())
    if key not in known:
        known[key] = _File(path)
    return known[key]
