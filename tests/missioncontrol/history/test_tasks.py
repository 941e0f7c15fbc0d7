"""The task that indexes: it does its work, and lets judging go first."""

import pytest

from missioncontrol.history import catching_up, tasks
from missioncontrol.settings import CELERY_BEAT_SCHEDULE
from tests.build import a_call, a_run, put, report

pytestmark = pytest.mark.django_db


def test_it_indexes_what_came_since(project):
    report(a_run(project), *[a_call(f"cat {n}") for n in range(catching_up.TURNS_AT_ONCE + 50)])

    tasks.index_now()

    assert catching_up.lag() == 0


def test_while_turns_wait_to_be_judged_it_does_one_slice(project):
    run = a_run(project)
    put(run, *[a_call(f"cat {n}") for n in range(catching_up.TURNS_AT_ONCE + 50)])

    tasks.index_now()

    run.refresh_from_db()
    assert run.indexed.obs == catching_up.TURNS_AT_ONCE
    assert catching_up.lag() == 1


def test_beat_rings_for_it():
    assert CELERY_BEAT_SCHEDULE["index"]["task"] == tasks.index.name
