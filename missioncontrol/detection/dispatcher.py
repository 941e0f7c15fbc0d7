"""The dispatcher of a web process: ask for detection, and wake requests that wait.

A run's turns go to one worker's queue, so that the engine of a run lives in one process.
Dispatches are coalesced: each worker has one in flight, and the next one covers the runs
that were asked for meanwhile. A dispatch without an answer is sent to any worker after two
seconds; the database is read first, since only the reply may be lost. After a second
time-out this process detects by itself.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, TypeVar
from uuid import UUID, uuid4

from django.conf import settings
from django.db import InternalError, OperationalError, close_old_connections
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from missioncontrol import broadcast
from missioncontrol.broadcast import subscriber, wait_for_event
from missioncontrol.clock import now
from missioncontrol.decisions import sessions
from missioncontrol.decisions.directives import ControlState, read_control_state
from missioncontrol.detection import tasks
from missioncontrol.runs.lifecycle import Status

logger = logging.getLogger(__name__)
T = TypeVar("T")

# Seconds for which a worker that did not answer is passed over.
SKIP_SILENT_S = 10.0
# The most runs that detection locks together. On PostgreSQL a tap on one of them waits for the
# transaction; on SQLite the transaction ends early for it.
RUNS_PER_DISPATCH = 32
# Seconds that a turn that nobody waits for stays in its queue, so that it is judged together with
# the next ones; a request that waits takes it along at once.
BATCH_DELAY_S = 0.02
REPLY_TIMEOUT_S = 2.0
# How long, and how often, in seconds, a waiting request asks a database again that is being
# restarted; our forwarders wait as long for a server that is away.
DATABASE_RETRY_S = 600.0
DATABASE_RETRY_EVERY_S = 0.5
# Seconds after which a waiting request reads the database, even if nothing woke it.
REREAD_S = 3.0


@dataclass(slots=True)
class WorkerQueue:
    """The queue of one worker, and the runs that wait to be sent there."""

    name: str
    pending: dict[UUID, None] = field(default_factory=dict)
    is_due: bool = False
    """The pending runs were gathered for long enough, or a request waits for one of them."""
    is_busy: bool = False
    silent_until: float = 0.0


@dataclass(slots=True)
class Dispatch:
    runs: set[UUID]
    queue: WorkerQueue
    due: float
    tries: int = 1


@dataclass(slots=True)
class VerdictWaiter:
    future: asyncio.Future[ControlState]
    obs: int


async def run_in_pool(pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    """Do database work in a thread of this pool, which keeps its connection."""

    def with_connection() -> T:
        # The next request must not get a broken connection.
        close_old_connections()
        return work()

    return await asyncio.get_running_loop().run_in_executor(pool, with_connection)


class Dispatcher:
    """One per web process, living on the server's event loop."""

    def __init__(self) -> None:
        self._queues = [WorkerQueue(name) for name in settings.DETECT_QUEUES]
        self._in_flight: dict[int, Dispatch] = {}
        self._numbers = itertools.count(1)
        self._verdict_waiters: dict[UUID, list[VerdictWaiter]] = defaultdict(list)
        self._move_events: dict[UUID, set[asyncio.Event]] = defaultdict(set)
        self._writers = ThreadPoolExecutor(4, thread_name_prefix="writer")
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="reader")
        self._senders = ThreadPoolExecutor(1, thread_name_prefix="dispatch")
        self._broker = Redis.from_url(settings.BROKER_URL, retry=Retry(NoBackoff(), 1))
        self._background_tasks: set[asyncio.Task[Any]] = set()
        self._waiting_notes: dict[UUID, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._channel: str | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Do database work in a thread that keeps its connection."""
        return await run_in_pool(self._writers, work)

    async def read(self, work: Callable[[], T], *, retry: bool = False) -> T:
        """Do database work that only reads, so that it does not queue behind writers.

        `retry`: try again while the database is away, for a request that waits for a
        person. An error would let its agent go.
        """
        return await self._run_with_retry(
            self._readers, work, retry_s=DATABASE_RETRY_S if retry else 0
        )

    async def persist(self, work: Callable[[], T]) -> T:
        """Record what cannot be undone, such as the messages of an answer that was sent.

        It is tried again while the database is away: what is not recorded would be done again.
        It goes on when its request is cancelled, which Daphne does 10 s after an answer.
        """
        noting = asyncio.create_task(
            self._run_with_retry(self._writers, work, retry_s=DATABASE_RETRY_S)
        )
        return await asyncio.shield(self._keep_task(noting))

    def _keep_task(self, task: asyncio.Task[T]) -> asyncio.Task[T]:
        # The event loop has only weak references: without this one a task may vanish half done.
        self._background_tasks.add(task)
        task.add_done_callback(self._background_tasks.discard)
        return task

    async def _run_with_retry(
        self, pool: ThreadPoolExecutor, work: Callable[[], T], *, retry_s: float
    ) -> T:
        retry_until = monotonic() + retry_s
        while True:
            try:
                return await run_in_pool(pool, work)
            except (OperationalError, InternalError) as fault:
                if monotonic() >= retry_until:
                    raise
                logger.warning("dispatcher: the database does not answer: %s", fault)
            # If the caller is cancelled meanwhile, this ends too.
            await asyncio.sleep(DATABASE_RETRY_EVERY_S)

    def dispatch(
        self, run_id: UUID, *, root: UUID | None = None, within_s: float = BATCH_DELAY_S
    ) -> None:
        """Have a run judged soon; one worker judges all the runs of a tree."""
        self._ensure_listening()
        # Chosen by id: every web process sends a run to the worker that has its engine.
        queue = self._queues[(root or run_id).int % len(self._queues)]
        queue.pending[run_id] = None
        asyncio.get_running_loop().call_later(within_s, self._flush_queue, queue)

    async def wait_for_verdict(
        self, run_id: UUID, *, obs: int, timeout_s: float, root: UUID | None = None
    ) -> ControlState | None:
        """Wait until detection has seen observation `obs`; None: time is up."""
        waiter = VerdictWaiter(asyncio.get_running_loop().create_future(), obs)
        # Added before the dispatch: the answer may come at once.
        self._verdict_waiters[run_id].append(waiter)
        # In the event loop's next round: requests that were stored together are judged together.
        self.dispatch(run_id, root=root, within_s=0)
        try:
            async with asyncio.timeout(timeout_s):
                return await waiter.future
        except TimeoutError:
            return None
        finally:
            waiters = self._verdict_waiters[run_id]
            waiters.remove(waiter)
            if not waiters:
                del self._verdict_waiters[run_id]

    async def control_state(self, run_id: UUID) -> ControlState | None:
        """Read a run's control state as it is now."""
        return await self.read(lambda: read_control_state(run_id), retry=True)

    async def wait_for_move(
        self, run_id: UUID, *, after: int, timeout_s: float, as_agent: bool = True
    ) -> ControlState | None:
        """Wait until the run's version is above `after`; return its control state then
        or when time is up. None: there is no such run. `as_agent`: the agent itself
        waits, not its keeper.
        """
        self._ensure_listening()
        until = monotonic() + timeout_s
        woken = asyncio.Event()
        # Registered before it reads, so that a move in between is not missed.
        self._move_events[run_id].add(woken)
        try:
            while True:
                control = await self.control_state(run_id)
                waits = as_agent and control is not None and control.on_hold
                if control is not None and waits and run_id not in self._waiting_notes:
                    # In its own task: a tap must not wait for the note.
                    noting = asyncio.create_task(self._note_waiting(run_id, control))
                    self._waiting_notes[run_id] = noting
                left = until - monotonic()
                if control is None or control.version > after or left <= 0:
                    return control
                await wait_for_event(woken, min(left, REREAD_S))
        finally:
            self._move_events[run_id].discard(woken)
            if not self._move_events[run_id]:
                # Otherwise an entry would remain for every run that was ever waited for.
                del self._move_events[run_id]

    async def _note_waiting(self, run_id: UUID, control: ControlState) -> None:
        is_asked = control.status == Status.HOLDING
        note = sessions.record_waiting if is_asked else sessions.refresh_waiting
        try:
            await self.run(lambda: note(run_id, at=now()))
        except Exception as fault:  # noqa: BLE001 - the next look notes it again
            logger.warning("dispatcher: noting that %s waits: %s", run_id, fault)
        finally:
            self._waiting_notes.pop(run_id, None)

    async def wait_at_rest(
        self, run_id: UUID, *, after: int, timeout_s: float
    ) -> ControlState | None:
        """Wait for the next move of a run whose agent rests and is not held, or for
        `REREAD_S`: turns and messages of such a run wake nobody. Return its control state then.
        """
        timeout_s = min(timeout_s, REREAD_S)
        return await self.wait_for_move(run_id, after=after, timeout_s=timeout_s, as_agent=False)

    def _ensure_listening(self) -> None:
        if not self._tasks:
            loop = asyncio.get_running_loop()
            # Commits of this process, in any thread, wake requests here without the broker.
            broadcast.register_waker(lambda runs: loop.call_soon_threadsafe(self._wake, runs))
            self._tasks = [
                asyncio.create_task(self._listen()),
                asyncio.create_task(self._retry_overdue()),
            ]

    def _flush_queue(self, queue: WorkerQueue) -> None:
        queue.is_due = bool(queue.pending)
        self._send_pending(queue)

    def _send_pending(self, queue: WorkerQueue) -> None:
        if queue.is_due and not queue.is_busy and self._channel:
            chosen = set(itertools.islice(queue.pending, RUNS_PER_DISPATCH))
            for run_id in chosen:
                del queue.pending[run_id]
            queue.is_busy, queue.is_due = True, bool(queue.pending)
            self._send_dispatch(
                next(self._numbers), Dispatch(chosen, queue, monotonic() + REPLY_TIMEOUT_S)
            )

    def _send_dispatch(self, number: int, dispatch: Dispatch) -> None:
        self._in_flight[number] = dispatch
        arguments = {
            "runs": [str(run_id) for run_id in dispatch.runs],
            "reply_to": self._channel,
            "number": number,
        }
        if dispatch.tries > 1 or monotonic() < dispatch.queue.silent_until:

            def send_to_any() -> None:
                try:
                    tasks.detect.apply_async(kwargs=arguments, retry=False)
                except Exception as fault:  # noqa: BLE001 - sent again, and swept
                    logger.warning("dispatcher: sending failed: %s", fault)

            # Celery's client blocks: while the broker is away it would block the event loop.
            self._senders.submit(send_to_any)
            return

        async def push() -> None:
            try:
                await self._broker.lpush(dispatch.queue.name, tasks.detect_message(arguments))
            except (RedisError, OSError) as fault:  # sent again, and swept
                logger.warning("dispatcher: sending failed: %s", fault)

        self._keep_task(asyncio.create_task(push()))

    async def _listen(self) -> None:
        """Subscribe to replies and to moves of runs."""
        channel = broadcast.channel("reply", uuid4().hex)
        for name in (broadcast.wake_channel(), channel):
            await subscriber.add(name, self._receive)
        # Nothing is sent until now: a reply that comes before we listen would be lost.
        self._channel = channel
        for queue in self._queues:
            self._send_pending(queue)

    def _receive(self, message: dict[str, Any]) -> None:
        if message["type"] == "wake":
            self._wake(UUID(hex=text) for text in message["runs"])
            return
        for run_hex, values in message["runs"].items():
            self._answer_waiters(UUID(hex=run_hex), ControlState(**values))
        # None: it was overdue, and is being recovered.
        if dispatch := self._in_flight.pop(message["ring"], None):
            # Each worker has one dispatch in flight: its answer makes room for the next.
            dispatch.queue.is_busy = False
            self._send_pending(dispatch.queue)

    def _wake(self, run_ids: Iterable[UUID]) -> None:
        for run_id in run_ids:
            for woken in self._move_events.get(run_id, ()):
                woken.set()

    def _answer_waiters(self, run_id: UUID, control: ControlState) -> None:
        for waiter in list(self._verdict_waiters.get(run_id, ())):
            # The waiter may have timed out meanwhile.
            if waiter.obs <= control.detected_obs and not waiter.future.done():
                waiter.future.set_result(control)

    async def _retry_overdue(self) -> None:
        while True:
            await asyncio.sleep(REPLY_TIMEOUT_S / 4)
            overdue = [
                number for number, dispatch in self._in_flight.items() if dispatch.due < monotonic()
            ]
            for number in overdue:
                # Its reply may have come while another one was recovered.
                dispatch = self._in_flight.pop(number, None)
                if dispatch is None:
                    continue
                try:
                    await self._recover_dispatch(number, dispatch)
                except Exception:
                    logger.exception("dispatcher: recovering dispatch %s", number)
                dispatch.queue.is_busy = False  # nobody waits for this worker any more
                self._send_pending(dispatch.queue)

    async def _recover_dispatch(self, number: int, dispatch: Dispatch) -> None:
        # Read first: the work may be done, and only the reply lost.
        unjudged: set[UUID] = set()
        for run_id in dispatch.runs:
            control = await self.control_state(run_id)
            if control is not None:
                self._answer_waiters(run_id, control)
                if control.detected_obs < control.last_obs:
                    unjudged.add(run_id)
        if not unjudged:
            return
        if dispatch.tries == 1:
            # The queue's other runs must not each wait for a time-out of their own.
            dispatch.queue.silent_until = monotonic() + SKIP_SILENT_S
            self._send_dispatch(
                number,
                replace(dispatch, runs=unjudged, due=monotonic() + REPLY_TIMEOUT_S, tries=2),
            )
            return
        control_states = await self.run(lambda: tasks.detect_now(list(unjudged)))
        for run_id, control in control_states.items():
            self._answer_waiters(run_id, control)
