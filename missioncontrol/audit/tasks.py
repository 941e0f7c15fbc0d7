"""Celery tasks of the audit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from celery import shared_task
from django.conf import settings

from missioncontrol.audit import erasing, heads
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.celery import call_in
from missioncontrol.clock import now

# So often, and when its process starts, it looks at runs that nothing happened to lately too.
LOOKED_AT_ALL_EVERY = timedelta(hours=1)
# After the moment that an event is dated: it may wait for its turn to write.
LATEST_COMMIT = timedelta(minutes=10)
_looked_at = _looked_at_all = datetime.min.replace(tzinfo=UTC)
_senders = ThreadPoolExecutor(4, thread_name_prefix="heads")
_being_sent: set[UUID] = set()


@shared_task(ignore_result=True)
def anchor() -> None:
    """Tie the heads of live runs into their projects' chains; every minute."""
    global _looked_at, _looked_at_all  # noqa: PLW0603 - of this process
    at = now()
    # Once the clock was set back, what happens is older than what was looked at last.
    among_all = at - _looked_at_all >= LOOKED_AT_ALL_EVERY or at < _looked_at
    anchor_heads(at=at, since=None if among_all else _looked_at - LATEST_COMMIT)
    _looked_at = at
    if among_all:
        _looked_at_all = at
    if settings.AUDIT_SEND_TO:
        # In threads, as controllers are told; what nobody took is sent again.
        for project_id in heads.filed_projects():
            # A receiver that hangs keeps each for seconds: a line of them would grow each minute.
            if project_id not in _being_sent:
                _being_sent.add(project_id)
                call_in(_senders, partial(_send, project_id))


def _send(project_id: UUID) -> None:
    try:
        heads.send_heads(project_id)
    finally:
        _being_sent.discard(project_id)


@shared_task(ignore_result=True)
def forget_words() -> None:
    """Erase the words of turns that their projects keep no longer; every minute."""
    erasing.erase_old_words(at=now())
