"""A thread that says again and again: this process lives, and its sessions with it.

A killed process cannot say that it was killed; the server misses it instead. One thread
serves all sessions of a process, apart from any event loop: a loop that a tool blocks is
no dead agent. It ends with the last session.
"""

from __future__ import annotations

import logging
import threading
import time
from operator import itemgetter
from typing import Protocol
from weakref import WeakKeyDictionary

from guard.sdk.forking import start_afresh_in_children

logger = logging.getLogger("guard")

# The server misses a client that it has not heard of for 45 s.
BEATS_EVERY_S = 20.0


class Living(Protocol):
    """A session, as the heartbeat knows it."""

    def beat(self) -> bool:
        """Say that it lives; False: nobody wants to hear it again."""


class Heartbeat:
    """Beats for each session it was given, at once and then every twenty seconds.

    It holds nobody: a session that the host dropped beats no more.
    """

    def __init__(self, *, every_s: float = BEATS_EVERY_S) -> None:
        self._every_s = every_s
        self.start_afresh()
        start_afresh_in_children(self)

    def start_afresh(self) -> None:
        """Forget all: a fork takes no thread along."""
        self._changed = threading.Condition()
        # Weak: a session that its host forgot must not live on, and seem to.
        self._due: WeakKeyDictionary[Living, float] = WeakKeyDictionary()
        self._thread: threading.Thread | None = None

    def start(self, session: Living) -> None:
        """Beat for a session from now on."""
        with self._changed:
            # Due at once: the server counts from the first sign, not from the run's opening.
            self._due[session] = 0.0
            self._changed.notify()
            if self._thread is None:
                thread = threading.Thread(
                    target=self._work, name="missioncontrol-heartbeat", daemon=True
                )
                try:
                    thread.start()
                except RuntimeError:  # the process ends
                    return
                self._thread = thread

    def stop(self, session: Living) -> None:
        """Beat for it no more."""
        with self._changed:
            self._due.pop(session, None)
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                # A copy: a session that is dropped leaves this dictionary at any moment.
                due = list(self._due.items())
                if not due:
                    self._thread = None
                    return
                session, due_at = min(due, key=itemgetter(1))
                left_s = due_at - time.monotonic()
                if left_s > 0:
                    del session, due  # while we wait, only its host holds it
                    self._changed.wait(left_s)
                    continue
                # Before it beats: a beat that takes its time, or fails, is not followed by
                # another at once.
                self._due[session] = time.monotonic() + self._every_s
                del due
            try:
                goes_on = session.beat()
            except Exception:
                logger.exception("a sign of life failed; the agent goes on")
                goes_on = True
            if not goes_on:
                self.stop(session)
            del session


# This process's own.
heartbeat = Heartbeat()
