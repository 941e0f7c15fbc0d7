"""When a delivery is tried again: later each time, and not for ever."""

from __future__ import annotations

from datetime import datetime, timedelta

# The last one comes some ten minutes after the first: a longer outage is told of as failed.
MOST_TRIES = 8
FIRST_PAUSE = timedelta(seconds=5)
# Longer than the longest try (`chat.LONGEST_CALL_S`): nobody sends beside one under way.
LEASE = timedelta(seconds=60)
"""How long what was handed to a worker is left alone."""


def next_try(tries: int, at: datetime) -> datetime:
    """Return when to try again after so many tries.

    >>> noon = datetime(2026, 11, 21, 12)
    >>> [(next_try(tries, noon) - noon).seconds for tries in (1, 2, 3, 7)]
    [5, 10, 20, 320]
    """
    # Twice as long each time: whoever is down is not kept down by us.
    return at + FIRST_PAUSE * (1 << tries - 1)
