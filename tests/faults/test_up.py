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
    read_proc,
    wait_for,
)

pytestmark = pytest.mark.faults


@pytest.fixture
def running(tmp_path):
    with an_installation(tmp_path) as installation:
        wait_for(lambda: len(pool_of(installation)) == 2)
        yield installation


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """One installation for the tests after which it stands again."""
    with an_installation(tmp_path_factory.mktemp("up")) as installation:
        yield installation


def pool_of(installation):
    """Return the worker's pool: the children of Celery's main process."""
    main = installation.pid_of(" worker ")
    return [pid for pid in installation.processes() if parent_of(pid) == main]


def parent_of(pid):
    stat = read_proc(pid, "stat").rpartition(b")")[2].split()
    return int(stat[1]) if stat else None


def are_gone(pids):
    return not [pid for pid in pids if pid in all_pids() and not is_zombie(pid)]


def is_zombie(pid):
    return read_proc(pid, "stat").rpartition(b")")[2].split()[:1] == [b"Z"]


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
    assert are_gone(pids)


def test_after_kill_9_of_the_parent_no_process_is_left(running):
    pids = set(running.processes())
    assert len(pids) >= 7

    kill_hard(running)

    wait_for(lambda: are_gone(pids), seconds=30)


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
    assert are_gone(pids)


@pytest.mark.parametrize("part", [" worker ", "daphne", "valkey.sock", " beat "])
def test_a_killed_process_is_back_soon(standing, part):
    first = wait_for(lambda: standing.pid_of(part))

    os.kill(first, signal.SIGKILL)

    wait_for(lambda: standing.pid_of(part) not in {None, first}, seconds=60)


@pytest.mark.parametrize("part", [" worker ", "daphne", "valkey.sock"])
def test_after_a_killed_process_turns_are_judged_again(standing, part):
    status, run = standing.ask("POST", "/api/v1/runs/", {"name": "survivor"})
    assert status == 201

    os.kill(wait_for(lambda: standing.pid_of(part)), signal.SIGKILL)

    wait_for(lambda: is_judged(standing, run["id"]), seconds=40)


def is_judged(running, run):
    turn = {"key": os.urandom(4).hex(), "role": "tool", "tool": "Bash", "args": {"command": "ls"}}
    try:
        _, reply = running.ask("POST", f"/api/v1/runs/{run}/turns/", {"turns": [turn]}, wait=5)
    except OSError:
        return False
    return reply["judged"]


def test_a_killed_guardian_is_replaced_by_one_that_guards(running):
    first = running.pid_of("guardian.py")
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: running.pid_of("guardian.py") not in {None, first})
    pids = set(running.processes())

    kill_hard(running)

    wait_for(lambda: are_gone(pids), seconds=30)
