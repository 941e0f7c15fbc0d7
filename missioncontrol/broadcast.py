"""Publish to sockets and waiting requests, and subscribe. At most once; readers recover.

Two threads with event loops of their own send everything, so that workers, writer threads and
views neither open a connection for each call nor wait for one (2 to 5 ms). A process listens over
one connection, however many listeners it has: a message is decoded once and handed to all of them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import transaction
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

# While the broker is away the oldest frames are dropped; a gap makes readers refetch.
MAX_QUEUED = 1_000
# How long the publisher gathers messages for screens after it has sent some.
BATCH_INTERVAL_S = 0.02
# The same if nobody listened: no screen waits, but one may open.
IDLE_BATCH_INTERVAL_S = 0.1

T = TypeVar("T")
# What one commit sends to a group: see `new_frame`.
Frame = dict[str, Any]
# Makes the frames of the given groups, those that somebody listens to.
FrameBuilder = Callable[[Collection[str]], Mapping[str, Frame]]
Waker = Callable[[Collection[UUID]], object]
RECONNECT_AFTER_S = 0.5
# Our name in the broker's `CLIENT LIST`.
CLIENT_NAME = f"mission-control-{os.getpid()}"
Listener = Callable[[dict[str, Any]], object]
OnLost = Callable[[], object]
BROKER_ERRORS = (RedisError, OSError)


def channel(kind: str, name: str) -> str:
    """Return the name of a channel of this installation at the broker."""
    return f"{settings.BROKER_PREFIX}:{kind}:{name}"


def board_group(project: UUID) -> str:
    """Return the group of a project's boards."""
    return channel("board", project.hex)


def run_group(run: UUID) -> str:
    """Return the group of a run's pages, which receive whole turns."""
    return channel("run", run.hex)


def person_channel(user: int) -> str:
    """Return the channel of a person's sockets, whatever they show."""
    return channel("person", str(user))


def wake_channel() -> str:
    """Return the channel of the processes that keep requests waiting."""
    return channel("wake", "all")


def new_frame() -> Frame:
    """Return a frame to fill: events as JSON texts, meters by run.

    `at_once`: a person may have to answer; other frames wait to be sent together.
    """
    return {"events": [], "meters": {}, "at_once": False}


class _Publisher(Generic[T]):
    """A sending thread, started at first use and again after a fork.

    Messages are sent in order; those that wait are sent together.
    """

    def __init__(self, publish: Callable[[Redis, Sequence[T]], Coroutine[Any, Any, None]]) -> None:
        self._publish = publish
        self._lock = threading.Lock()
        self._pid: int | None = None
        # It runs in a thread of its own: a commit must not wait for the broker.
        self._loop: asyncio.AbstractEventLoop
        self._waiting: deque[T]
        self._is_sending = False

    def send(self, message: T) -> None:
        with self._lock:
            # A fork copies no threads, and two processes must not share a connection.
            if self._pid != os.getpid():
                self._loop = asyncio.new_event_loop()
                self._waiting = deque(maxlen=MAX_QUEUED)
                self._is_sending = False
                # One retry, at once: the connection may have been idle for too long.
                self._broker = Redis.from_url(settings.BROKER_URL, retry=Retry(NoBackoff(), 1))
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
                self._pid = os.getpid()
            self._waiting.append(message)
            if self._is_sending:
                return  # it is sent with the others: waking a thread costs more than its message
            self._is_sending = True
        asyncio.run_coroutine_threadsafe(self._send_waiting(), self._loop)

    async def _send_waiting(self) -> None:
        while True:
            with self._lock:
                messages = list(self._waiting)
                self._waiting.clear()
                # Under the lock: otherwise a message added just now would wake nobody.
                self._is_sending = bool(messages)
            if not messages:
                return
            try:
                await self._publish(self._broker, messages)
            except Exception as fault:  # noqa: BLE001 - the broker may be away; readers refetch
                logger.warning("broadcast failed: %s", fault)


async def _publish_each(broker: Redis, messages: Iterable[tuple[str, Any]]) -> None:
    for name, message in messages:
        await broker.publish(name, json.dumps(message))


