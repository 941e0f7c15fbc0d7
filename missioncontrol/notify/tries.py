"""What came of a try to deliver, and when there is another: later each time, and not for ever."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

# The last one comes some ten minutes after the first: a longer outage is told of as failed.
MOST_TRIES = 8
FIRST_PAUSE = timedelta(seconds=5)
# How long what was handed to a worker is left alone.
# Longer than the longest try (`chat.LONGEST_CALL_S`): nobody sends beside one under way.
LEASE = timedelta(seconds=60)
# Not 408, 425, 429 and 5xx: those may pass.
FINAL_STATUSES = frozenset({400, 401, 403, 404, 405, 410, 413})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`failure`: why it was not taken, in clear words and without the address; None: it was."""

    failure: str | None = None
    is_final: bool = False
    """It would fail the same way again: no further try."""
    is_gone: bool = False
    """The target itself is no more: a subscription that ended is removed."""


SENT = Outcome()


def of_status(status: int) -> Outcome:
    """Read an HTTP status: taken, refused for good, or worth another try."""
    if 200 <= status < 300:  # noqa: PLR2004 - successes
        return SENT
    return Outcome(failure=f"it answered {status}", is_final=status in FINAL_STATUSES)


def next_try(tries: int, at: datetime) -> datetime:
    """Return when to try again after so many tries.

    >>> noon = datetime(2026, 11, 21, 12)
    >>> [(next_try(tries, noon) - noon).seconds for tries in (1, 2, 3, 7)]
    [5, 10, 20, 320]
    """
    # Twice as long each time: whoever is down is not kept down by us.
    return at + FIRST_PAUSE * (1 << tries - 1)
