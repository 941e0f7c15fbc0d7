"""Hear channels of the broker: one connection a process, however many listen.

A message is decoded once and handed to everybody here who listens to its channel.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

LISTEN_AGAIN_S = 0.5
# What the broker's `CLIENT LIST` calls us.
CLIENT_NAME = f"mission-control-{os.getpid()}"
Listener = Callable[[dict[str, Any]], object]
Lost = Callable[[], object]
AWAY = (RedisError, OSError)


@dataclass(slots=True)
class _Subscription:
    """Who listens to a channel here, and whether the broker knows."""

    listeners: dict[Listener, Lost | None] = field(default_factory=dict)
    confirmed: asyncio.Event = field(default_factory=asyncio.Event)


class Subscriber:
    """The channels that one event loop hears. Messages sent while the broker is away are lost."""

    def __init__(self) -> None:
        self._subscriptions: dict[str, _Subscription] = {}
        self._known: set[str] = set()
        self._pubsub: PubSub | None = None
        self._lock: asyncio.Lock
        self._listening: asyncio.Task[None] | None = None

    async def add(self, channel: str, listener: Listener, lost: Lost | None = None) -> None:
        """Listen to a channel; on return the broker has confirmed it: nothing is missed.

        `lost` is called when the connection was lost: messages may be missed from then on.
        """
        # Also where the last listener just left: that task is ending.
        if self._listening is None or self._listening.done() or self._listening.cancelling():
            self._subscriptions = {}
            self._pubsub = None  # its own, which it closes
            self._lock = asyncio.Lock()
            self._listening = asyncio.create_task(self._listen())
        subscription = self._subscriptions.setdefault(channel, _Subscription())
        subscription.listeners[listener] = lost
        await self._subscribe()
        _hear_cancellation()
        await subscription.confirmed.wait()

    async def remove(self, channel: str, listener: Listener) -> None:
        """Listen to it no more; the last one to go closes the connection."""
        if subscription := self._subscriptions.get(channel):
            subscription.listeners.pop(listener, None)
        if any(known.listeners for known in self._subscriptions.values()):
            await self._subscribe()
        elif self._listening is not None:
            self._listening.cancel()
            await asyncio.wait({self._listening})

    async def _subscribe(self) -> None:
        """Tell the broker what is listened to, and what no more; `_listen` mends what fails."""
        with suppress(*AWAY):
            async with self._lock:
                await self._tell_broker()

    async def _tell_broker(self) -> None:
        if self._pubsub is None:
            return
        left = [name for name, known in self._subscriptions.items() if not known.listeners]
        for name in left:
            del self._subscriptions[name]
        # Noted before it is sent: where sending fails, the
        # connection is made anew with all of them.
        new, self._known = self._subscriptions.keys() - self._known, set(self._subscriptions)
        if left:
            await self._pubsub.unsubscribe(*left)
        if new:
            await self._pubsub.subscribe(*new)

    async def _listen(self) -> None:
        """Hear what comes; start over when the broker goes away."""
        while True:
            try:
                await self._connect_and_listen()
            except AWAY as fault:
                logger.warning("the broker cannot be heard: %s", fault)
                for subscription in self._subscriptions.values():
                    for lost in filter(None, tuple(subscription.listeners.values())):
                        lost()
            # A broker that starts again would be asked thousands of times a second.
            await asyncio.sleep(LISTEN_AGAIN_S)

    async def _connect_and_listen(self) -> None:
        # Its own trying again would race with ours.
        broker = Redis.from_url(
            settings.BROKER_URL, retry=Retry(NoBackoff(), 0), client_name=CLIENT_NAME
        )
        async with broker, broker.pubsub() as pubsub:
            try:
                async with self._lock:
                    self._pubsub, self._known = pubsub, set()
                    await self._tell_broker()
                _hear_cancellation()
                while True:
                    self._dispatch(await pubsub.get_message(timeout=None))
            finally:
                if self._pubsub is pubsub:  # else another task listens, and what it has is its own
                    self._pubsub = None
                    for subscription in self._subscriptions.values():
                        # Nothing is subscribed any more: who adds a channel now waits for the next
                        # connection.
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
            # A copy: whoever hears it may leave by it.
            for listener in tuple(subscription.listeners):
                try:
                    listener(payload)
                except Exception:
                    logger.exception("hearing %s failed", message["channel"])


def _hear_cancellation() -> None:
    """End a task that was cancelled while it sent: see `wait_for_event`, as the library has it."""
    if (task := asyncio.current_task()) and task.cancelling():
        raise asyncio.CancelledError


# Of this process.
subscriber = Subscriber()


async def wait_for_event(event: asyncio.Event, timeout_s: float) -> None:
    """Wait until an event is set, or for so long; it is unset then.

    No `wait_for`: before Python 3.12 it forgets that it was cancelled when the event is set
    in that moment, and a caller who hung up would be waited with on and on.
    """
    waking = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waking}, timeout=timeout_s)
    finally:
        waking.cancel()
    event.clear()
