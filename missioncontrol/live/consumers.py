"""One-way sockets: a snapshot, then events as they are committed, meters at 4 Hz."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from pydantic import TypeAdapter

from missioncontrol import broadcast
from missioncontrol.accounts.models import Membership
from missioncontrol.clock import now
from missioncontrol.errors import NotFound
from missioncontrol.live.sharing import SharedReading
from missioncontrol.live.signing_in import person_of
from missioncontrol.oversight import selectors
from missioncontrol.runs.selectors import find_run
from missioncontrol.wire.frames import Snapshot

METERS_EVERY_S = 0.25
CHECKED_EVERY_S = 15.0
NOT_SIGNED_IN = 4401
NOT_YOURS = 4403
NOTHING: dict[str, Any] = {"events": [], "meters": {}}

_snapshots: TypeAdapter[Snapshot] = TypeAdapter(Snapshot)
readings = SharedReading()
"""Of this process: what many sockets ask for at once is read once."""


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """What both sockets do: join first, then read, so that nothing is missed."""

    group: str

    async def connect(self) -> None:
        """Accept, then refuse with a code that a browser can read."""
        await self.accept()
        self._meters: dict[str, dict[str, Any]] = {}
        self._ticking: asyncio.Task[None] | None = None
        self._guarding: asyncio.Task[None] | None = None
        user = await database_sync_to_async(person_of)(self.scope)
        if user is None:
            await self.close(NOT_SIGNED_IN)
            return
        try:
            await self._begin(UUID(self.scope["path_params"]["id"]), user)
        except (NotFound, ValueError):
            await self.close(NOT_YOURS)

    async def _begin(self, place: UUID, user: Any) -> None:
        projects = await database_sync_to_async(_projects_of)(user)
        self.place = place
        self.group = await database_sync_to_async(self.group_of)(place, projects)
        self.mine = broadcast.person_group(user.pk)
        for group in (self.group, self.mine):
            await self.channel_layer.group_add(group, self.channel_name)
        await self.send(await readings.read(self.shown(place), self._reading(place, projects)))
        self._guarding = asyncio.create_task(self._stay_allowed())

    def shown(self, place: UUID) -> tuple[str, UUID]:
        """Name what is read: who may listen to it reads the same."""
        return type(self).__name__, place

    def _reading(self, place: UUID, projects: list[UUID]) -> Callable[[], Awaitable[str]]:
        def text() -> str:
            return _snapshots.dump_json(self.read(place, projects)).decode()

        reading: Callable[[], Awaitable[str]] = database_sync_to_async(text)
        return reading

    async def _stay_allowed(self) -> None:
        """Close once the session, the token or the membership is gone."""
        while True:
            await asyncio.sleep(CHECKED_EVERY_S)
            if not await self._is_allowed():
                return

    async def _is_allowed(self) -> bool:
        user = await database_sync_to_async(person_of)(self.scope)
        if user is None:
            await self.close(NOT_SIGNED_IN)
            return False
        try:
            projects = await database_sync_to_async(_projects_of)(user)
            await database_sync_to_async(self.group_of)(self.place, projects)
        except NotFound:
            await self.close(NOT_YOURS)
            return False
        return True

    async def access_changed(self, message: dict[str, Any]) -> None:
        """Look at once: a token, a session or a membership of this person changed."""
        await self._is_allowed()

    async def disconnect(self, code: int) -> None:
        """Leave the group."""
        for task in (self._ticking, self._guarding):
            if task is not None:
                task.cancel()
        for group in (getattr(self, "group", None), getattr(self, "mine", None)):
            if group is not None:
                await self.channel_layer.group_discard(group, self.channel_name)

    async def live_frame(self, message: dict[str, Any]) -> None:
        """Pass on what one commit brought."""
        part = self.part_of(message)
        events = part["events"]
        if len(events) == 1:
            await self.send(events[0])
        elif events:
            await self.send('{"type":"batch","events":[' + ",".join(events) + "]}")
        for run, meters in part["meters"].items():
            self._note(run, meters)

    def _note(self, run: str, meters: dict[str, Any]) -> None:
        """Keep the newest meters of a run, with every tape point not yet sent."""
        self._meters[run] = _merged(self._meters.get(run), meters)
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.create_task(self._tick())

    async def _tick(self) -> None:
        while self._meters:
            runs, self._meters = self._meters, {}
            await self.send(json.dumps({"type": "meters", "runs": runs}))
            await self.pause(METERS_EVERY_S)

    def part_of(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return what of a frame is for this socket."""
        return message

    pause: Callable[[float], Awaitable[None]] = staticmethod(asyncio.sleep)
    group_of: Callable[[UUID, list[UUID]], str]
    read: Callable[[UUID, list[UUID]], Snapshot]


class BoardConsumer(LiveConsumer):
    """`/ws/projects/{id}/`."""

    @staticmethod
    def group_of(place: UUID, projects: list[UUID]) -> str:
        """Name the project's group, for one of its members."""
        if place not in projects:
            raise NotFound("The project")
        return broadcast.board_group(place)

    @staticmethod
    def read(place: UUID, projects: list[UUID]) -> Snapshot:
        """Read the board."""
        return selectors.board(place, at=now())


class RunConsumer(LiveConsumer):
    """`/ws/runs/{id}/`."""

    @staticmethod
    def group_of(place: UUID, projects: list[UUID]) -> str:
        """Name the group of the pages of the run's project."""
        return broadcast.pages_group(find_run(place, projects=projects).project_id)

    def part_of(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return this run's part; most frames have none."""
        part: dict[str, Any] = message["runs"].get(self.place.hex, NOTHING)
        return part

    @staticmethod
    def read(place: UUID, projects: list[UUID]) -> Snapshot:
        """Read the run's page."""
        return selectors.page(find_run(place, projects=projects), at=now())


def _merged(before: dict[str, Any] | None, now: dict[str, Any]) -> dict[str, Any]:
    """Join the unsent tape points of two meters by their place in the run."""
    if before is None:
        return now
    overlap = before["judged_turns"] - (now["judged_turns"] - len(now["tape"]))
    kept = before["tape"][: max(0, len(before["tape"]) - max(0, overlap))]
    return {**now, "tape": [*kept, *now["tape"]]}


def _projects_of(user: Any) -> list[UUID]:
    return list(Membership.objects.filter(user=user).values_list("project_id", flat=True))
