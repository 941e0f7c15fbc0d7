"""Which process called our forwarder: an agent's hook is run below the agent."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePath

from guard.running.ending import process_stat

# Generations looked at; between an agent and its hook stand a shell or two.
HIGHEST = 20


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
