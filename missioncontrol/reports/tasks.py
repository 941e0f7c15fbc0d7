"""Celery tasks of the daily reports."""

from __future__ import annotations

from celery import shared_task
from django.db import connection

from missioncontrol.clock import now
from missioncontrol.reports import daily


@shared_task(ignore_result=True)
def report() -> None:
    """Make the cost reports of days that ended, those missed too; every minute."""
    connection.close_if_unusable_or_obsolete()
    daily.make_due(at=now())


@shared_task(ignore_result=True)
def correct_reports() -> None:
    """Correct the reports whose figures moved since; every quarter of an hour."""
    connection.close_if_unusable_or_obsolete()
    daily.correct_changed(at=now())
