"""How much memory the machine has, and how much this process uses, in bytes."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

# A container's limit, as either version of control groups states it.
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_STATM = Path("/proc/self/statm")


def of_machine() -> int:
    """Return the machine's memory, or its container's limit if that is less."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # Without a limit, the file contains `max` or a number larger than any machine's memory.
    limits = [limit.read_text().strip() for limit in _LIMITS if limit.is_file()]
    return min([installed, *(int(limit) for limit in limits if limit.isdecimal())])


def of_process() -> int:
    """Return what this process uses now; without `/proc`, the most it ever used."""
    try:
        with _STATM.open("rb", buffering=0) as file:  # read with every verdict
            return int(file.read().split()[1]) * resource.getpagesize()
    except FileNotFoundError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, Linux kilobytes.
    return peak if sys.platform == "darwin" else peak * 1024
