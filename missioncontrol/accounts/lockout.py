"""Who guesses waits longer each time; whoever signs in from elsewhere does not."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from missioncontrol.errors import TooManyRequests

FREE = 5
"""Tries without a wait: people mistype."""
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 15 * 60.0
MOST_KEPT = 20_000


class Lockout:
    """Counts tries in a row of an account from an address, in this process.

    Never of an account alone: a stranger who guesses somebody's password would keep them
    out of their own. Each try counts as it begins, so that many at once are not free.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tries: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, account: str, address: str) -> int:
        """Count a try; return how many in a row that is.

        Raises:
            TooManyRequests: the wait after the last one is not over; says how long it is.
        """
        key, now = (account.casefold(), address), self._clock()
        with self._lock:
            count, free_at = self._tries.pop(key, (0, now))
            if free_at > now:
                self._keep(key, count, free_at)
                raise TooManyRequests(wait_s=math.ceil(free_at - now))
            self._keep(key, count + 1, now + _wait_after(count + 1))
        return count + 1

    def succeeded(self, account: str, address: str) -> None:
        """Forget the tries of who signed in."""
        with self._lock:
            self._tries.pop((account.casefold(), address), None)

    def _keep(self, key: tuple[str, str], count: int, free_at: float) -> None:
        self._tries[key] = (count, free_at)
        if len(self._tries) > MOST_KEPT:
            self._tries.popitem(last=False)


def _wait_after(tries: int) -> float:
    """Return the seconds until the next try: none at first, then twice as long each time.

    >>> [_wait_after(tries) for tries in (1, 4, 5, 6, 7, 60)]
    [0.0, 0.0, 2.0, 4.0, 8.0, 900.0]
    """
    doubled = min(max(tries - FREE, 0), 20)
    return min(FIRST_WAIT_S * 2**doubled, LONGEST_WAIT_S) if tries >= FREE else 0.0
