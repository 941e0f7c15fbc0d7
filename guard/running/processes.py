"""Processes: who started whom, and how to end one: ask, wait a little, then kill."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path, PurePath

# Between SIGTERM and SIGKILL: time to flush a record and to end its own children.
GRACE_S = 5.0

POLL_INTERVAL_S = 0.05

# A process stops in microseconds, unless it waits for a disk, which may take for ever.
STOP_TIMEOUT_S = 0.5

_MAX_SCANS = 5
# Most generations searched; between an agent and its hook are one or two shells.
MAX_ANCESTORS = 20


def end_process(pid: int, *, grace_s: float = GRACE_S) -> bool:
    """End a process, by SIGTERM and after the grace by SIGKILL; return whether it is gone."""
    return _end_processes([pid], grace_s=grace_s)


def end_tree(pid: int, *, grace_s: float = GRACE_S) -> bool:
    """End a process as `end_process` does, with everything below it, whatever its group.

    An agent's commands often get a session of their own, so that a signal to the
    agent's process group does not reach them.
    """
    return _end_processes([pid], grace_s=grace_s, with_descendants=True)


def signal_tree(pid: int, number: int) -> None:
    """Send one signal to a process and everything below it."""
    if number == signal.SIGSTOP:
        _stop_trees([pid])
        return
    members = [pid, *descendants(pid)]
    if number == signal.SIGCONT:
        # Jobs first: a shell that continues before its job would see it stopped, and take its
        # terminal.
        members.reverse()
    for member in members:
        _send_signal(member, number)


def _stop_trees(roots: Collection[int]) -> list[int]:
    """Stop processes and everything below them; return all, a parent before its children."""
    stopped: dict[int, None] = {}
    # Another look finds what was started while the others were stopped. The number of looks is
    # limited: below another user's process, which cannot be stopped, more may start for ever.
    for _ in range(_MAX_SCANS):
        new = [member for member in [*roots, *descendants(*roots)] if member not in stopped]
        if not new:
            break
        for member in new:
            _send_signal(member, signal.SIGSTOP)
            # A shell must stop before its job, or it would take the terminal from it.
            _await_stopped(member)
        stopped.update(dict.fromkeys(new))
    return list(stopped)


def descendants(*pids: int) -> list[int]:
    """List the processes below these, nearest first."""
    children: dict[int, list[int]] = defaultdict(list)
    # macOS has no /proc.
    if not Path("/proc/self").exists():
        ps_command = ["ps", "-A", "-o", "pid=,ppid="]
        try:
            # All processes in one call: a `ps` for each would be slower than they start and end.
            done = subprocess.run(ps_command, capture_output=True, timeout=5, check=True, text=True)
        except (OSError, subprocess.SubprocessError):
            return []
        numbers = [int(word) for word in done.stdout.split()]
        parents = list(zip(numbers[::2], numbers[1::2], strict=True))
    else:
        every = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
        parents = [(pid, int(stat[1])) for pid in every if (stat := process_stat(pid))]
    for child, parent in parents:
        children[parent].append(child)
    found, left = [], list(pids)
    while left:
        below = children[left.pop(0)]
        found += below
        left += below
    return found


def is_running(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # It exists, but belongs to another user.
    except PermissionError:
        return True
    stat = process_stat(pid)
    return not stat or stat[0] != "Z"


def _end_processes(pids: list[int], *, grace_s: float, with_descendants: bool = False) -> bool:
    left = pids
    for by in (signal.SIGTERM, signal.SIGKILL):
        if with_descendants:
            # A child started while they are listed would outlive them as an orphan that nobody
            # finds: therefore they are stopped until each has its signal.
            left = _stop_trees(left)
        for pid in left:
            _send_signal(pid, by)
        # A stopped process handles no other signal. A job before its shell, as in `signal_tree`.
        for pid in reversed(left):
            _send_signal(pid, signal.SIGCONT)
        # Polled: they are not our children, so there is nothing to wait for.
        ends_at = time.monotonic() + grace_s
        while left := [pid for pid in left if is_running(pid)]:
            if time.monotonic() >= ends_at:
                break
            time.sleep(POLL_INTERVAL_S)
        if not left:
            return True
    return False


def _await_stopped(pid: int) -> None:
    ends_at = time.monotonic() + STOP_TIMEOUT_S
    while (stat := process_stat(pid)) and stat[0] in "RSD" and time.monotonic() < ends_at:
        time.sleep(0.001)


def _send_signal(pid: int, number: int) -> None:
    # A process that we may not signal is still there afterwards, and `_end_processes` reports that.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def process_stat(pid: int) -> list[str]:
    """Return a process's state, parent and so on; empty where /proc does not have it."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return []
    # The name before them is in brackets and may contain anything.
    return text.rpartition(")")[2].split()


def session_process(program: str, *, unless: str) -> int | None:
    """Return the agent above us that serves this one session.

    Args:
        program: The name of its executable.
        unless: An argument that marks a process for many sessions, which does not count.

    Returns:
        Its pid; None if no such program is above us, or it serves many.
    """
    for pid, command in _ancestors(os.getppid()):
        if command and PurePath(command[0]).stem == program:
            return None if unless in command else pid
    return None


def calling_agent(program: str) -> tuple[int, list[str]]:
    """Return the agent's process above us, whether it serves one session or many.

    Its program may be run by an interpreter: `node …/bundle/gemini.js`.

    Returns:
        Its pid and its command line; 0 and an empty one if it is not above us.
    """
    for pid, command in _ancestors(os.getppid()):
        for path in map(PurePath, command[:2]):
            # Installed by npm, its script is in a folder with the package's name.
            if path.stem == program or f"{program}-code" in path.parts:
                return pid, command
    return 0, []


def _ancestors(pid: int) -> Iterator[tuple[int, list[str]]]:
    for _ in range(MAX_ANCESTORS):
        # Init adopts the children of an ended process.
        if pid <= 1:
            return
        parent, command = 0, list[str]()
        with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
            if Path("/proc/self").exists():
                line = Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace")
                # It may have ended between the two reads.
                if stat := process_stat(pid):
                    parent, command = int(stat[1]), line.rstrip("\0").split("\0")
            else:  # macOS
                ps_command = ["ps", "-o", "ppid=,args=", "-p", str(pid)]
                done = subprocess.run(
                    ps_command, capture_output=True, timeout=5, check=True, text=True
                )
                first, *words = done.stdout.split()
                parent, command = int(first), words
        yield pid, command
        pid = parent
