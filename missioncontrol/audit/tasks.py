"""Celery tasks of the audit log."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from celery import shared_task
from django.conf import settings

from missioncontrol.audit import anchors, erasing
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.celery import run_in_pool
from missioncontrol.clock import now

# How often, and at the start of its process, it looks at all runs, even without recent events.
LOOKED_AT_ALL_EVERY = timedelta(hours=1)
# The longest time between an event's date and its commit, which may wait for its turn to write.
LATEST_COMMIT = timedelta(minutes=10)
_looked_at = _looked_at_all = datetime.min.replace(tzinfo=UTC)
_senders = ThreadPoolExecutor(4, thread_name_prefix="heads")
_being_sent: set[UUID] = set()


@shared_task(ignore_result=True)
def anchor() -> None:
    """Tie the heads of live runs into their projects' chains; every minute."""
    global _looked_at, _looked_at_all  # noqa: PLW0603 - of this process
    at = now()
    # If the clock was set back, new events are older than those of the last look.
    among_all = at - _looked_at_all >= LOOKED_AT_ALL_EVERY or at < _looked_at
    anchor_heads(at=at, since=None if among_all else _looked_at - LATEST_COMMIT)
    _looked_at = at
    if among_all:
        _looked_at_all = at
    if settings.AUDIT_SEND_TO:
        # In threads, as webhooks of controllers are; what was not accepted is sent again.
        for project_id in anchors.filed_projects():
            # A receiver that hangs blocks a thread for seconds: a queue of calls to it would only
            # grow.
            if project_id not in _being_sent:
                _being_sent.add(project_id)
                run_in_pool(_senders, partial(_send, project_id))


def _send(project_id: UUID) -> None:
    try:
        anchors.send_heads(project_id)
    finally:
        _being_sent.discard(project_id)


@shared_task(ignore_result=True)
def forget_words() -> None:
    """Erase the words of turns that their projects keep no longer; every minute."""
    erasing.erase_old_words(at=now())
