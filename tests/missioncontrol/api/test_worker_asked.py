"""Whether a worker detects, where several installations share one broker."""

from celery import Celery
from celery.contrib.testing.worker import start_worker
from django.conf import settings

from missioncontrol.api.views import operator


def test_a_worker_of_another_installation_is_not_ours():
    elsewhere = Celery("elsewhere", broker=settings.CELERY_BROKER_URL, set_as_current=False)

    with start_worker(elsewhere, perform_ping_check=False):
        assert elsewhere.control.ping(timeout=5, limit=1)
        assert operator.worker() is False
