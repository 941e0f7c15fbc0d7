"""The task that indexes: it does its work, and lets judging go first."""

from datetime import timedelta

import pytest
from celery.signals import task_prerun
from django.db import connection

from missioncontrol.history import tasks
from missioncontrol.history.models import IndexedRun
from missioncontrol.history.tasks import ChangedRuns, index_slice
from missioncontrol.settings import CELERY_BEAT_SCHEDULE
from tests.build import NOON, a_call, a_run, after, put, report

pytestmark = pytest.mark.django_db


def test_it_indexes_what_came_since(project, monkeypatch):
    monkeypatch.setattr(tasks, "BUSY_S", 60.0)  # a busy machine does less in a quarter of a second
    report(a_run(project), *[a_call(f"cat {n}") for n in range(tasks.OBSERVATION_BATCH + 50)])

    tasks.index()

    assert tasks.count_unindexed_runs() == 0


def test_while_turns_wait_to_be_judged_it_does_one_slice(project):
    run = a_run(project)
    put(run, *[a_call(f"cat {n}") for n in range(tasks.OBSERVATION_BATCH + 50)])

    tasks.index()

    run.refresh_from_db()
    assert run.indexed.obs == tasks.OBSERVATION_BATCH
    assert tasks.count_unindexed_runs() == 1


@pytest.fixture
def changed(monkeypatch):
    """Somebody who looked through all runs just now, and trusts the journal's order."""
    monkeypatch.setattr(ChangedRuns, "OVERLAP", timedelta(0))
    looking = ChangedRuns()
    assert not index_slice(at=NOON, changed=looking)
    return looking


def test_it_looks_at_all_runs_once_the_clock_was_set_back(project, changed):
    report(a_run(project), a_call("ls"))
    assert not index_slice(at=after(1), changed=changed)
    IndexedRun.objects.update(event_seq=0)

    assert not index_slice(at=after(-3600), changed=changed)

    assert tasks.count_unindexed_runs() == 0


def test_it_looks_only_at_runs_that_changed(project, changed):
    run = report(a_run(project), a_call("ls"))
    assert not index_slice(at=after(1), changed=changed)
    assert tasks.count_unindexed_runs() == 0

    IndexedRun.objects.update(event_seq=0)
    assert not index_slice(at=after(2), changed=changed)
    assert tasks.count_unindexed_runs() == 1

    report(run, a_call("pwd"))
    assert not index_slice(at=after(3), changed=changed)
    assert tasks.count_unindexed_runs() == 0


def test_what_was_committed_behind_its_look_is_found_within_a_minute(project, changed):
    report(a_run(project), a_call("ls"))
    assert not index_slice(at=after(1), changed=changed)
    IndexedRun.objects.update(event_seq=0)

    assert not index_slice(at=after(60), changed=changed)

    assert tasks.count_unindexed_runs() == 0


def test_what_is_left_of_a_slice_still_counts_as_changed(project, changed):
    report(a_run(project), *[a_call(f"cat {n}") for n in range(150)])

    assert index_slice(at=after(1), changed=changed)
    assert not index_slice(at=after(2), changed=changed)

    assert tasks.count_unindexed_runs() == 0


def test_beat_schedules_it():
    assert CELERY_BEAT_SCHEDULE["index"]["task"] == tasks.index.name


@pytest.mark.django_db(transaction=True)
def test_each_task_asks_anew_whether_its_connection_answers():
    connection.ensure_connection()
    connection.health_check_done = True

    task_prerun.send(sender=tasks.index)

    assert not connection.health_check_done
