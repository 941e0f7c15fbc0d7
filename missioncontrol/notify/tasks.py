"""Celery tasks that claim what is due and deliver it, without delaying verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID

from celery import shared_task
from django.conf import settings

from missioncontrol.celery import run_in_pool
from missioncontrol.clock import now
from missioncontrol.notify import outbox

# Each thread waits on the network nearly all of its time.
_pool = ThreadPoolExecutor(8, thread_name_prefix="deliver")


@shared_task(ignore_result=True)
def deliver(delivery_ids: Sequence[str]) -> None:
    """Deliver these now, as far as they are due and unclaimed."""
    _submit([UUID(delivery_id) for delivery_id in delivery_ids])


@shared_task(ignore_result=True)
def sweep() -> None:
    """Deliver what is due: a lost message, another try, a later step; runs every 2 s."""
    _submit(None)


@shared_task(ignore_result=True)
def prune() -> None:
    """Delete old deliveries, unless they are kept forever; runs every 15 min."""
    if settings.KEEP_DELIVERIES is not None:
        outbox.prune(at=now(), keep=settings.KEEP_DELIVERIES)


def _submit(delivery_ids: Sequence[UUID] | None) -> None:
    """Claim deliveries and hand them to threads of this process."""
    # Claimed first: what was queued twice, or found by a sweep too, is sent once.
    for delivery_id in outbox.claim(at=now(), ids=delivery_ids):
        run_in_pool(_pool, partial(_deliver, delivery_id))


def _deliver(delivery_id: UUID) -> None:
    outbox.deliver(delivery_id, at=now())  # the time when a thread is free
