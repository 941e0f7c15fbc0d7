"""Only a worker of this installation counts as ready, even on a shared broker."""

from celery import Celery
from django.conf import settings

from missioncontrol.api.views import instance
from tests.workers import a_worker


def test_a_worker_of_another_installation_is_not_ours(monkeypatch):
    monkeypatch.setattr(instance, "WORKER_TIMEOUT_S", 0.3)
    elsewhere = Celery("elsewhere", broker=settings.CELERY_BROKER_URL, set_as_current=False)

    with a_worker(elsewhere):
        assert elsewhere.control.ping(timeout=60, limit=1)
        assert instance.is_worker_ready() is False
