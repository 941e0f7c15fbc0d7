"""Celery tasks of the daily reports."""

from __future__ import annotations

from celery import shared_task

from missioncontrol.clock import now
from missioncontrol.reports import daily


@shared_task(ignore_result=True)
def report() -> None:
    """Make the cost reports of days that ended, including missed ones; every minute."""
    daily.make_due_reports(at=now())


@shared_task(ignore_result=True)
def correct_reports() -> None:
    """Correct the reports whose figures changed since; every quarter of an hour."""
    daily.correct_changed_reports(at=now())
