"""What a forked child must create anew: locks that other threads of its parent may hold.

Only the forking thread exists in the child: nobody there releases another thread's locks.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    """Something with locks, threads or files that belong to one process."""

    def start_afresh(self) -> None:
        """Let go of what belongs to the parent."""


# Held during late imports and while forking: a child would wait for ever for a module that another
# thread of its parent was importing. Re-entrant, so that an import may fork.
importing = threading.RLock()

_known: WeakSet[Forked] = WeakSet()


def start_afresh_in_children(forked: Forked) -> None:
    """Call its `start_afresh` in each child that this process forks, as long as it exists."""
    _known.add(forked)


class ProcessLock:
    """A module's lock, free again in a forked child: `with known.lock`."""

    def __init__(self) -> None:
        self.start_afresh()
        start_afresh_in_children(self)

    def start_afresh(self) -> None:
        """Create a new lock for this process."""
        self.lock = threading.Lock()


def _start_afresh() -> None:
    importing.release()
    for forked in list(_known):
        # If another thread was just closing one's file, the others must get their locks all the
        # same.
        with contextlib.suppress(Exception):
            forked.start_afresh()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=importing.acquire, after_in_parent=importing.release, after_in_child=_start_afresh
    )
