"""The dispatcher and the ingest thread of this web process, and the way to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

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
