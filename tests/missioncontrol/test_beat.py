"""Beat has the periodic tasks done, whatever becomes of the clock."""

from datetime import timedelta

from celery.beat import Service
from celery.signals import beat_init

from missioncontrol.celery import app
from missioncontrol.clock import now


def test_beat_goes_on_while_the_clock_is_set_back(monkeypatch):
    beat = Service(app, scheduler_cls="celery.beat.Scheduler")
    sweep = beat.scheduler.schedule["sweep"]
    beat_init.send(beat)

    monkeypatch.setattr(app, "now", lambda: now() - timedelta(hours=1))

    assert sweep.is_due().next <= 2
