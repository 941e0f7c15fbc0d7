"""Who guesses waits longer each time; whoever signs in from elsewhere does not.

Counted in the database, so that whichever web process is asked, the same guesses count.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from missioncontrol.accounts.models import SignInAttempts
from missioncontrol.errors import TooManyRequests
from missioncontrol.sealing import fingerprint

# Tries without a wait: people mistype.
FREE = 5
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 15 * 60.0
# A guesser who rests as long has five tries an hour, one more than at the longest wait.
KEPT = timedelta(hours=1)


def begin(account: str, address: str, *, at: datetime) -> int:
    """Count a try as it begins, so that many at once are not free; return how many in a row.

    Never of an account alone: a stranger who guesses somebody's password would keep them
    out of their own.

    Raises:
        TooManyRequests: the wait after the last one is not over; says how long it is.
    """
    # Here, so that no task is needed for it.
    SignInAttempts.objects.filter(free_at__lt=at - KEPT).delete()
    who = _who(account, address)
    while True:  # whoever counts first of many at once makes the others look again
        known, _ = SignInAttempts.objects.get_or_create(
            who=who, defaults={"tries": 0, "free_at": at}
        )
        if known.free_at > at:
            raise TooManyRequests(wait_s=math.ceil((known.free_at - at).total_seconds()))
        tries = known.tries + 1
        # None at first, then twice as long each time. Bounded before it is a power: a flood must
        # not make numbers of thousands of digits.
        doubled = min(max(tries - FREE, 0), 20)
        wait_s = min(FIRST_WAIT_S * 2**doubled, LONGEST_WAIT_S) if tries >= FREE else 0.0
        unchanged = SignInAttempts.objects.filter(who=who, tries=known.tries)
        if unchanged.update(tries=tries, free_at=at + timedelta(seconds=wait_s)):
            return tries


def succeeded(account: str, address: str) -> None:
    """Forget the tries of who signed in."""
    SignInAttempts.objects.filter(who=_who(account, address)).delete()


def _who(account: str, address: str) -> str:
    return fingerprint(f"{account.casefold()}\n{address}")
