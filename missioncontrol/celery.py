"""The Celery application. Workers run detection; the broker only carries messages."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click
from celery import Celery, Task
from celery.signals import beat_init, task_prerun
from django.db import connection

from missioncontrol.clock import now

if TYPE_CHECKING:
    from celery.beat import Service

logger = logging.getLogger(__name__)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "missioncontrol.settings")
# Set if the `celery` command loads us: a worker without a role would make a secret of its own, and
# sign what nobody can verify.
_command = click.get_current_context(silent=True)
if _command and _command.invoked_subcommand in {"worker", "beat"}:
    os.environ.setdefault("MISSIONCONTROL_ROLE", _command.invoked_subcommand)

app = Celery("missioncontrol")
app.config_from_object("django.conf:settings", namespace="CELERY")
# Celery's Django fixup closes the connection around every task. Without that a verdict takes 4.5 ms
# on PostgreSQL instead of 28. Only stale connections are dropped (`drop_stale_connection`).
app.conf.CELERY_DB_REUSE_MAX = 1_000_000
app.autodiscover_tasks()


@task_prerun.connect
def drop_stale_connection(sender: Task[..., Any], **_: object) -> None:
    """Before each task, drop a database connection that the last one lost."""
    # A task called within somebody's transaction must leave that connection open.
    if not sender.request.is_eager:
        connection.close_if_unusable_or_obsolete()


def enqueue(task: str, argument: object) -> None:
    """Queue a task with its argument; the sweep makes up for a message that the broker loses."""
    try:
        # Without retries: with the broker away, each would keep a request or a verdict waiting.
        app.send_task(task, (argument,), retry=False)
    except Exception as fault:  # noqa: BLE001 - the broker is away: it is swept up
        logger.warning("queueing %s failed: %s", task, fault)


def run_in_pool(pool: ThreadPoolExecutor, call: Callable[[], object]) -> None:
    """Have a thread of this process make a call that may take long.

    Neither verdicts nor the sweep wait for it. Work that dies with this process was claimed only
    for a while, and can be claimed by anybody after that.
    """

    def run() -> None:
        try:
            call()
        except Exception:
            logger.exception("%s failed", call)
        finally:
            # No request or task ends in this thread, so nobody else closes its connection.
            connection.close()

    pool.submit(run)


@beat_init.connect
def use_monotonic_clock(sender: Service, **_: object) -> None:
    """Keep beat running when the clock is set back: otherwise it would sleep for that long."""
    booted_at = now() - timedelta(seconds=time.monotonic())

    def steady_now() -> datetime:
        return booted_at + timedelta(seconds=time.monotonic())

    for entry in sender.scheduler.schedule.values():
        entry.schedule.nowfun = steady_now  # type: ignore[union-attr]  # every entry has one
