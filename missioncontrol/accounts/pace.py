"""How often something may be tried: a burst, then so many a minute.

Counted in the database, so that whichever web process is asked, the same tries count.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from django.db.models import Q

from missioncontrol.accounts.models import PacedTries
from missioncontrol.errors import TooManyRequests
from missioncontrol.sealing import fingerprint

WINDOW = timedelta(minutes=1)
# How far ahead a time may lie: a window by whoever counted, whose clock may be ahead of ours.
FURTHEST = 2 * WINDOW


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