async def _publish_to_screens(
    broker: Redis, news: Sequence[tuple[Collection[str], FrameBuilder]]
) -> None:
    """Make and send the frames that somebody listens to, then wait to gather the next ones.

    A socket that subscribes after the channels are listed misses nothing: it reads its
    snapshot once it is subscribed, and all this was committed before.
    """
    # Ask for all channels that have listeners: there are many groups, and mostly no listeners.
    # The broker's pattern characters are escaped in the prefix.
    prefix = re.sub(r"[*?\[\\]", r"\\\g<0>", settings.BROKER_PREFIX)
    channels: Any = await broker.pubsub_channels(f"{prefix}:*")
    named = frozenset(name.decode() for name in channels)
    listened = {group for groups, _ in news for group in named.intersection(groups)}
    for groups, build in news:
        if wanted := listened.intersection(groups):
            try:
                frames = build(wanted)
            except Exception:  # one that cannot be made must not stop the others
                logger.exception("a frame could not be made for %s", sorted(wanted))
                continue
            await _publish_each(broker, frames.items())
    # Messages added meanwhile are sent together next time: fewer and larger frames.
    await asyncio.sleep(BATCH_INTERVAL_S if listened else IDLE_BATCH_INTERVAL_S)


_screen_publisher = _Publisher(_publish_to_screens)
# Separate, so that a verdict does not queue behind messages for screens.
_agent_publisher = _Publisher(_publish_each)


def send_to_groups(groups: Collection[str], build: FrameBuilder) -> None:
    """Send a frame to each of these groups that has listeners, in order, without waiting.

    `build` runs in the sending thread: a writer holds no lock while frames are made.
    """
    _screen_publisher.send((groups, build))


def send_to_channel(name: str, message: dict[str, Any]) -> None:
    """Send `message` to all listeners of this channel, without waiting."""
    _agent_publisher.send((name, message))


def recheck_access(user: int) -> None:
    """After the commit, have a person's sockets check again whether they may stay open."""
    transaction.on_commit(lambda: send_to_channel(person_channel(user), {"type": "access.changed"}))


_wakers: list[Waker] = []


def register_waker(waker: Waker) -> None:
    """Call `waker` for this process's own wakes too, until its event loop is closed."""
    _wakers.append(waker)


def wake(run_ids: Collection[UUID]) -> None:
    """Wake the requests that wait for these runs, in every web process; in this one at once."""
    # A copy: a waker whose event loop is closed is removed here.
    for waker in list(_wakers):
        try:
            # This raises if the waker's event loop was closed meanwhile.
            waker(run_ids)
        except RuntimeError:
            _wakers.remove(waker)
    runs = [run_id.hex for run_id in run_ids]
    send_to_channel(wake_channel(), {"type": "wake", "runs": runs})


@dataclass(slots=True)
class _Subscription:
    """The listeners to a channel, and whether the broker has confirmed it."""

    listeners: dict[Listener, OnLost | None] = field(default_factory=dict)
    confirmed: asyncio.Event = field(default_factory=asyncio.Event)


