"""Those in this process who look at the same place: what they hear is encoded once.

Commits come together: at once what a person may have to answer, turns and meters at
most four times a second, and less often where so many listen that telling them would
keep agents waiting.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

from missioncontrol.broadcast import Frame, subscriber, wait_for_event

logger = logging.getLogger(__name__)

TELL_EVERY_S = 0.25
# Telling one socket takes about a tenth of that.
TELL_EVERY_S_EACH = 0.002

Hear = Callable[[str], Awaitable[None]]


class Audience:
    """The sockets of one group, and what they have not been told yet."""

    pause = staticmethod(wait_for_event)

    def __init__(self) -> None:
        # A dict for its order: who came first is told first.
        self.sockets: dict[Hear, None] = {}
        self._events: list[str] = []
        self._meters: dict[str, dict[str, Any]] = {}
        self._at_once = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None

    def take(self, frame: Frame) -> None:
        """Take in what one commit brought: events in order, the newest meters of each run."""
        self._events += frame["events"]
        for run, meters in frame["meters"].items():
            newest = meters
            if before := self._meters.get(run):
                # Processes publish apart: those of an earlier commit may come after a later
                # one's. Both carry the newest points of the tape, which overlap.
                before, newest = sorted(
                    (before, meters), key=lambda row: (row["turns"], row["judged_turns"])
                )
                overlap = before["judged_turns"] - (newest["judged_turns"] - len(newest["tape"]))
                kept = before["tape"][: max(0, len(before["tape"]) - max(0, overlap))]
                newest = {**newest, "tape": [*kept, *newest["tape"]]}
            self._meters[run] = newest
        if frame["at_once"]:
            self._at_once.set()
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())

    def close(self) -> None:
        """Tell nothing more."""
        if self._telling is not None:
            self._telling.cancel()

    async def _tell(self) -> None:
        while self._events or self._meters:
            self._at_once.clear()
            texts, self._events = self._events, []
            runs, self._meters = self._meters, {}
            if len(texts) > 1:
                texts = ['{"type":"batch","events":[' + ",".join(texts) + "]}"]
            if runs:
                texts = [*texts, json.dumps({"type": "meters", "runs": runs})]
            for hear in tuple(self.sockets):
                try:
                    for text in texts:
                        await hear(text)
                except Exception:  # the others are told all the same
                    logger.exception("a socket could not be told")
                    self.sockets.pop(hear, None)
                await asyncio.sleep(0)  # agents come between
            # Ten times what telling them takes, however many listen: the rest of the time is the
            # agents'.
            pause_s = max(TELL_EVERY_S, TELL_EVERY_S_EACH * len(self.sockets))
            await self.pause(self._at_once, pause_s)


class Audiences:
    """The audiences of this process, by group."""

    def __init__(self) -> None:
        self._by_group: dict[str, Audience] = {}

    async def join(self, group: str, hear: Hear) -> None:
        """Have `hear` told what the group is; on return, of everything committed from now on."""
        audience = self._by_group.setdefault(group, Audience())
        # In the audience before it is subscribed, so that the first message finds it there.
        audience.sockets[hear] = None
        await subscriber.add(group, audience.take)

    async def leave(self, group: str, hear: Hear) -> None:
        """Tell it nothing more."""
        audience = self._by_group.get(group)
        if audience is None:
            return
        audience.sockets.pop(hear, None)
        if not audience.sockets:
            del self._by_group[group]
            audience.close()
            await subscriber.remove(group, audience.take)


# Of this process.
audiences = Audiences()


class SharedReading:
    """Readings by name, once for all that ask at the same time; at most one more waits for each.

    When a server comes back, every screen asks for its project's board within a second.
    Who asks while a reading is under way waits for the next one: theirs began after they
    had joined their group, so that nothing falls between it and the first event.
    """

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Future[str]] = {}
        self._next: dict[Hashable, asyncio.Future[str]] = {}

    async def read(self, name: Hashable, reading: Callable[[], Awaitable[str]]) -> str:
        """Return what `reading` gives, from a reading that has not begun yet."""
        waiting = self._next.get(name)
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
