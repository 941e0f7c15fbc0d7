"""What `kill -9` and Ctrl-C leave behind: nothing, and a Mission Control that comes back."""

import os
import shutil
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.installations import (
    ROOT,
    Installation,
    a_database,
    all_pids,
    an_installation,
    is_zombie,
    wait_for,
)

pytestmark = pytest.mark.faults


@pytest.fixture
def running(tmp_path):
    with an_installation(tmp_path) as installation:
        wait_for(lambda: installation.pid_of("=worker@"))
        yield installation


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """One installation for the tests after which it stands again."""
    with an_installation(tmp_path_factory.mktemp("up")) as installation:
        yield installation


def are_gone(pids):
    return not [pid for pid in pids if pid in all_pids() and not is_zombie(pid)]


def kill_hard(running):
    """Kill the parent as a machine out of memory would."""
    running.process.kill()
    running.process.wait()


def test_after_kill_9_of_the_parent_the_next_start_works_at_once(running):
    port, pids = running.url.rsplit(":", 1)[1], set(running.processes())
    kill_hard(running)

    again = Installation(running.data, "--port", port, **running.environment).start()
    again.stop()

    assert again.url == running.url
    wait_for(lambda: are_gone(pids))


def test_after_kill_9_of_the_parent_no_process_is_left(running):
    pids = set(running.processes())
    assert len(pids) >= 7

    kill_hard(running)

    wait_for(lambda: are_gone(pids))


def test_after_kill_9_of_uv_it_ends_too(tmp_path):
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("no uv on PATH: start the tests with `uv run pytest`")
    with a_database() as database:
        running = Installation(tmp_path, **database)
        wrapped: Any = subprocess.Popen(
            [
                *(uv, "run", "--no-sync"),
                *("manage.py", "up", "--json", "--port", "0", "--data", tmp_path),
            ],
            cwd=ROOT,
            env={**running.own_environment(), "UV_PROJECT_ENVIRONMENT": sys.prefix},
            stdout=subprocess.PIPE,
        )
        wrapped.stdout.readline()
        pids = set(running.processes())
        assert len(pids) >= 7

        wrapped.kill()
        wrapped.wait()
        wrapped.stdout.close()

        wait_for(lambda: are_gone(pids))


def test_ctrl_c_in_a_terminal_leaves_no_process(running):
    pids = set(running.processes())

    code = running.stop(signal.SIGINT)

    assert code == 0
    wait_for(lambda: are_gone(pids))


@pytest.mark.parametrize("part", ["=worker@", "=detector-0@", "daphne", "valkey.sock", " beat "])
def test_a_killed_process_is_back_soon(standing, part):
    first = wait_for(lambda: standing.pid_of(part))

    os.kill(first, signal.SIGKILL)

    wait_for(lambda: standing.pid_of(part) not in {None, first})


@pytest.mark.parametrize("part", ["=worker@", "=detector-0@", "daphne", "valkey.sock"])
def test_after_a_killed_process_turns_are_judged_again(standing, part):
    status, run = standing.ask("POST", "/api/v1/runs/", {"name": "survivor"})
    assert status == 201

    os.kill(wait_for(lambda: standing.pid_of(part)), signal.SIGKILL)

    wait_for(lambda: is_judged(standing, run["id"]))


def is_judged(running, run):
    turn = {"key": os.urandom(4).hex(), "role": "tool", "tool": "Bash", "args": {"command": "ls"}}
    try:
        _, reply = running.ask("POST", f"/api/v1/runs/{run}/turns/", {"turns": [turn]}, wait=5)
    except OSError:
        return False
    return reply["judged"]


def test_a_killed_watchdog_is_replaced_by_one_that_watches(running):
    first = running.pid_of("watchdog.py")
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: running.pid_of("watchdog.py") not in {None, first})
    pids = set(running.processes())

    kill_hard(running)

    wait_for(lambda: are_gone(pids))
