"""A Celery worker in a thread of this process, which leaves nothing behind."""

import logging
from contextlib import contextmanager

from celery.contrib.testing.worker import TestWorkController, start_worker
from django.db import connections


class ThreadedWorker(TestWorkController):
    """Closes the database connection of its thread as it ends: nobody else can."""

    def on_stopped(self):
        super().on_stopped()
        connections.close_all()


@contextmanager
def a_worker(app, **options):
    """Run a worker of this app; the root logger, which it sets to errors only, is put back."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    options |= {"WorkController": ThreadedWorker, "perform_ping_check": False}
    try:
        with start_worker(app, **options):
            yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
