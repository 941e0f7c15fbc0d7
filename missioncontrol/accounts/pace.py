"""How often something may be tried: a burst, then so many a minute; sign-ins ever more slowly.

Counted in the database, so that whichever web process is asked, the same tries count.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from django.db.models import Q

from missioncontrol.accounts.models import PacedTries, SignInAttempts
from missioncontrol.errors import TooManyRequests
from missioncontrol.sealing import fingerprint

WINDOW = timedelta(minutes=1)
# How far ahead a time may lie: a window by whoever counted, whose clock may be ahead of ours.
FURTHEST = 2 * WINDOW
# Tries without a wait: people mistype.
FREE_SIGN_INS = 5
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 15 * 60.0
# A guesser who rests as long has five tries an hour, one more than at the longest wait.
KEPT = timedelta(hours=1)


class Pace:
    """At most `most` tries at once for each name, and `in_all` for all of them together.

    A minute's rest gives them all back, and a part of it as many as are its part: the generic
    cell rate algorithm (ITU-T I.371), which keeps one time for each name.
    """

    def __init__(self, what: str, *, most: int, in_all: int) -> None:
        self._what, self._most, self._in_all = what, most, in_all

    def check(self, name: str, *, at: datetime) -> None:
        """Count a try.

        Raises:
            TooManyRequests: it is one too many, and is not counted; says how long to wait.
        """
        limits = {
            fingerprint(f"{self._what}\n{name}"): self._most,
            fingerprint(self._what): self._in_all,
        }
        known = PacedTries.objects.in_bulk(list(limits))
        for who, row in known.items():  # of both before any counts, and a flood writes nothing
            _refuse_beyond(limits[who], row, at)
        # What is given back counts as never tried; what lies too far ahead was written before the
        # clock was set back.
        PacedTries.objects.filter(Q(even_at__lt=at) | Q(even_at__gt=at + FURTHEST)).delete()
        for who, most in limits.items():
            while True:  # whoever counts first of many at once makes the others look again
                row, _ = PacedTries.objects.get_or_create(who=who, defaults={"even_at": at})
                _refuse_beyond(most, row, at)
                unchanged = PacedTries.objects.filter(who=who, even_at=row.even_at)
                # Only where nobody counted meanwhile: of two tries at once both are to count.
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
    """Return when all tries are back: at once where the clock was set back since they were made."""
    return at if row.even_at > at + FURTHEST else row.even_at


def _refuse_beyond(most: int, row: PacedTries, at: datetime) -> None:
    wait = _even_at(row, at) - at - (WINDOW - WINDOW / most)
    if wait > timedelta():
        raise TooManyRequests(wait_s=math.ceil(wait.total_seconds()))


def count_sign_in(account: str, address: str, *, at: datetime) -> int:
    """Count a try as it begins, so that many at once are not free; return how many in a row.

    Never of an account alone: a stranger who guesses somebody's password would keep them
    out of their own.

    Raises:
        TooManyRequests: the wait after the last one is not over; says how long it is.
    """
    # Here, so that no task is needed for it.
    SignInAttempts.objects.filter(free_at__lt=at - KEPT).delete()
    who = _sign_in_of(account, address)
    while True:  # whoever counts first of many at once makes the others look again
        known, _ = SignInAttempts.objects.get_or_create(
            who=who, defaults={"tries": 0, "free_at": at}
        )
        if known.free_at > at:
            raise TooManyRequests(wait_s=math.ceil((known.free_at - at).total_seconds()))
        tries = known.tries + 1
        # None at first, then twice as long each time. Bounded before it is a power: a flood must
        # not make numbers of thousands of digits.
        doubled = min(max(tries - FREE_SIGN_INS, 0), 20)
        wait_s = min(FIRST_WAIT_S * 2**doubled, LONGEST_WAIT_S) if tries >= FREE_SIGN_INS else 0.0
        unchanged = SignInAttempts.objects.filter(who=who, tries=known.tries)
        if unchanged.update(tries=tries, free_at=at + timedelta(seconds=wait_s)):
            return tries


def forget_sign_ins(account: str, address: str) -> None:
    """Forget the tries of who signed in."""
    SignInAttempts.objects.filter(who=_sign_in_of(account, address)).delete()


def _sign_in_of(account: str, address: str) -> str:
    return fingerprint(f"{account.casefold()}\n{address}")
