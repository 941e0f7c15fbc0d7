"""Processes: which called which, and how one is ended: ask, wait a little, then insist."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path, PurePath

# Between SIGTERM and SIGKILL: to flush a record, to end its own children.
GRACE_S = 5.0

LOOKS_EVERY_S = 0.05

# It stops in microseconds, but for one that waits on a disk, which may take for ever.
STOPS_WITHIN_S = 0.5

_LOOKS = 5
# Generations looked at; between an agent and its hook stand a shell or two.
HIGHEST = 20


def end_process(pid: int, *, grace_s: float = GRACE_S) -> bool:
    """End a process, by SIGTERM and after the grace by SIGKILL; True: it is gone."""
    return _end([pid], grace_s=grace_s)


def end_tree(pid: int, *, grace_s: float = GRACE_S) -> bool:
    """End a process likewise, with everything below it, whatever its group.

    An agent's commands often get a session of their own, so that a signal to the
    agent's process group does not reach them.
    """
    return _end([pid], grace_s=grace_s, below=True)


def signal_tree(pid: int, number: int) -> None:
    """Send one signal to a process and everything below it."""
    if number == signal.SIGSTOP:
        _stop_trees([pid])
        return
    members = [pid, *descendants(pid)]
    if number == signal.SIGCONT:
        # A shell that goes on before its job would see it stopped, and take the terminal from it.
        members.reverse()
    for member in members:
        _send(member, number)


def _stop_trees(roots: Collection[int]) -> list[int]:
    """Stop processes and everything below them; answers them all, a parent before its children."""
    stopped: dict[int, None] = {}
    # What was started while the others were stopped is found by the next look. There is an end to
    # it: below another user's process, which cannot be stopped, more may start for ever.
    for _ in range(_LOOKS):
        new = [member for member in [*roots, *descendants(*roots)] if member not in stopped]
        if not new:
            break
        for member in new:
            _send(member, signal.SIGSTOP)
            # A shell stands still before its job stops, or it would take the terminal from it.
            _await_stopped(member)
        stopped.update(dict.fromkeys(new))
    return list(stopped)


def descendants(*pids: int) -> list[int]:
    """List the processes below some, nearest first."""
    children: dict[int, list[int]] = defaultdict(list)
    # macOS has no /proc.
    if not Path("/proc/self").exists():
        asked = ["ps", "-A", "-o", "pid=,ppid="]
        try:
            # Every process in one call: a `ps` for each would be slower than they come and go.
            done = subprocess.run(asked, capture_output=True, timeout=5, check=True, text=True)
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
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # It is there, but another user's.
    except PermissionError:
        return True
    stat = process_stat(pid)
    return not stat or stat[0] != "Z"


def _end(pids: list[int], *, grace_s: float, below: bool = False) -> bool:
    left = pids
    for by in (signal.SIGTERM, signal.SIGKILL):
        if below:
            # What one of them starts while they are listed would outlive it, and nobody finds an
            # orphan: they stand still until each has its signal.
            left = _stop_trees(left)
        for pid in left:
            _send(pid, by)
        # A stopped process takes up nothing else; and a job before its shell, as in `signal_tree`.
        for pid in reversed(left):
            _send(pid, signal.SIGCONT)
        # Looked at again and again: they are not our children, so there is nothing to wait for.
        ends_at = time.monotonic() + grace_s
        while left := [pid for pid in left if is_running(pid)]:
            if time.monotonic() >= ends_at:
                break
            time.sleep(LOOKS_EVERY_S)
        if not left:
            return True
    return False


def _await_stopped(pid: int) -> None:
    ends_at = time.monotonic() + STOPS_WITHIN_S
    while (stat := process_stat(pid)) and stat[0] in "RSD" and time.monotonic() < ends_at:
        time.sleep(0.001)


def _send(pid: int, number: int) -> None:
    # One that is not ours to end is still there afterwards, and `_end` says so.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def process_stat(pid: int) -> list[str]:
    """Return a process's state, parent and so on; empty where /proc does not tell."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return []
    # Its name stands in brackets before them and may hold anything.
    return text.rpartition(")")[2].split()


def session_process(program: str, *, unless: str) -> int | None:
    """Find the agent above us that serves this one session.

    Args:
        program: The name of its executable.
        unless: An argument that says it serves many sessions: then there is none.

    Returns:
        Its pid; None where no such program is above us, or it serves many.
    """
    for pid, command in _ancestors(os.getppid()):
        if command and PurePath(command[0]).stem == program:
            return None if unless in command else pid
    return None


def calling_agent(program: str) -> tuple[int, list[str]]:
    """Find the agent's process above us, whether it serves one session or many.

    Its program may be an interpreter's script: `node …/bundle/gemini.js`.

    Returns:
        Its pid and its command line; 0 and none: it is not above us.
    """
    for pid, command in _ancestors(os.getppid()):
        for path in map(PurePath, command[:2]):
            # Installed by npm, its script lies in a folder of the package's name.
            if path.stem == program or f"{program}-code" in path.parts:
                return pid, command
    return 0, []


def _ancestors(pid: int) -> Iterator[tuple[int, list[str]]]:
    for _ in range(HIGHEST):
        # Init takes over the children of whoever has ended.
        if pid <= 1:
            return
        parent, command = 0, list[str]()
        with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
            if Path("/proc/self").exists():
                line = Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace")
                # It may have ended between the two looks.
                if stat := process_stat(pid):
                    parent, command = int(stat[1]), line.rstrip("\0").split("\0")
            else:  # macOS
                asked = ["ps", "-o", "ppid=,args=", "-p", str(pid)]
                done = subprocess.run(asked, capture_output=True, timeout=5, check=True, text=True)
                first, *words = done.stdout.split()
                parent, command = int(first), words
        yield pid, command
        pid = parent
