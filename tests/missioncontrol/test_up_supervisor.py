"""Children are started again when they die, and end with their parent."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from missioncontrol.up import supervisor as module
from missioncontrol.up.command import wait_until_serving
from missioncontrol.up.errors import ChildFailed, ChildSilent
from missioncontrol.up.supervisor import Command, Supervisor, shorten_log


def a_command(tmp_path, name="child", *, body="time.sleep(60)", **more):
    script = f"import os, signal, time; print(os.getpid(), flush=True); {body}"
    return Command(
        name=name, argv=[sys.executable, "-c", script], log=tmp_path / f"{name}.log", **more
    )


@pytest.fixture
def lines():
    return []


@pytest.fixture
def supervisor(tmp_path, lines):
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    made = Supervisor(lock_fd=lock, report=lines.append)
    yield made
    made.stop()
    os.close(lock)


def wait_for(claim, *, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


@contextlib.contextmanager
def ending(process):
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def pid_of(supervisor, name):
    child = supervisor._children[name]
    return child.process.pid if child.is_running else None


def pids_in(log):
    return {int(pid) for pid in log.read_text().split()} if log.exists() else set()


def is_gone(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the second: it ended while it was read
        return True
    return stat.rsplit(")", 1)[1].split()[0] == "Z"


def tend_until(supervisor, claim):
    def tended():
        supervisor.restart_dead()
        return claim()

    wait_for(tended)


def test_a_child_that_dies_is_started_again(tmp_path, supervisor, lines):
    supervisor.start(a_command(tmp_path))
    first = pid_of(supervisor, "child")

    os.kill(first, signal.SIGKILL)
    tend_until(supervisor, lambda: pid_of(supervisor, "child") not in {None, first})

    assert "SIGKILL" in lines[0]


def test_a_child_that_keeps_dying_waits_longer_each_time(tmp_path, supervisor, lines):
    supervisor.start(a_command(tmp_path, body="raise SystemExit(3)"))

    tend_until(supervisor, lambda: len(lines) == 3)

    assert [line.split("again in ")[1][:3] for line in lines] == ["0.2", "0.4", "0.8"]


def test_a_dead_child_is_reported_with_its_last_line(tmp_path, supervisor):
    supervisor.start(a_command(tmp_path, body="raise SystemExit('no such table')"))
    wait_for(lambda: pid_of(supervisor, "child") is None)

    with pytest.raises(ChildFailed, match="no such table"):
        supervisor.check_running("child")


def test_a_silent_child_is_not_reported_as_dead(tmp_path, supervisor):
    supervisor.start(a_command(tmp_path, "web"))

    with pytest.raises(ChildSilent, match="has not answered for 0 seconds"):
        wait_until_serving(supervisor, "http://127.0.0.1:9", limit_s=0)


def test_stopping_ends_every_child(tmp_path, supervisor):
    supervisor.start(a_command(tmp_path, "one"))
    supervisor.start(a_command(tmp_path, "two", stops_last=True))
    pids = [pid_of(supervisor, "one"), pid_of(supervisor, "two")]

    supervisor.stop()

    assert all(is_gone(pid) for pid in pids)


def test_a_child_that_ignores_sigterm_is_killed(tmp_path, supervisor, monkeypatch):
    monkeypatch.setattr(module, "STOP_TIMEOUT_S", 0.2)
    deaf = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    )
    command = a_command(tmp_path, body=deaf)
    supervisor.start(command)
    wait_for(lambda: "deaf" in command.log.read_text())
    pid = pid_of(supervisor, "child")

    supervisor.stop()

    assert is_gone(pid)


def test_killing_the_parent_ends_children_and_grandchildren(tmp_path):
    parent = textwrap.dedent(f"""
        import os, sys, time
        from pathlib import Path
        from missioncontrol.up.supervisor import Command, Supervisor

        folder = Path({str(tmp_path)!r})
        lock_fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
        supervisor = Supervisor(lock_fd=lock_fd, report=print)
        # In one write: unbuffered, `print` takes two, and those of two processes may mix.
        forks = "import os, time; os.fork(); os.write(1, b'%d\\\\n' % os.getpid()); time.sleep(60)"
        argv = [sys.executable, "-c", forks]
        supervisor.start(Command(name="child", argv=argv, log=folder / "log"))
        time.sleep(60)
    """)
    log = tmp_path / "log"
    with ending(subprocess.Popen([sys.executable, "-c", parent])) as running:
        wait_for(lambda: running.poll() is not None or len(pids_in(log)) == 2)
        assert running.poll() is None, "the parent died"

    wait_for(lambda: all(is_gone(pid) for pid in pids_in(log)))


def test_a_long_log_is_moved_aside(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LOG_LIMIT_BYTES", 10)
    log = tmp_path / "web.log"
    log.write_text("more than ten bytes")

    shorten_log(log)

    assert log.read_text() == ""
    assert (tmp_path / "web.old.log").read_text() == "more than ten bytes"