class Subscriber:
    """The channels of one event loop. Messages that are sent while the broker is away are lost."""

    def __init__(self) -> None:
        self._subscriptions: dict[str, _Subscription] = {}
        self._subscribed: set[str] = set()
        self._pubsub: PubSub | None = None
        self._lock: asyncio.Lock
        self._listen_task: asyncio.Task[None] | None = None

    async def add(self, channel: str, listener: Listener, lost: OnLost | None = None) -> None:
        """Listen to a channel; on return the broker has confirmed it: nothing is missed.

        `lost` is called when the connection was lost: messages may be missed from then on.
        """
        # Also if the last listener has just left: that task is ending.
        if self._listen_task is None or self._listen_task.done() or self._listen_task.cancelling():
            self._subscriptions = {}
            self._pubsub = None  # the old task closes its own
            self._lock = asyncio.Lock()
            self._listen_task = asyncio.create_task(self._listen())
        subscription = self._subscriptions.setdefault(channel, _Subscription())
        subscription.listeners[listener] = lost
        await self._subscribe()
        _raise_if_cancelled()
        await subscription.confirmed.wait()

    async def remove(self, channel: str, listener: Listener) -> None:
        """Stop listening to a channel; the last listener to leave closes the connection."""
        if subscription := self._subscriptions.get(channel):
            subscription.listeners.pop(listener, None)
        if any(known.listeners for known in self._subscriptions.values()):
            await self._subscribe()
        elif self._listen_task is not None:
            self._listen_task.cancel()
            await asyncio.wait({self._listen_task})

    async def _subscribe(self) -> None:
        """Subscribe and unsubscribe at the broker; `_listen` recovers from what fails."""
        with suppress(*BROKER_ERRORS):
            async with self._lock:
                await self._sync_subscriptions()

    async def _sync_subscriptions(self) -> None:
        if self._pubsub is None:
            return
        left = [name for name, known in self._subscriptions.items() if not known.listeners]
        for name in left:
            del self._subscriptions[name]
        # Noted before it is sent: if sending fails,
        # a new connection subscribes to all of them.
        new = self._subscriptions.keys() - self._subscribed
        self._subscribed = set(self._subscriptions)
        if left:
            await self._pubsub.unsubscribe(*left)
        if new:
            await self._pubsub.subscribe(*new)

    async def _listen(self) -> None:
        """Receive messages; start again when the broker goes away."""
        while True:
            try:
                await self._connect_and_listen()
            except BROKER_ERRORS as fault:
                logger.warning("the broker cannot be heard: %s", fault)
                for subscription in self._subscriptions.values():
                    for lost in filter(None, tuple(subscription.listeners.values())):
                        lost()
            # Otherwise a broker that restarts would be asked thousands of times a second.
            await asyncio.sleep(RECONNECT_AFTER_S)

    async def _connect_and_listen(self) -> None:
        # The client's own retries would race with ours.
        broker = Redis.from_url(
            settings.BROKER_URL, retry=Retry(NoBackoff(), 0), client_name=CLIENT_NAME
        )
        async with broker, broker.pubsub() as pubsub:
            try:
                async with self._lock:
                    self._pubsub, self._subscribed = pubsub, set()
                    await self._sync_subscriptions()
                _raise_if_cancelled()
                while True:
                    self._dispatch(await pubsub.get_message(timeout=None))
            finally:
                if self._pubsub is pubsub:  # otherwise another task listens, with its own
                    self._pubsub = None
                    for subscription in self._subscriptions.values():
                        # Nothing is subscribed any more: a channel that is added now waits for
                        # the next connection.
                        subscription.confirmed.clear()

    def _dispatch(self, message: dict[str, Any] | None) -> None:
        subscription = self._subscriptions.get(message["channel"].decode()) if message else None
        if message is None or subscription is None:
            return
        if message["type"] == "subscribe":
            subscription.confirmed.set()
        elif message["type"] == "message":
            try:
                payload = json.loads(message["data"])
            except ValueError:
                logger.warning("what came on %s is no JSON", message["channel"])
                return
            # A copy: a listener may leave because of the message.
            for listener in tuple(subscription.listeners):
                try:
                    listener(payload)
                except Exception:
                    logger.exception("hearing %s failed", message["channel"])


def _raise_if_cancelled() -> None:
    """End a task that was cancelled while it sent: the library loses that (`wait_for_event`)."""
    if (task := asyncio.current_task()) and task.cancelling():
        raise asyncio.CancelledError


# One for the process.
subscriber = Subscriber()


async def wait_for_event(event: asyncio.Event, timeout_s: float) -> bool:
    """Wait until an event is set, or time is up; clear it, and return whether it was set.

    Not `asyncio.wait_for`: before Python 3.12 it loses a cancellation that comes as the event
    is set, and the request of a client that hung up would wait on and on.
    """
    waking = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waking}, timeout=timeout_s)
    finally:
        waking.cancel()
    was_set = event.is_set()
    event.clear()
    return was_set
