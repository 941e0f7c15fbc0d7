"""The bell of a web process: ring for detection, and wake requests that wait.

Rings are coalesced: at most two detect tasks are in flight, each covering every
run that rang meanwhile. What the broker loses is rung again after two seconds,
and the database is read first, since only the reply may be lost; after a second
time-out this process detects by itself (DESIGN 4).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from channels.layers import get_channel_layer
from django.db import close_old_connections

from missioncontrol import broadcast
from missioncontrol.clock import now
from missioncontrol.oversight import services, tasks
from missioncontrol.oversight.directives import Standing, read_standing, standing_from
from missioncontrol.runs.lifecycle import Status

logger = logging.getLogger(__name__)
T = TypeVar("T")

IN_FLIGHT = 2
RUNS_A_RING = 16
"""Runs that detection locks together: a tap waits for one such transaction."""
RING_AGAIN_S = 2.0
LISTEN_AGAIN_S = 0.5
LOOK_AGAIN_S = 3.0
"""A waiting request reads the database this often, whatever it is told."""


@dataclass(slots=True)
class Ring:
    runs: set[UUID]
    due: float
    tries: int = 1


@dataclass(slots=True)
class Waiter:
    future: asyncio.Future[Standing | None]
    obs: int


class Doorbell:
    """One per web process, living on the server's event loop."""

    def __init__(self) -> None:
        self._pending: dict[UUID, None] = {}
        self._rings: dict[int, Ring] = {}
        self._numbers = itertools.count(1)
        self._judged: dict[UUID, list[Waiter]] = defaultdict(list)
        self._moved: dict[UUID, set[asyncio.Event]] = defaultdict(set)
        self._desk = ThreadPoolExecutor(4, thread_name_prefix="desk")
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="reader")
        self._bell = ThreadPoolExecutor(1, thread_name_prefix="bell")
        self._noting: dict[UUID, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._channel: str | None = None

    async def run(self, deed: Callable[[], T]) -> T:
        """Do database work in a thread whose connection is kept."""
        return await self._do(self._desk, deed)

    async def read(self, deed: Callable[[], T]) -> T:
        """The same for what only reads: it does not stand behind those who wait to write."""
        return await self._do(self._readers, deed)

    async def _do(self, desk: ThreadPoolExecutor, deed: Callable[[], T]) -> T:
        def with_connection() -> T:
            close_old_connections()
            return deed()

        return await asyncio.get_running_loop().run_in_executor(desk, with_connection)

    def ring(self, run_id: UUID) -> None:
        """Have detection look at a run."""
        self._ensure_listening()
        self._pending[run_id] = None
        self._pump()

    async def judged(self, run_id: UUID, *, obs: int, timeout_s: float) -> Standing | None:
        """Wait until detection has seen observation `obs`; None: not in time."""
        waiter = Waiter(asyncio.get_running_loop().create_future(), obs)
        self._judged[run_id].append(waiter)
        self.ring(run_id)
        try:
            return await asyncio.wait_for(waiter.future, timeout_s)
        except TimeoutError:
            return None
        finally:
            self._forget(run_id, waiter)

    async def standing(self, run_id: UUID) -> Standing | None:
        """Read where a run stands now."""
        return await self.read(lambda: read_standing(run_id))

    async def moved(
        self, run_id: UUID, *, after: int, timeout_s: float, as_agent: bool = True
    ) -> Standing | None:
        """Wait until the run's version is above `after`; return where it stands then
        or when time is up. None: there is no such run. `as_agent`: it is the agent
        who waits, not somebody who keeps it.
        """
        self._ensure_listening()
        until = asyncio.get_running_loop().time() + timeout_s
        with self._watching(run_id) as woken:
            while True:
                standing = await self.standing(run_id)
                if standing is not None and standing.on_hold and as_agent:
                    self._note_waiting(run_id, standing)
                left = until - asyncio.get_running_loop().time()
                if standing is None or standing.version > after or left <= 0:
                    return standing
                await _first(woken, min(left, LOOK_AGAIN_S))

    def _note_waiting(self, run_id: UUID, standing: Standing) -> None:
        """Note that an agent waits, beside its waiting: a tap must not stand behind the note."""
        if run_id not in self._noting:
            self._noting[run_id] = asyncio.create_task(self._note(run_id, standing))

    async def _note(self, run_id: UUID, standing: Standing) -> None:
        try:
            await self.run(lambda: _say_it_waits(run_id, standing))
        except Exception as fault:  # noqa: BLE001 - the next look notes it again
            logger.warning("doorbell: noting that %s waits: %s", run_id, fault)
        finally:
            self._noting.pop(run_id, None)

    async def rested(self, run_id: UUID, *, after: int, timeout_s: float) -> Standing | None:
        """Wait beside an agent at rest, of which nothing is held, for its next move or
        the next look.
        """
        self._ensure_listening()
        with self._watching(run_id) as woken:
            standing = await self.standing(run_id)
            if standing is None or standing.version > after:
                return standing
            await _first(woken, min(timeout_s, LOOK_AGAIN_S))
        return await self.standing(run_id)

    def _watching(self, run_id: UUID) -> _Watching:
        return _Watching(self._moved, run_id)

    def _ensure_listening(self) -> None:
        if not self._tasks:
            broadcast.hear_wakes(self._wake_from(asyncio.get_running_loop()))
            self._tasks = [
                asyncio.create_task(self._listen()), asyncio.create_task(self._ring_again())
            ]  # fmt: skip

    def _pump(self) -> None:
        while self._pending and len(self._rings) < IN_FLIGHT and self._channel:
            chosen = set(itertools.islice(self._pending, RUNS_A_RING))
            for run_id in chosen:
                del self._pending[run_id]
            self._send(next(self._numbers), Ring(chosen, _now() + RING_AGAIN_S))

    def _send(self, number: int, ring: Ring) -> None:
        self._rings[number] = ring
        runs = [str(run_id) for run_id in ring.runs]
        self._bell.submit(_ring_worker, runs, self._channel, number)

    async def _listen(self) -> None:
        """Hear replies and moves; start over when the broker goes away."""
        while True:
            try:
                layer: Any = get_channel_layer()
                self._channel = await layer.new_channel()
                await layer.group_add(broadcast.WAKE_GROUP, self._channel)
                self._pump()
                while True:
                    self._hear(await layer.receive(self._channel))
            except asyncio.CancelledError:
                raise
            except Exception as fault:  # noqa: BLE001 - the broker is away: wait for it
                logger.warning("doorbell: %s", fault)
                await asyncio.sleep(LISTEN_AGAIN_S)

    def _hear(self, message: dict[str, Any]) -> None:
        if message["type"] == "wake":
            self._wake(UUID(hex=text) for text in message["runs"])
            return
        self._rings.pop(message["ring"], None)
        for run_hex, values in message["runs"].items():
            self._settle(UUID(hex=run_hex), standing_from(values))
        self._pump()

    def _wake_from(self, loop: asyncio.AbstractEventLoop) -> broadcast.Waker:
        """Return what wakes here without the broker's detour, from any thread."""
        return lambda run_ids: loop.call_soon_threadsafe(self._wake, run_ids)

    def _wake(self, run_ids: Iterable[UUID]) -> None:
        for run_id in run_ids:
            for woken in self._moved.get(run_id, ()):
                woken.set()

    def _settle(self, run_id: UUID, standing: Standing) -> None:
        for waiter in list(self._judged.get(run_id, ())):
            if waiter.obs <= standing.detected_obs and not waiter.future.done():
                waiter.future.set_result(standing)

    def _forget(self, run_id: UUID, waiter: Waiter) -> None:
        waiters = self._judged.get(run_id, [])
        if waiter in waiters:
            waiters.remove(waiter)
        if not waiters:
            self._judged.pop(run_id, None)

    async def _ring_again(self) -> None:
        while True:
            await asyncio.sleep(RING_AGAIN_S / 4)
            overdue = [number for number, ring in self._rings.items() if ring.due < _now()]
            for number in overdue:
                try:
                    await self._recover(number, self._rings.pop(number))
                except Exception:
                    logger.exception("doorbell: recovering ring %s", number)
            self._pump()

    async def _recover(self, number: int, ring: Ring) -> None:
        """Read first: the reply may be lost though the work is done."""
        unheard = {run_id for run_id in ring.runs if not await self._settled(run_id)}
        if not unheard:
            return
        if ring.tries == 1:
            self._send(number, Ring(unheard, _now() + RING_AGAIN_S, tries=2))
            return
        standings = await self.run(lambda: tasks.detect_now(list(unheard)))
        for run_id, standing in standings.items():
            self._settle(run_id, standing)

    async def _settled(self, run_id: UUID) -> bool:
        standing = await self.standing(run_id)
        if standing is not None:
            self._settle(run_id, standing)
        return standing is None or standing.detected_obs >= standing.last_obs


class _Watching:
    """Be among the events that a run's move sets, while a request is open."""

    def __init__(self, moved: dict[UUID, set[asyncio.Event]], run_id: UUID) -> None:
        self._moved, self._run_id, self._event = moved, run_id, asyncio.Event()

    def __enter__(self) -> asyncio.Event:
        self._moved[self._run_id].add(self._event)
        return self._event

    def __exit__(self, *_: object) -> None:
        self._moved[self._run_id].discard(self._event)
        if not self._moved[self._run_id]:
            del self._moved[self._run_id]


def _say_it_waits(run_id: UUID, standing: Standing) -> None:
    if standing.status == Status.HOLDING:
        services.note_waiting([run_id], at=now())
    else:
        services.note_still_waiting([run_id], at=now())


def _ring_worker(runs: list[str], channel: str | None, number: int) -> None:
    try:
        tasks.detect.apply_async((runs, channel, number), retry=False)
    except Exception as fault:  # noqa: BLE001 - rung again, and swept
        logger.warning("doorbell: ringing failed: %s", fault)


async def _first(woken: asyncio.Event, timeout_s: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(woken.wait(), timeout_s)
    woken.clear()


def _now() -> float:
    return asyncio.get_running_loop().time()
