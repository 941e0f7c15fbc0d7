"""Celery tasks of the audit."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

from celery import shared_task
from django.conf import settings
from django.db import connection

from missioncontrol.audit import heads, retention
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.clock import now

logger = logging.getLogger(__name__)

_senders = ThreadPoolExecutor(4, thread_name_prefix="heads")


@shared_task(ignore_result=True)
def anchor() -> None:
    """Tie the heads of live runs into their projects' chains; every minute."""
    connection.close_if_unusable_or_obsolete()
    anchor_heads(at=now())
    if settings.AUDIT_SEND_TO:
        _senders.submit(_send_heads)


@shared_task(ignore_result=True)
def forget_words() -> None:
    """Erase the words of turns that their projects keep no longer; every minute."""
    connection.close_if_unusable_or_obsolete()
    retention.erase_old_words(at=now())


def _send_heads() -> None:
    """Send heads out in a thread, as controllers are told; what nobody took is sent again."""
    for project_id in heads.filed_projects():
        try:
            heads.send_heads(project_id)
        except Exception:
            logger.exception("sending the heads of project %s failed", project_id)
