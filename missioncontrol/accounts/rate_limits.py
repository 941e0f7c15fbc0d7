"""Rate limits: a burst of attempts, then so many a minute; sign-ins ever more slowly.

Counted in the database, so that all web processes share the same counts.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from django.db.models import Q

from missioncontrol.accounts.models import PacedTries, SignInAttempts
from missioncontrol.errors import TooManyRequests
from missioncontrol.sealing import fingerprint

WINDOW = timedelta(minutes=1)
# How far ahead a stored time may be: a window, written by a process whose clock is ahead of ours.
MAX_AHEAD = 2 * WINDOW
# Attempts without a wait: people mistype.
FREE_ATTEMPTS = 5
FIRST_WAIT_S = 2.0
MAX_WAIT_S = 15 * 60.0
# After this rest a guesser has five free attempts an hour, one more than with the longest waits.
RESET_AFTER = timedelta(hours=1)


class RateLimit:
    """At most `per_caller` attempts at once by each caller, and `total` by all of them together.

    A minute without attempts restores them all, and part of a minute the same part of them: the
    generic cell rate algorithm (ITU-T I.371), which stores one time for each caller.
    """

    def __init__(self, name: str, *, per_caller: int, total: int) -> None:
        self._name, self._per_caller, self._total = name, per_caller, total

    def acquire(self, caller: str, *, at: datetime) -> None:
        """Count an attempt.

        Raises:
            TooManyRequests: it is one too many, and is not counted; the error has the time to wait.
        """
        limits = {
            fingerprint(f"{self._name}\n{caller}"): self._per_caller,
            fingerprint(self._name): self._total,
        }
        rows = PacedTries.objects.in_bulk(list(limits))
        for who, row in rows.items():  # both before either counts, so that a flood writes nothing
            _refuse_if_exceeded(limits[who], row, at)
        # A row whose attempts are all restored is not needed. One too far ahead was written
        # before the clock was set back.
        PacedTries.objects.filter(Q(even_at__lt=at) | Q(even_at__gt=at + MAX_AHEAD)).delete()
        for who, limit in limits.items():
            while True:  # of many at once, one counts first and the others try again
                row, _ = PacedTries.objects.get_or_create(who=who, defaults={"even_at": at})
                _refuse_if_exceeded(limit, row, at)
                unchanged = PacedTries.objects.filter(who=who, even_at=row.even_at)
                # Only if nobody counted meanwhile: of two attempts at once, both must count.
                if unchanged.update(even_at=max(_refilled_at(row, at), at) + WINDOW / limit):
                    break

    def try_acquire(self, caller: str, *, at: datetime) -> bool:
        """Count an attempt; False: it is one too many, and is not counted."""
        try:
            self.acquire(caller, at=at)
        except TooManyRequests:
            return False
        return True


def _refilled_at(row: PacedTries, at: datetime) -> datetime:
    """Return when all attempts are restored: now, if the clock was set back since then."""
    return at if row.even_at > at + MAX_AHEAD else row.even_at


def _refuse_if_exceeded(limit: int, row: PacedTries, at: datetime) -> None:
    wait = _refilled_at(row, at) - at - (WINDOW - WINDOW / limit)
    if wait > timedelta():
        raise TooManyRequests(wait_s=math.ceil(wait.total_seconds()))


def count_sign_in_attempt(account: str, address: str, *, at: datetime) -> int:
    """Count an attempt when it begins; return how many there were in a row.

    At its beginning, so that parallel attempts are not free. Never for an account alone, or
    a stranger who guesses somebody's password would lock them out of their own account.

    Raises:
        TooManyRequests: the wait after the last attempt is not over; the error has the time left.
    """
    # Done here, so that no task is needed for it.
    SignInAttempts.objects.filter(free_at__lt=at - RESET_AFTER).delete()
    who = _fingerprint_of(account, address)
    while True:  # of many at once, one counts first and the others try again
        row, _ = SignInAttempts.objects.get_or_create(who=who, defaults={"tries": 0, "free_at": at})
        if row.free_at > at:
            raise TooManyRequests(wait_s=math.ceil((row.free_at - at).total_seconds()))
        attempts = row.tries + 1
        # No wait at first, then twice as long each time. The exponent is bounded: a flood must not
        # make numbers of thousands of digits.
        doubled = min(max(attempts - FREE_ATTEMPTS, 0), 20)
        wait_s = min(FIRST_WAIT_S * 2**doubled, MAX_WAIT_S) if attempts >= FREE_ATTEMPTS else 0.0
        unchanged = SignInAttempts.objects.filter(who=who, tries=row.tries)
        if unchanged.update(tries=attempts, free_at=at + timedelta(seconds=wait_s)):
            return attempts


def clear_sign_in_attempts(account: str, address: str) -> None:
    """Forget the attempts of somebody who has signed in."""
    SignInAttempts.objects.filter(who=_fingerprint_of(account, address)).delete()


def _fingerprint_of(account: str, address: str) -> str:
    return fingerprint(f"{account.casefold()}\n{address}")
