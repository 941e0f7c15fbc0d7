"""How often something may be tried: a burst, then so many a minute; sign-ins ever more slowly.

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
FURTHEST = 2 * WINDOW
# Tries without a wait: people mistype.
FREE_SIGN_INS = 5
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 15 * 60.0
# After this rest a guesser has five free tries an hour, one more than with the longest waits.
KEPT = timedelta(hours=1)


class Pace:
    """At most `most` tries at once for each name, and `in_all` for all of them together.

    A minute without tries restores them all, and part of a minute the same part of them: the
    generic cell rate algorithm (ITU-T I.371), which stores one time for each name.
    """

    def __init__(self, what: str, *, most: int, in_all: int) -> None:
        self._what, self._most, self._in_all = what, most, in_all

    def check(self, name: str, *, at: datetime) -> None:
        """Count a try.

        Raises:
            TooManyRequests: it is one too many, and is not counted; the error has the time to wait.
        """
        limits = {
            fingerprint(f"{self._what}\n{name}"): self._most,
            fingerprint(self._what): self._in_all,
        }
        known = PacedTries.objects.in_bulk(list(limits))
        for who, row in known.items():  # both before either counts, so that a flood writes nothing
            _refuse_beyond(limits[who], row, at)
        # A row whose tries are all restored is not needed. One too far ahead was written before the
        # clock was set back.
        PacedTries.objects.filter(Q(even_at__lt=at) | Q(even_at__gt=at + FURTHEST)).delete()
        for who, most in limits.items():
            while True:  # of many at once, one counts first and the others try again
                row, _ = PacedTries.objects.get_or_create(who=who, defaults={"even_at": at})
                _refuse_beyond(most, row, at)
                unchanged = PacedTries.objects.filter(who=who, even_at=row.even_at)
                # Only if nobody counted meanwhile: of two tries at once, both must count.
                if unchanged.update(even_at=max(_even_at(row, at), at) + WINDOW / most):
                    break

    def may(self, name: str, *, at: datetime) -> bool:
        """Count a try; False: it is one too many, and is not counted."""
        try:
            self.check(name, at=at)
        except TooManyRequests:
            return False
        return True


def _even_at(row: PacedTries, at: datetime) -> datetime:
    """Return when all tries are restored: now, if the clock was set back since they were made."""
    return at if row.even_at > at + FURTHEST else row.even_at


def _refuse_beyond(most: int, row: PacedTries, at: datetime) -> None:
    wait = _even_at(row, at) - at - (WINDOW - WINDOW / most)
    if wait > timedelta():
        raise TooManyRequests(wait_s=math.ceil(wait.total_seconds()))


def count_sign_in(account: str, address: str, *, at: datetime) -> int:
    """Count a try when it begins, so that parallel tries are not free; return how many in a row.

    Never for an account alone, or a stranger who guesses somebody's password would lock them
    out of their own account.

    Raises:
        TooManyRequests: the wait after the last try is not over; the error has the time left.
    """
    # Done here, so that no task is needed for it.
    SignInAttempts.objects.filter(free_at__lt=at - KEPT).delete()
    who = _sign_in_of(account, address)
    while True:  # of many at once, one counts first and the others try again
        known, _ = SignInAttempts.objects.get_or_create(
            who=who, defaults={"tries": 0, "free_at": at}
        )
        if known.free_at > at:
            raise TooManyRequests(wait_s=math.ceil((known.free_at - at).total_seconds()))
        tries = known.tries + 1
        # No wait at first, then twice as long each time. The exponent is bounded: a flood must not
        # make numbers of thousands of digits.
        doubled = min(max(tries - FREE_SIGN_INS, 0), 20)
        wait_s = min(FIRST_WAIT_S * 2**doubled, LONGEST_WAIT_S) if tries >= FREE_SIGN_INS else 0.0
        unchanged = SignInAttempts.objects.filter(who=who, tries=known.tries)
        if unchanged.update(tries=tries, free_at=at + timedelta(seconds=wait_s)):
            return tries


def forget_sign_ins(account: str, address: str) -> None:
    """Forget the tries of somebody who has signed in."""
    SignInAttempts.objects.filter(who=_sign_in_of(account, address)).delete()


def _sign_in_of(account: str, address: str) -> str:
    return fingerprint(f"{account.casefold()}\n{address}")
