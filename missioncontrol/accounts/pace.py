"""How often something may be tried: counted in this process, forgotten after a minute."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable

from missioncontrol.errors import TooManyRequests

WINDOW_S = 60.0


class Pace:
    """At most `most` tries a minute for each name, and `in_all` for all of them together."""

    def __init__(
        self, *, most: int, in_all: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._in_all, self._clock = most, in_all, clock
        self._tries: deque[tuple[float, str]] = deque()
        self._lock = threading.Lock()

    def check(self, name: str) -> None:
        """Count a try.

        Raises:
            TooManyRequests: it is one too many, and is not counted; says how long to wait.
        """
        if not self.may(name):
            raise TooManyRequests(wait_s=self.wait_s(name))

    def wait_s(self, name: str) -> int:
        """Return in how many whole seconds, 1 to 60, a try that was refused would be taken."""
        now = self._clock()
        with self._lock:
            mine = [at for at, tried in self._tries if tried == name]
            blocking = [at for at, _ in list(self._tries)[:1] if len(self._tries) >= self._in_all]
            blocking += mine[:1] if len(mine) >= self._most else []
        free_at = max(blocking, default=now) + WINDOW_S
        return min(max(math.ceil(free_at - now), 1), int(WINDOW_S))

    def may(self, name: str) -> bool:
        """Count a try; False: it is one too many, and is not counted."""
        now = self._clock()
        with self._lock:
            while self._tries and now - self._tries[0][0] > WINDOW_S:
                self._tries.popleft()
            mine = sum(1 for _, tried in self._tries if tried == name)
            if len(self._tries) >= self._in_all or mine >= self._most:
                return False
            self._tries.append((now, name))
            return True
