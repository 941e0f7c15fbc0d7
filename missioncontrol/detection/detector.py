"""The loop of a detecting process: take a dispatch, judge its runs, answer who asked.

A dispatch is one entry of a list at the broker, taken off it before the work. Nobody
acknowledges it: who sent it sends it again, elsewhere, when no answer comes (`dispatcher`),
and what nobody asks for any more is swept. A task queue would note and strike out each
message at the broker, which costs more than a small detection.
"""

from __future__ import annotations

import json
import logging
import time
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from missioncontrol.detection.tasks import detect_now, judged_reply

logger = logging.getLogger(__name__)

LOOK_UP_S = 1
"""How long one look at the list waits."""
TRY_AGAIN_S = 0.5


class Detector:
    """The one reader of a list of dispatches."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._broker = Redis.from_url(settings.BROKER_URL, retry=Retry(NoBackoff(), 0))
        self._is_working = self._is_ending = False

    def serve(self) -> None:
        """Take dispatches, one after the other, until `end`."""
        while not self._is_ending:
            try:
                taken: Any = self._broker.brpop([self._name], timeout=LOOK_UP_S)
            except (RedisError, OSError) as fault:
                logger.warning("the broker cannot be asked for dispatches: %s", fault)
                time.sleep(TRY_AGAIN_S)
                continue
            if taken is not None:
                self._is_working = True
                self._work(taken[1])
                self._is_working = False

    def end(self, *_: object) -> None:
        """End, once the dispatch in hand is answered: what a signal calls."""
        self._is_ending = True
        if not self._is_working:
            raise SystemExit(0)

    def _work(self, dispatch: bytes) -> None:
        try:
            connection.close_if_unusable_or_obsolete()
            self._answer(**json.loads(dispatch))
        except Exception:
            logger.exception("a dispatch failed; its runs are asked for again")

    def _answer(self, runs: list[str], reply_to: str, number: int) -> None:
        control_states = detect_now([UUID(run_id) for run_id in runs])
        self._broker.publish(reply_to, json.dumps(judged_reply(number, control_states)))
