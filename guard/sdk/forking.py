"""What a forked child starts afresh: locks that other threads of its parent may have taken.

Only the thread that forks goes on in the child: what another one had is opened by nobody there.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    """What has locks, threads or files that are its process's own."""

    def start_afresh(self) -> None:
        """Let go of what is the parent's."""


# Held while a module is imported late, and by who forks: a child would wait for ever for one that
# another thread of its parent was just importing. Re-entrant, for who forks meanwhile itself.
importing = threading.RLock()

_known: WeakSet[Forked] = WeakSet()


def start_afresh_in_children(forked: Forked) -> None:
    """Have it start afresh in each child that this process forks, as long as it lives."""
    _known.add(forked)


class ProcessLock:
    """A module's lock, which is free in a child: `with known.lock`."""

    def __init__(self) -> None:
        self.start_afresh()
        start_afresh_in_children(self)

    def start_afresh(self) -> None:
        """Take a lock that is this process's own."""
        self.lock = threading.Lock()


def _start_afresh() -> None:
    importing.release()
    for forked in list(_known):
        # One whose file another thread was just closing must not cost the others their locks.
        with contextlib.suppress(Exception):
            forked.start_afresh()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=importing.acquire, after_in_parent=importing.release, after_in_child=_start_afresh
    )
