"""The outermost loop of a worker: one failure must stay one failure."""

import os
import subprocess
import sys
import threading
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import close_old_connections, connection

from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.detection import tasks
from missioncontrol.runs import journal
from missioncontrol.runs.models import JournalRow, Run, RunMeters
from tests.build import NOON, a_call, a_run, put
from tests.installations import ROOT

ASK_WHICH_BROKER = """
import django
django.setup()
from missioncontrol.detection import tasks
print(tasks.detect.app.main, tasks.detect.app.conf.broker_url)
"""


@pytest.mark.django_db
def test_a_run_that_cannot_be_judged_does_not_keep_another_from_it(project):
    broken, sound = a_run(project), a_run(project)
    for run in (broken, sound):
        put(run, a_call("ls"))
    Run.objects.filter(pk=broken.pk).update(budget={"usd": "no sum"})

    control_states = tasks.detect_now([broken.id, sound.id])

    assert set(control_states) == {sound.id}
    assert control_states[sound.id].detected_obs == 1


@pytest.mark.django_db
def test_the_sweeper_leaves_recent_turns_to_the_runs_own_detector(project):
    run = a_run(project)
    put(run, a_call("ls"), at=NOON)

    tasks._judge_unjudged_runs(at=NOON + timedelta(seconds=1))
    assert Run.objects.get(pk=run.pk).meters.detected_obs == 0

    tasks._judge_unjudged_runs(at=NOON + timedelta(seconds=3))
    assert Run.objects.get(pk=run.pk).meters.detected_obs == 1


@pytest.mark.django_db
def test_the_sweeper_includes_runs_that_ended_long_ago_once_a_minute(project, monkeypatch):
    monkeypatch.setattr(tasks, "_full_sweep_at", NOON + timedelta(minutes=30))
    recent, old = a_run(project), a_run(project)
    for run, ago in ((recent, timedelta(minutes=5)), (old, timedelta(days=2))):
        put(run, a_call("ls"), at=NOON - ago)
        Run.objects.filter(pk=run.pk).update(status="terminated", ended_at=NOON - ago)

    def judged():
        return set(RunMeters.objects.filter(detected_obs=1).values_list("pk", flat=True))

    tasks._judge_unjudged_runs(at=NOON + timedelta(minutes=30, seconds=50))
    assert judged() == {recent.id}

    tasks._judge_unjudged_runs(at=NOON + timedelta(minutes=31))
    assert judged() == {recent.id, old.id}


@pytest.mark.django_db
def test_the_sweeper_includes_all_runs_after_the_clock_was_set_back(project, monkeypatch):
    monkeypatch.setattr(tasks, "_full_sweep_at", NOON + timedelta(hours=1))
    old = a_run(project)
    put(old, a_call("ls"), at=NOON - timedelta(days=2))
    Run.objects.filter(pk=old.pk).update(status="terminated", ended_at=NOON - timedelta(days=2))

    tasks._judge_unjudged_runs(at=NOON)

    assert Run.objects.get(pk=old.pk).meters.detected_obs == 1


@pytest.mark.django_db(transaction=True)
def test_anchoring_and_journalling_do_not_deadlock(project):
    """On PostgreSQL an event's foreign key reads the project's row at commit."""
    run = a_run(project)
    faults: list[BaseException] = []

    def anchor():
        close_old_connections()
        try:
            anchor_heads(at=NOON)
        except Exception as fault:  # noqa: BLE001 - told below
            faults.append(fault)
        finally:
            connection.close()

    anchoring = threading.Thread(target=anchor)
    with journal.lock_runs([run.id], at=NOON) as tx:
        anchoring.start()
        anchoring.join(1.0)  # it has the project's row now, and waits for the run's
        tx.record_state(tx.run(run.id), by="ana", reason="renamed")
    anchoring.join(60)

    assert not anchoring.is_alive()
    assert faults == []
    assert JournalRow.objects.filter(type="chain.anchored").count() == 1


def test_a_process_that_only_imports_the_tasks_dispatches_through_our_broker():
    """A web process must not depend on somebody having asked it for /readyz first."""
    printed = subprocess.run(
        [
            sys.executable,
            "-c",
            ASK_WHICH_BROKER,
        ],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "missioncontrol.settings"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.split()

    assert printed == ["missioncontrol", settings.CELERY_BROKER_URL]


def test_the_listening_time_restarts_after_a_pause_of_sweeps():
    ears = tasks._ListeningClock()

    assert ears.listening_since(NOON) == NOON
    assert ears.listening_since(NOON + timedelta(seconds=20)) == NOON
    woken = NOON + timedelta(hours=8)
    assert ears.listening_since(woken) == woken


def test_the_listening_time_restarts_after_the_clock_was_set_back():
    ears = tasks._ListeningClock()
    ears.listening_since(NOON)

    set_back = NOON - timedelta(hours=1)
    assert ears.listening_since(set_back) == set_back
