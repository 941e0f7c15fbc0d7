"""What this web process has: the dispatcher, the ingest thread, and whether its disk has room."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable

from django.conf import settings

from missioncontrol.detection.dispatcher import Dispatcher
from missioncontrol.runs.ingest import Writer

dispatcher = Dispatcher()
writer = Writer()

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
        if self._clock() < self._full_until:
            return False
        try:
            there = shutil.disk_usage(settings.DATA_DIR)
        except FileNotFoundError:
            return True  # beside PostgreSQL nothing may have been kept there yet
        # Some mounts tell no figures at all.
        return there.total == 0 or there.free >= LEAST_FREE_BYTES


disk = Disk()
