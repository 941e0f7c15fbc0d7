"""Read once for all that ask at the same time.

When a server comes back, every screen asks for its project's board within a second.
Who asks while a reading is under way waits for the next one: theirs began after they
had joined their group, so that nothing falls between it and the first event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable


class SharedReading:
    """Readings by name; at most one under way and one that waits for each."""

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Future[str]] = {}
        self._next: dict[Hashable, asyncio.Future[str]] = {}

    async def read(self, name: Hashable, reading: Callable[[], Awaitable[str]]) -> str:
        """Return what `reading` gives, from a reading that has not begun yet."""
        waiting = self._next.get(name)
        # A reading that already runs may have looked before this socket joined its group, and would
        # miss what was committed between.
        if waiting is None:

            async def read_after_running() -> str:
                if name in self._running:
                    await asyncio.wait([self._running[name]])
                # From here on it reads: whoever asks now needs the one after it.
                self._running[name] = self._next.pop(name)
                try:
                    return await reading()
                finally:
                    del self._running[name]

            waiting = self._next[name] = asyncio.ensure_future(read_after_running())
        # A socket that closes must not end the reading for all others.
        return await asyncio.shield(waiting)
