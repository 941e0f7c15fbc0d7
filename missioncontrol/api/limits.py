"""How much and how often a caller may send: the limits in `settings`, enforced before a body
is buffered.

Daphne buffers whole bodies before an application hears of them, so its requests ask here
by themselves (`daphne_requests`); other servers hand a body on piece by piece. Counts belong to
this process and its event loop: several web processes together allow that many times as much.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NoReturn

from django.conf import settings

from missioncontrol.errors import BodyTooLarge, TooManyRequests, Unavailable

# POST requests to these addresses are counted, by kind.
LIMITED_PATHS = re.compile(
    r"(?P<turns>/api/v1/(?:runs/[^/]+/turns|hooks/[^/]+)/)$|(?P<runs>/api/v1/runs/)$"
    r"|(?P<otlp>/v1/[a-z]+/?)$|(?P<taps>/api/v1/runs/[^/]+/interventions/)$"
)
# Where a signed-in person may post as much as an agent.
UPLOAD_PATHS = re.compile(r"^/api/v1/recordings/$")
# A limit per key or project, not a rate; it is checked when a run is opened.
OPEN_RUNS = "open_runs"
# Bounded: strangers choose addresses and keys.
MAX_NAMES = 20_000
MINUTE_S = 60.0
RETRY_AFTER_S = 2


class TokenBuckets:
    """A bucket of tokens for each name: a minute's requests at once, then as they refill."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._spent: dict[str, tuple[float, float]] = {}

    def take(self, name: str, tokens: int = 1) -> float:
        """Take tokens; return 0, or if there are too few, the seconds until they are there.

        More than a minute's worth at once can be taken from a full bucket.
        """
        now = self._clock()
        # One pair per name, refilled when it is read: nothing runs in between.
        spent = self._spent_after_refill(*self._spent.get(name, (0.0, now)), now=now)
        if self._per_minute and spent and spent + tokens > self._per_minute:
            return min(spent, spent + tokens - self._per_minute) * MINUTE_S / self._per_minute
        if len(self._spent) >= MAX_NAMES:
            # Drop the names whose minute is over, or else all: there are too many to be agents.
            recent = now - MINUTE_S
            self._spent = {name: kept for name, kept in self._spent.items() if kept[1] > recent}
            if len(self._spent) >= MAX_NAMES:
                self._spent.clear()
        self._spent[name] = (spent + tokens, now)
        return 0.0

    def usage(self) -> dict[str, int]:
        """Return what each name has taken of its minute; a name that took nothing is left out."""
        now = self._clock()
        left = {
            name: self._spent_after_refill(*bucket, now=now)
            for name, bucket in list(self._spent.items())
        }
        return {name: math.ceil(spent) for name, spent in left.items() if spent}

    def _spent_after_refill(self, spent: float, at: float, *, now: float) -> float:
        # Without a limit there is no refill rate: what was taken is forgotten within a minute.
        per_second = (self._per_minute or spent) / MINUTE_S
        return max(spent - (now - at) * per_second, 0.0)


class RateLimiter:
    """Counts requests of each kind by address, then by the credential that the caller sends; once
    its key is known, requests and bytes of its project, and bytes of the key.
    """

    def __init__(
        self,
        by_key: Mapping[str, int],
        by_address: Mapping[str, int],
        by_project: Mapping[str, int] | None = None,
    ) -> None:
        self._by_key = {kind: TokenBuckets(limit) for kind, limit in by_key.items()}
        self._by_address = {kind: TokenBuckets(limit) for kind, limit in by_address.items()}
        self._by_project = {kind: TokenBuckets(limit) for kind, limit in (by_project or {}).items()}
        self.refused: Counter[tuple[str, str]] = Counter()
        """How often each key or project was refused since this process began, by kind and name."""

    def count_request(self, kind: str, *, address: str, key: str) -> None:
        """Count a request.

        Raises:
            TooManyRequests: it is one too many; says how long to wait.
        """
        # The address first: it stops a caller who tries keys, without a bucket for each key tried.
        if wait_s := self._by_address[kind].take(address) or self._by_key[kind].take(key):
            self._refuse(wait_s, kind, key)

    def count_authenticated(self, kind: str | None, size: int, *, key: str, project: str) -> None:
        """Count a request with its body, once its key is known to be valid.

        Raises:
            TooManyRequests: the project has sent too many, or it or the key too many bytes.
        """
        for buckets, name, unit, tokens in (
            (self._by_key, key, "bytes", size),
            (self._by_project, project, "bytes", size),
            (self._by_project, project, kind, 1),
        ):
            if unit in buckets and tokens and (wait_s := buckets[unit].take(name, tokens)):
                self._refuse(wait_s, unit, name)

    def _refuse(self, wait_s: float, kind: str, name: str) -> NoReturn:
        # Bounded: anybody can send an invalid key.
        if len(self.refused) < MAX_NAMES:
            self.refused[kind, name] += 1
        raise TooManyRequests(wait_s=math.ceil(wait_s))

    def usage(self) -> dict[tuple[str, str], int]:
        """Return what each key and project has taken of its minute, by kind and name."""
        every = [*self._by_key.items(), *self._by_project.items()]
        return {(kind, name): n for kind, buckets in every for name, n in buckets.usage().items()}


class ConcurrencyLimit:
    """A limit on the requests under way at once, including those that wait for a thread."""

    def __init__(self, limit: int) -> None:
        self._limit, self._active = limit, 0

    def acquire(self) -> Callable[[], None]:
        """Take a slot; return what gives it back, once.

        Raises:
            Unavailable: there is none.
        """
        # Refused at once: a wait in a longer queue would end in the client's own time-out.
        if self._active >= self._limit:
            raise Unavailable("Too many requests at once.", wait_s=RETRY_AFTER_S)
        self._active += 1
        # Given back once, however often a request reports its end.
        held = [None]

        def release() -> None:
            if held:
                held.pop()
                self._active -= 1

        return release


rate_limiter = RateLimiter(
    {kind: limit for kind, limit in settings.KEY_LIMITS.items() if kind != OPEN_RUNS},
    settings.ADDRESS_LIMITS,
    {kind: limit for kind, limit in settings.PROJECT_LIMITS.items() if kind != OPEN_RUNS},
)

run_openings = ConcurrencyLimit(settings.MOST_OPENINGS)


def kind_of(method: str, path: str) -> str | None:
    """Return the kind that a request is counted as; None if it is not counted."""
    if method != "POST":
        return None
    found = LIMITED_PATHS.match(path)
    return found.lastgroup if found else None


def check_body_size(size: int, *, has_key: bool) -> None:
    """Refuse a body by its length, announced or read so far.

    Raises:
        BodyTooLarge: it is more than this caller may send.
    """
    if size > settings.BODY_LIMIT:
        raise BodyTooLarge(
            f"At most {settings.BODY_LIMIT} bytes per request; send fewer turns at once."
        )
    if size > settings.STRANGER_BODY_LIMIT and not has_key:
        raise BodyTooLarge(
            f"At most {settings.STRANGER_BODY_LIMIT} bytes per request without an agent key."
        )
