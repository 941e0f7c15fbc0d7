"""A thread that brings and fetches, off the caller's path; none where there is nothing to do."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable

from guard.errors import ServerAway, ServerRefused

logger = logging.getLogger("guard")

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0


class Courier:
    """Runs an errand until it succeeds, backing off while the server is away.

    Args:
        errand: Does all there is to do; may be repeated. `ServerAway` has it tried
            again later, `ServerRefused` not before somebody calls anew.
        leave: Called when the courier is dismissed and has stopped.
    """

    def __init__(self, errand: Callable[[], None], *, leave: Callable[[], None]) -> None:
        self._errand = errand
        self._leave = leave
        self._lock = threading.Condition()
        self._thread: threading.Thread | None = None
        self._wanted = False
        self._dismissed = False
        self._hurried = False
        self._tries = 0
        self._refused = False

    def call(self) -> None:
        """Have the errand run soon. A courier that backs off is not hurried."""
        with self._lock:
            self._wanted = True
            alive = self._thread is not None and self._thread.is_alive()  # a fork leaves it behind
            if not alive and not self._dismissed:
                self._start()

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name="missioncontrol-courier", daemon=True)
        self._thread = thread
        try:
            thread.start()
        except RuntimeError:  # the process ends: what waits is on the disk
            self._thread = None

    def hurry(self, timeout_s: float) -> None:
        """Have it tried now, and wait until it was, at most `timeout_s` seconds."""
        self.call()
        with self._lock:
            before, self._hurried = self._tries, True
            self._lock.notify_all()
            self._lock.wait_for(lambda: self._tries > before or not self._thread, timeout_s)

    def dismiss(self, timeout_s: float, *, last_try: bool) -> None:
        """Let it go, after one last try; one that takes longer ends by itself."""
        if last_try:
            self.hurry(timeout_s)
        with self._lock:
            idle, self._dismissed = self._thread is None, True
            self._lock.notify_all()
            self._lock.wait_for(lambda: self._thread is None, timeout_s)
        if idle:
            self._leave()

    def _work(self) -> None:
        pause_s = FIRST_PAUSE_S
        while self._goes_on():
            if self._tried():
                pause_s = FIRST_PAUSE_S
                continue
            self._wait(pause_s * random.uniform(0.8, 1.2))  # noqa: S311 - to spread callers
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    def _goes_on(self) -> bool:
        with self._lock:
            if self._wanted and not self._dismissed:
                self._wanted = False
                return True
            self._thread = None
            leaves = self._dismissed
            self._lock.notify_all()
        if leaves:
            self._leave()
        return False

    def _tried(self) -> bool:
        """Try once; False: it must be tried again."""
        done = True
        try:
            self._errand()
            self._refused = False
        except ServerAway:
            done = False
        except ServerRefused as refused:
            self._say_refused(refused)
        except Exception:
            logger.exception("delivering to Mission Control failed; the agent goes on")
        with self._lock:
            self._tries += 1
            self._wanted = self._wanted or not done
            self._lock.notify_all()
        return done

    def _say_refused(self, refused: ServerRefused) -> None:
        if not self._refused:
            logger.warning("%s; what waits for it is kept", refused)
        self._refused = True

    def _wait(self, seconds: float) -> None:
        with self._lock:
            self._lock.wait_for(lambda: self._hurried or self._dismissed, seconds)
            self._hurried = False
