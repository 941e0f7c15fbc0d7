"""What a forked child must create anew: locks that other threads of its parent may hold.

Only the forking thread exists in the child: nobody there releases another thread's locks.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """Something with locks, threads or files that belong to one process."""

    def reset_after_fork(self) -> None:
        """Let go of what belongs to the parent."""


# Held during late imports and while forking: a child would wait for ever for a module that another
# thread of its parent was importing. Re-entrant, so that an import may fork.
import_lock = threading.RLock()

_known: WeakSet[ForkAware] = WeakSet()


def register_after_fork(forked: ForkAware) -> None:
    """Call its `reset_after_fork` in each child that this process forks, as long as it exists."""
    _known.add(forked)


class ForkSafeLock:
    """A module's lock, free again in a forked child: `with known.lock`."""

    def __init__(self) -> None:
        self.reset_after_fork()
        register_after_fork(self)

    def reset_after_fork(self) -> None:
        """Create a new lock for this process."""
        self.lock = threading.Lock()


def _reset_all_after_fork() -> None:
    import_lock.release()
    for forked in list(_known):
        # If another thread was just closing one's file, the others must get their locks all the
        # same.
        with contextlib.suppress(Exception):
            forked.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=import_lock.acquire,
        after_in_parent=import_lock.release,
        after_in_child=_reset_all_after_fork,
    )
