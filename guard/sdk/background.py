"""Background threads of a session: one delivers and fetches, one sends heartbeats.

A killed process cannot report that it was killed; the server notices missing heartbeats instead.
One thread sends them for all sessions of a process. It is independent of any event loop: a loop
that a tool blocks does not mean that the agent is dead. It ends with the last session.
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
from guard.sdk.forking import register_after_fork
from guard.sdk.responses import backoff

logger = logging.getLogger("guard")

FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 30.0
# The server reports a client as gone after 45 s without a request.
HEARTBEAT_INTERVAL_S = 20.0
# For how long a closed session still tries to deliver, and in how many threads at once: a process
# that closes a session each second during an outage must not have a thread for each.
LINGER_S = 600.0
MAX_LINGERING = 8


class BackgroundTask:
    """Runs a task until it succeeds, backing off while the server is away.

    Args:
        task: Does all the work there is; may be repeated. After `ServerAway` it is tried again
            later, not before the server allows it; after `ServerRefused`, only when `schedule` is
            called again.
        on_stopped: Called after `stop`, once the background thread has ended.
    """

    def __init__(self, task: Callable[[], None], *, on_stopped: Callable[[], None]) -> None:
        self._task = task
        self._on_stopped = on_stopped
        self.reset_after_fork()
        self._is_scheduled = False
        self._is_stopping = False
        self._is_hurried = False
        self._first_pause_s = 0.0
        self._was_refused = False
        register_after_fork(self)

    def reset_after_fork(self) -> None:
        """Forget the thread: it does not exist in a forked child."""
        self._lock = threading.Condition()
        self._thread: threading.Thread | None = None
        self._tries_started = self._tries_ended = 0
        _lingering.pop(self, None)

    def schedule(self, *, later: bool = False, retry_after_s: float | None = None) -> None:
        """Run the task soon. A task that backs off is not hurried.

        Args:
            later: The server has just been away or busy: wait for a first pause.
            retry_after_s: Nor run it before this many seconds, which the server asked for.
        """
        with self._lock:
            self._is_scheduled = True
            if later:
                self._first_pause_s = backoff(FIRST_PAUSE_S, retry_after_s)
            if self._thread is None and not self._is_stopping:
                thread = threading.Thread(
                    target=self._run_loop, name="missioncontrol-background", daemon=True
                )
                self._thread = thread
                try:
                    thread.start()
                except RuntimeError:  # the process is ending: what waits is on disk
                    self._thread = None

    def run_now(self, timeout_s: float) -> None:
        """Try now, and wait at most `timeout_s` seconds until the try has ended.

        A try that is already under way does not count: it began before the caller's news.
        """
        self.schedule()
        with self._lock:
            tries_started, self._is_hurried = self._tries_started, True
            self._lock.notify_all()
            self._lock.wait_for(
                lambda: self._tries_ended > tries_started or not self._thread, timeout_s
            )

    def stop(self, timeout_s: float, *, last_try: bool) -> None:
        """Stop after one last try; a try that takes longer ends by itself.

        If the last try failed, it is repeated for at most `LINGER_S` while the process lives:
        otherwise the outbox might wait days for a next session.
        """
        if last_try:
            self.run_now(timeout_s)
        with self._lock:
            idle, self._is_stopping = self._thread is None, True
            if last_try and not idle and len(_lingering) < MAX_LINGERING:
                _lingering[self] = time.monotonic() + LINGER_S
            self._lock.notify_all()
            self._lock.wait_for(lambda: self._thread is None or self._is_lingering, timeout_s)
        # Otherwise the thread calls it, once it has stopped.
        if idle:
            self._on_stopped()

    def _run_loop(self) -> None:
        pause_s = FIRST_PAUSE_S
        while self._start_next_try():
            away: ServerAway | None = None
            try:
                self._task()
                self._was_refused = False
            except ServerAway as error:
                away = error
            except ServerRefused as refused:
                # Logged once: a revoked key would refuse every turn with the same line.
                if not self._was_refused:
                    logger.warning("%s; what waits for it is kept", refused)
                self._was_refused = True
            # The thread's outermost loop: a failed try must not end it, nor raise into the agent.
            except Exception:
                logger.exception("delivering to Mission Control failed; the agent goes on")
            with self._lock:
                self._tries_ended += 1
                # A call made during the try counts: it remains wanted.
                self._is_scheduled = self._is_scheduled or away is not None
                self._lock.notify_all()
            # The server is there: the next outage begins with a short pause again.
            if away is None:
                pause_s = FIRST_PAUSE_S
                continue
            with self._lock:
                self._pause(backoff(pause_s, away.retry_after_s))
            pause_s = min(pause_s * 2, MAX_PAUSE_S)

    def _start_next_try(self) -> bool:
        with self._lock:
            if self._first_pause_s:
                pause_s, self._first_pause_s = self._first_pause_s, 0.0
                self._pause(pause_s)
            self._is_hurried = False  # a try begins, or none is wanted: no later pause is cut short
            if self._is_scheduled and (self._is_lingering or not self._is_stopping):
                self._is_scheduled = False
                self._tries_started += 1
                return True
            self._thread = None
            _lingering.pop(self, None)
            is_stopping = self._is_stopping
            self._lock.notify_all()
        if is_stopping:
            self._on_stopped()
        return False

    def _pause(self, seconds: float) -> None:
        """Wait on the lock, which is released meanwhile, unless somebody is in a hurry.

        After `stop`, the thread never waits beyond its `LINGER_S`, whatever the server asked for.
        """
        until = time.monotonic() + seconds
        while not self._is_hurried and (self._is_lingering or not self._is_stopping):
            left_s = min(until, _lingering.get(self, until)) - time.monotonic()
            if left_s <= 0:
                return
            self._lock.wait(left_s)

    @property
    def _is_lingering(self) -> bool:
        return time.monotonic() < _lingering.get(self, 0.0)


# The deadline of each, by `time.monotonic`.
_lingering: dict[BackgroundTask, float] = {}


class HeartbeatSource(Protocol):
    """A session as the heartbeat thread sees it."""

    def send_heartbeat(self) -> bool:
        """Send a heartbeat; False: the server does not want any more."""


class Heartbeat:
    """Sends a heartbeat for each registered session, at once and then every twenty seconds.

    It keeps no session alive: one that the host dropped sends no more.
    """

    def __init__(self, *, every_s: float = HEARTBEAT_INTERVAL_S) -> None:
        self._every_s = every_s
        self.reset_after_fork()
        register_after_fork(self)

    def reset_after_fork(self) -> None:
        """Forget all sessions: a forked child does not have the thread."""
        self._changed = threading.Condition()
        # Weak references: a session that its host dropped must not stay alive, nor seem to.
        self._next_beat_at: WeakKeyDictionary[HeartbeatSource, float] = WeakKeyDictionary()
        self._thread: threading.Thread | None = None

    def start(self, session: HeartbeatSource) -> None:
        """Send heartbeats for a session from now on."""
        with self._changed:
            # Due at once: the server counts from the first heartbeat, not from the run's opening.
            self._next_beat_at[session] = 0.0
            self._changed.notify()
            if self._thread is None:
                thread = threading.Thread(
                    target=self._run_loop, name="missioncontrol-heartbeat", daemon=True
                )
                try:
                    thread.start()
                except RuntimeError:  # the process ends
                    return
                self._thread = thread

    def stop(self, session: HeartbeatSource) -> None:
        """Send no more heartbeats for a session."""
        with self._changed:
            self._next_beat_at.pop(session, None)
            self._changed.notify()

    def _run_loop(self) -> None:
        while True:
            with self._changed:
                # A copy: a session may be dropped, and leave this dictionary, at any moment.
                next_beats = list(self._next_beat_at.items())
                if not next_beats:
                    self._thread = None
                    return
                session, due_at = min(next_beats, key=itemgetter(1))
                left_s = due_at - time.monotonic()
                if left_s > 0:
                    del session, next_beats  # while we wait, only its host keeps it alive
                    self._changed.wait(left_s)
                    continue
                # Set before the heartbeat: one that is slow or fails must not be followed by
                # another at once.
                self._next_beat_at[session] = time.monotonic() + self._every_s
                del next_beats
            try:
                is_wanted = session.send_heartbeat()
            except Exception:
                logger.exception("a sign of life failed; the agent goes on")
                is_wanted = True
            if not is_wanted:
                self.stop(session)
            del session


# One for this process.
heartbeat = Heartbeat()
