"""Processes are asked to end, and made to."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from guard.running.processes import (
    descendants,
    end_process,
    end_tree,
    is_running,
    process_stat,
    signal_tree,
)

STUBBORN = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('ready', flush=True); time.sleep(600)"
)
WITH_CHILD = (
    "import subprocess, sys, time;"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
    " start_new_session=True);"
    "print(child.pid, flush=True); time.sleep(600)"
)

STUBBORN_AND_BUSY = (
    "import signal, subprocess, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "while True:\n"
    "    child = subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL)\n"
    "    print(child.pid, flush=True); time.sleep(0.02)"
)
STARTS_MORE_AND_MORE = (
    "import os; more = 'for n in $(seq 60); do sleep 600 & done; wait';"
    "os.execvp('sh', ['sh', '-c', f'for n in $(seq 8); do ({more}) & done; echo; wait'])"
)


@pytest.fixture
def started():
    processes = []

    def start(program):
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in processes:
        process.kill()
        process.wait(30)
        process.stdout.close()


def test_a_process_ends_when_asked(started):
    process, _ = started("import time; print('ready', flush=True); time.sleep(600)")

    assert end_process(process.pid, grace_s=60)
    assert process.wait(30) == -signal.SIGTERM


def test_a_process_that_ignores_sigterm_is_killed(started):
    process, _ = started(STUBBORN)

    assert end_process(process.pid, grace_s=0.2)
    assert process.wait(30) == -signal.SIGKILL


def test_everything_below_it_ends_with_it(started):
    process, child = started(WITH_CHILD)

    end_tree(process.pid, grace_s=60)

    assert process.wait(30) == -signal.SIGTERM
    assert not is_running(int(child))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="sessions are told by /proc")
def test_children_started_while_it_is_ended_end_too(started):
    process, _ = started(STARTS_MORE_AND_MORE)

    end_tree(process.pid, grace_s=60)

    assert process.wait(30) == -signal.SIGTERM
    everything = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    ours = [pid for pid in everything if process_stat(pid)[3:4] == [str(process.pid)]]
    survivors = [pid for pid in ours if is_running(pid)]
    for pid in survivors:
        os.kill(pid, signal.SIGKILL)
    assert survivors == []


def test_children_of_a_process_that_ignores_sigterm_end_too(started):
    process, first = started(STUBBORN_AND_BUSY)

    end_tree(process.pid, grace_s=0.2)

    children = [int(pid) for pid in [first, *process.stdout.read().split()]]
    survivors = [pid for pid in children if is_running(pid)]
    for pid in survivors:
        os.kill(pid, signal.SIGKILL)
    assert survivors == []


def test_a_stopped_process_ends_too(started):
    process, _ = started("import time; print('ready', flush=True); time.sleep(600)")
    signal_tree(process.pid, signal.SIGSTOP)
    _, status = os.waitpid(process.pid, os.WUNTRACED | os.WCONTINUED)
    assert os.WIFSTOPPED(status)

    assert end_tree(process.pid, grace_s=60)
    assert process.wait(30) == -signal.SIGTERM


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="states are told by /proc")
def test_children_started_while_it_is_stopped_are_stopped_too(started):
    process, _ = started(STARTS_MORE_AND_MORE)

    signal_tree(process.pid, signal.SIGSTOP)

    states = [process_stat(pid)[0] for pid in [process.pid, *descendants(process.pid)]]
    os.killpg(process.pid, signal.SIGKILL)
    assert set(states) <= {"T", "Z"}  # stopped, or over


def test_a_process_that_has_gone_counts_as_ended(started):
    process, _ = started("print('ready')")
    process.wait(30)

    assert end_process(process.pid)
    assert end_tree(process.pid)
