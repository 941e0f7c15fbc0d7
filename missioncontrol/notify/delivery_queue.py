"""Queue deliveries for a worker; what the broker loses is swept up."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from missioncontrol.celery import app

logger = logging.getLogger(__name__)

DELIVER = "missioncontrol.notify.tasks.deliver"


def enqueue(delivery_ids: Sequence[str]) -> None:
    """Have these deliveries made, without waiting."""
    try:
        app.send_task(DELIVER, args=(list(delivery_ids),), retry=False, ignore_result=True)
    except Exception as fault:  # noqa: BLE001 - the broker is away: it is swept up
        logger.warning("queueing deliveries failed: %s", fault)
