"""How much memory there is, and how much this process has, in bytes."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

# What a container may have, told by either version of control groups.
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_STATM = Path("/proc/self/statm")


def of_machine() -> int:
    """Return what the machine has, or its container may have if that is less."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # Without a limit it says `max`, or a number larger than any machine has.
    limits = [limit.read_text().strip() for limit in _LIMITS if limit.is_file()]
    return min([whole, *(int(limit) for limit in limits if limit.isdecimal())])


def of_process() -> int:
    """Return what this process holds now; without `/proc`, the most it ever held."""
    try:
        with _STATM.open("rb", buffering=0) as file:  # asked with every verdict
            return int(file.read().split()[1]) * resource.getpagesize()
    except FileNotFoundError:
        pass
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, Linux kilobytes.
    return most if sys.platform == "darwin" else most * 1024
