"""What this web process has: the dispatcher, the ingest thread, and whether its disk has room."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.conf import settings

from missioncontrol.detection.dispatcher import Dispatcher
from missioncontrol.runs.ingest import Arrival, Stored, Writer, clean

T = TypeVar("T")

dispatcher = Dispatcher()
writer = Writer()

# Bytes of a body from which reading and masking it takes longer than a change of threads.
LARGE = 64 * 1024
# Two: large bodies are rare, and more at once would only share the interpreter.
_large = ThreadPoolExecutor(2, thread_name_prefix="large")


async def beside(work: Callable[[], T], *, size: int) -> T:
    """Do the work of a small body here, of a large one where nobody else waits."""
    if size < LARGE:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_large, work)


async def store(arrival: Arrival, *, size: int) -> Stored:
    """Store turns; those of a large body are masked before they come to the ingest thread.

    Raises:
        NotFound: the run does not exist in the arrival's project.
    """
    # One thread stores for all: masking a large body there would keep every small one waiting.
    if size >= LARGE:
        arrival = await beside(lambda: clean(arrival), size=size)
    return await writer.put(arrival)


# What SQLite's log grows to between two checkpoints, some times over.
LEAST_FREE_BYTES = 16_000_000
# PostgreSQL's disk is seen by what it refuses alone; agents try a refused write again by then.
REMEMBERED_S = 30.0


class Disk:
    """Where this process writes to, and what was refused there."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._full_until = clock, 0.0

    def note_full(self) -> None:
        """Remember that a write found no room."""
        self._full_until = self._clock() + REMEMBERED_S

    def has_room(self) -> bool:
        """Say whether a write would find room, as far as that is known."""
        return self._clock() >= self._full_until and not _is_narrow()


def _is_narrow() -> bool:
    try:
        there = shutil.disk_usage(settings.DATA_DIR)
    except FileNotFoundError:
        return False  # beside PostgreSQL nothing may have been kept there yet
    # Some mounts tell no figures at all.
    return there.total > 0 and there.free < LEAST_FREE_BYTES


disk = Disk()
