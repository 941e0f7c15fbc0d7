"""the background thread's thread: when it tries, and for what somebody in a hurry waits."""

import os
import threading
import time

import pytest

from guard.errors import ServerAway
from guard.sdk import background, responses
from guard.sdk.background import BackgroundTask
from tests.installations import wait_for


class Task:
    """Fails until the server is there; stands still at the door while it is told to."""

    def __init__(self):
        self.is_there = False
        self.tries = 0
        self.retry_after_s = None
        self.begun = threading.Event()
        self.door = threading.Event()
        self.door.set()

    def __call__(self):
        self.tries += 1
        there = self.is_there
        self.begun.set()
        assert self.door.wait(60)
        if not there:
            raise ServerAway("refused", retry_after_s=self.retry_after_s)


@pytest.fixture
def task():
    return Task()


@pytest.fixture
def runner(task):
    runner = BackgroundTask(task, on_stopped=lambda: None)
    yield runner
    task.door.set()
    runner.stop(60, last_try=False)


def test_run_now_waits_for_a_try_that_began_after_the_call(task, runner):
    task.door.clear()
    runner.schedule()
    assert task.begun.wait(60)  # under way, and lost

    task.is_there = True
    threading.Timer(0.05, task.door.set).start()
    runner.run_now(60)

    assert task.tries == 2


def test_a_server_that_was_just_away_is_not_asked_at_once(task, runner, monkeypatch):
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 30)

    runner.schedule(later=True)

    time.sleep(0.1)
    assert task.tries == 0


def test_run_now_skips_the_first_pause(task, runner, monkeypatch):
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 30)
    task.is_there = True
    runner.schedule(later=True)

    runner.run_now(60)

    assert task.tries == 1


def test_run_now_shortens_no_later_pause(task, runner, monkeypatch):
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 30)
    task.is_there = True
    task.door.clear()
    runner.schedule()
    assert task.begun.wait(60)
    threading.Timer(0.05, task.door.set).start()
    runner.run_now(60)

    runner.schedule(later=True)

    time.sleep(0.1)
    assert task.tries == 2


def test_a_task_stopped_during_its_pause_does_not_run(task, runner, monkeypatch):
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 30)
    runner.schedule(later=True)

    runner.stop(60, last_try=False)

    assert task.tries == 0


def test_a_retry_after_is_respected(task, runner, monkeypatch):
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 0.01)
    task.retry_after_s = 30

    runner.schedule()

    assert task.begun.wait(60)
    time.sleep(0.1)
    assert task.tries == 1


def test_a_retry_after_that_the_caller_passes_on_is_respected(task, runner, monkeypatch):
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 0.01)

    runner.schedule(later=True, retry_after_s=30)

    time.sleep(0.1)
    assert task.tries == 0


def test_a_very_long_retry_after_is_cut_to_the_maximum(task, runner, monkeypatch):
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(responses, "MAX_RETRY_AFTER_S", 0.05)
    task.retry_after_s = 36_000

    runner.schedule()

    wait_for(lambda: task.tries > 1)


def test_run_now_does_not_wait_for_a_retry_after(task, runner):
    task.retry_after_s = 3_000
    runner.schedule()
    assert task.begun.wait(60)
    task.is_there = True

    runner.run_now(60)

    assert task.tries == 2


def test_a_forked_child_forgets_its_parents_thread(task):
    left = []
    runner = BackgroundTask(task, on_stopped=lambda: left.append(True))
    task.door.clear()
    runner.schedule()
    assert task.begun.wait(60)

    child = os.fork()
    if child == 0:
        code = 2
        try:
            runner.stop(0.0, last_try=False)
            code = left != [True]
        finally:
            os._exit(code)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    task.door.set()
    runner.stop(60, last_try=False)


def test_a_lingering_task_ends_in_time_even_if_the_server_asks_for_longer(task, monkeypatch):
    monkeypatch.setattr(background, "LINGER_S", 0.2)
    task.retry_after_s = 60
    left = threading.Event()
    runner = BackgroundTask(task, on_stopped=left.set)

    runner.stop(60, last_try=True)

    assert left.wait(20)
    assert runner not in background._lingering
