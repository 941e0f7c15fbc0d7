"""End a process by signal: ask, wait a little, then insist."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

GRACE_S = 5.0
"""Between SIGTERM and SIGKILL: to flush a record, to end its own children."""

LOOKS_EVERY_S = 0.05


def end_process(pid: int, *, grace_s: float = GRACE_S) -> bool:
    """End a process, by SIGTERM and after the grace by SIGKILL; True: it is gone."""
    return _end(lambda by: os.kill(pid, by), lambda: is_running(pid), grace_s=grace_s)


def end_group(group: int, *, grace_s: float = GRACE_S) -> bool:
    """End every process of a group likewise."""
    return _end(lambda by: os.killpg(group, by), lambda: _has_members(group), grace_s=grace_s)


def _end(send: Callable[[int], None], runs: Callable[[], bool], *, grace_s: float) -> bool:
    for by in (signal.SIGTERM, signal.SIGKILL):
        try:
            send(by)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        if _is_over(runs, within_s=grace_s):
            return True
    return False


def _is_over(runs: Callable[[], bool], *, within_s: float) -> bool:
    ends_at = time.monotonic() + within_s
    while runs():
        if time.monotonic() >= ends_at:
            return False
        time.sleep(LOOKS_EVERY_S)
    return True


def is_running(pid: int) -> bool:
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _state(pid) != "Z"


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _state(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[0]
