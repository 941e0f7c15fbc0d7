"""Celery tasks: keep the words of runs findable."""

from __future__ import annotations

import time

from celery import shared_task

from missioncontrol.clock import now
from missioncontrol.history.catching_up import News, index_slice
from missioncontrol.runs.selectors import unjudged_runs

# Of every second, at most; the worker is there to detect.
BUSY_S = 0.25


# Of this process: each worker remembers how far it has looked itself.
_news = News()


# Not late: one that is lost is made up for by the next, a second later.
@shared_task(ignore_result=True, acks_late=False)
def index() -> None:
    """Index what came since, for a quarter of a second; every second. What is left waits.

    While turns wait to be judged it is one slice a second: about 2 % of a process.
    """
    until = time.monotonic() + BUSY_S
    while index_slice(at=now(), news=_news) and time.monotonic() < until:
        # An agent waits for a verdict; nobody waits for words.
        if unjudged_runs(told_before=now()):
            break
