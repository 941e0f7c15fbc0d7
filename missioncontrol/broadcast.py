"""Publish to sockets and to waiting requests. At most once; readers recover.

A single thread with a loop of its own sends everything, so that workers, writer
threads and views neither open a connection a call nor wait for one (2 to 5 ms).
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any
from uuid import UUID

from channels.layers import get_channel_layer

logger = logging.getLogger(__name__)

WAKE_GROUP = "wake"
MOST_WAITING = 10_000
"""While the broker is away the oldest frames go first; a gap makes readers refetch."""

Deed = Callable[[], Coroutine[Any, Any, None]]
Waker = Callable[[Collection[UUID]], object]


def board_group(project: UUID) -> str:
    """Name the group of a project's boards."""
    return f"board.{project.hex}"


def pages_group(project: UUID) -> str:
    """Name the group of the pages of a project's runs: whole turns, by run.

    One group for all of them, so that a commit over many runs is one message.
    """
    return f"pages.{project.hex}"


def person_group(user: int) -> str:
    """Name the group of a person's sockets, whatever they show."""
    return f"person.{user}"


def check_access(user: int) -> None:
    """Have a person's sockets look again whether they may stay open."""
    to_groups(lambda: {person_group(user): {"type": "access.changed"}})


def empty_frame() -> dict[str, Any]:
    """Return a frame to fill: events as JSON texts, meters and parts by run."""
    return {"type": "live.frame", "events": [], "meters": {}, "runs": {}}


class _Courier:
    """A sending thread, started at first use and again after a fork.

    One deed at a time: what is handed over first is heard first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid: int | None = None
        self._loop: asyncio.AbstractEventLoop
        self._waiting: deque[Deed]

    def send(self, deed: Deed) -> None:
        loop = self._running_loop()
        loop.call_soon_threadsafe(self._take, loop, deed)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._pid != os.getpid():
                self._loop = asyncio.new_event_loop()
                self._waiting = deque(maxlen=MOST_WAITING)
                self._carrying: asyncio.Task[None] | None = None
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
                self._pid = os.getpid()
            return self._loop

    def _take(self, loop: asyncio.AbstractEventLoop, deed: Deed) -> None:
        self._waiting.append(deed)
        if self._carrying is None or self._carrying.done():
            self._carrying = loop.create_task(self._carry())

    async def _carry(self) -> None:
        while self._waiting:
            await _quietly(self._waiting.popleft())


async def _quietly(deed: Deed) -> None:
    try:
        await deed()
    except Exception as fault:  # noqa: BLE001 - the broker may be away; readers refetch
        logger.warning("broadcast failed: %s", fault)


_to_screens = _Courier()
_to_agents = _Courier()
"""A verdict does not queue behind what the screens hear."""


def to_groups(build: Callable[[], Mapping[str, dict[str, Any]]]) -> None:
    """Send each group its message, in order, without waiting.

    `build` runs in the sending thread: a writer holds no lock while it is shown.
    """

    async def send_all() -> None:
        layer = get_channel_layer()
        for group, message in build().items():
            await layer.group_send(group, message)

    _to_screens.send(send_all)


_wakers: list[Waker] = []


def hear_wakes(waker: Waker) -> None:
    """Have this process's own wakes call `waker` too; one whose loop is closed is forgotten."""
    _wakers.append(waker)


def wake(run_ids: Collection[UUID]) -> None:
    """Wake the requests that wait for these runs, in every web process; in this one at once."""
    for waker in list(_wakers):
        try:
            waker(run_ids)
        except RuntimeError:
            _wakers.remove(waker)
    message = {"type": "wake", "runs": [run_id.hex for run_id in run_ids]}
    _to_agents.send(lambda: get_channel_layer().group_send(WAKE_GROUP, message))


def to_channel(channel: str, message: dict[str, Any]) -> None:
    """Send `message` to one process's reply channel, without waiting."""
    _to_agents.send(lambda: get_channel_layer().send(channel, message))
