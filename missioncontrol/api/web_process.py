"""What this web process holds: the dispatcher, the ingest thread, and whether its disk has room."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable

from django.conf import settings

from missioncontrol.detection.dispatcher import Dispatcher
from missioncontrol.runs.ingest import Writer

dispatcher = Dispatcher()
writer = Writer()

# Several times the size that SQLite's log reaches between two checkpoints.
MIN_FREE_BYTES = 16_000_000
# That PostgreSQL's disk is full shows only in its errors; agents retry a refused write by then.
FULL_REMEMBERED_S = 30.0


class Disk:
    """The disk this process writes to, and whether it recently refused a write."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._full_until = clock, 0.0

    def note_full(self) -> None:
        """Remember that a write found no room."""
        self._full_until = self._clock() + FULL_REMEMBERED_S

    def has_room(self) -> bool:
        """Say whether a write would find room, as far as is known."""
        if self._clock() < self._full_until:
            return False
        try:
            usage = shutil.disk_usage(settings.DATA_DIR)
        except FileNotFoundError:
            return True  # with PostgreSQL nothing may have been stored there yet
        # Some mounts report no figures.
        return usage.total == 0 or usage.free >= MIN_FREE_BYTES


disk = Disk()
