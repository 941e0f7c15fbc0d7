"""Threads beside a session, off its path: one brings and fetches, one says that it lives.

A killed process cannot say that it was killed; the server misses its beats instead. One thread
beats for all sessions of a process, apart from any event loop: a loop that a tool blocks is no
dead agent. It ends with the last session.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from operator import itemgetter
from typing import Protocol
from weakref import WeakKeyDictionary

from guard.errors import ServerAway, ServerRefused
from guard.sdk.forking import start_afresh_in_children
from guard.sdk.wording import pause_of

logger = logging.getLogger("guard")

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
# The server misses a client that it has not heard of for 45 s.
BEATS_EVERY_S = 20.0
# How long what a closed session still has to bring is tried, and by how many threads at once: a
# process that closes a session a second through an outage must not have one for each.
STAYS_S = 600.0
MOST_STAYING = 8


class BackgroundTask:
    """Runs a task until it succeeds, backing off while the server is away.

    Args:
        task: Does all there is to do; may be repeated. `ServerAway` has it tried
            again later, not before the server wants it, `ServerRefused` not before
            somebody calls anew.
        leave: Called when the background thread has been dismissed and has stopped.
    """

    def __init__(self, task: Callable[[], None], *, leave: Callable[[], None]) -> None:
        self._task = task
        self._leave = leave
        self.start_afresh()
        self._wanted = False
        self._dismissed = False
        self._hurried = False
        self._later_s = 0.0
        self._refused = False
        start_afresh_in_children(self)

    def start_afresh(self) -> None:
        """Forget the thread, which a fork leaves behind."""
        self._lock = threading.Condition()
        self._thread: threading.Thread | None = None
        self._begun = self._ended = 0
        _staying.pop(self, None)

    def call(self, *, later: bool = False, retry_after_s: float | None = None) -> None:
        """Have the task run soon. A task that backs off is not hurried.

        Args:
            later: The server has just been away or busy: not before a first pause,
            retry_after_s: nor before it wants to be asked again.
        """
        with self._lock:
            self._wanted = True
            if later:
                self._later_s = pause_of(FIRST_PAUSE_S, retry_after_s)
            if self._thread is None and not self._dismissed:
                thread = threading.Thread(
                    target=self._work, name="missioncontrol-background", daemon=True
                )
                self._thread = thread
                try:
                    thread.start()
                except RuntimeError:  # the process ends: what waits is on the disk
                    self._thread = None

    def hurry(self, timeout_s: float) -> None:
        """Have it tried now, and wait until it was, at most `timeout_s` seconds.

        A try that is already under way began before whatever the caller knows.
        """
        self.call()
        with self._lock:
            begun, self._hurried = self._begun, True
            self._lock.notify_all()
            self._lock.wait_for(lambda: self._ended > begun or not self._thread, timeout_s)

    def dismiss(self, timeout_s: float, *, last_try: bool) -> None:
        """Let it go, after one last try; one that takes longer ends by itself.

        One that failed is tried again beside a process that lives on, for `STAYS_S` at most: what
        is left to a next session may wait for days.
        """
        if last_try:
            self.hurry(timeout_s)
        with self._lock:
            idle, self._dismissed = self._thread is None, True
            if last_try and not idle and len(_staying) < MOST_STAYING:
                _staying[self] = time.monotonic() + STAYS_S
            self._lock.notify_all()
            self._lock.wait_for(lambda: self._thread is None or self._stays, timeout_s)
        # Else the thread does so, once it has stopped.
        if idle:
            self._leave()

    def _work(self) -> None:
        pause_s = FIRST_PAUSE_S
        while self._goes_on():
            away: ServerAway | None = None
            try:
                self._task()
                self._refused = False
            except ServerAway as error:
                away = error
            except ServerRefused as refused:
                # Once: a revoked key would refuse every turn with the same line.
                if not self._refused:
                    logger.warning("%s; what waits for it is kept", refused)
                self._refused = True
            # The thread's outermost loop: it must not die of one try, nor raise into the agent.
            except Exception:
                logger.exception("delivering to Mission Control failed; the agent goes on")
            with self._lock:
                self._ended += 1
                # Somebody may have called while it was tried: that call counts.
                self._wanted = self._wanted or away is not None
                self._lock.notify_all()
            # Not away: the next outage begins with a short pause again.
            if away is None:
                pause_s = FIRST_PAUSE_S
                continue
            with self._lock:
                self._pause(pause_of(pause_s, away.retry_after_s))
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    def _goes_on(self) -> bool:
        with self._lock:
            if self._later_s:
                later_s, self._later_s = self._later_s, 0.0
                self._pause(later_s)
            self._hurried = False  # a try begins, or none is wanted: no later pause is cut short
            if self._wanted and (self._stays or not self._dismissed):
                self._wanted = False
                self._begun += 1
                return True
            self._thread = None
            _staying.pop(self, None)
            leaves = self._dismissed
            self._lock.notify_all()
        if leaves:
            self._leave()
        return False

    def _pause(self, seconds: float) -> None:
        """Wait with the lock, which is free meanwhile, unless somebody is in a hurry.

        One that stays waits no longer than it may stay, whatever the server asked for.
        """
        until = time.monotonic() + seconds
        while not self._hurried and (self._stays or not self._dismissed):
            left_s = min(until, _staying.get(self, until)) - time.monotonic()
            if left_s <= 0:
                return
            self._lock.wait(left_s)

    @property
    def _stays(self) -> bool:
        return time.monotonic() < _staying.get(self, 0.0)


# Until when, by `time.monotonic`.
_staying: dict[BackgroundTask, float] = {}


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
