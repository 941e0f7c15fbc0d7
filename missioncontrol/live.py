"""One-way sockets for screens: a snapshot, then the messages of their group.

Owns nothing: reads snapshots (`decisions.rows`) and passes on what `runs.journal` published
after its commits. A browser opens one with its session and our own Origin, a script with a token.
A message for several sockets of a group is encoded once. Commits are sent together: at once what
a person may have to answer, turns and meters at most four times a second, and less often if so
many listen that sending would keep agents waiting.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Hashable
from operator import itemgetter
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth.models import User
from pydantic import TypeAdapter

from missioncontrol import broadcast, origin
from missioncontrol.accounts import credentials, sessions
from missioncontrol.accounts.models import PersonalToken
from missioncontrol.accounts.selectors import find_personal_token
from missioncontrol.accounts.tokens import PERSON_PREFIX, bearer_of
from missioncontrol.broadcast import Frame, subscriber, wait_for_event
from missioncontrol.clock import now
from missioncontrol.decisions import rows
from missioncontrol.errors import NotFound
from missioncontrol.runs.selectors import find_run
from missioncontrol.wire.events import Snapshot

logger = logging.getLogger(__name__)

PUBLISH_EVERY_S = 0.25
# Sending to one socket takes about a tenth of that.
PUBLISH_S_PER_SOCKET = 0.002

Send = Callable[[str], Awaitable[None]]


class Audience:
    """The sockets of one group, and what they have not been sent yet."""

    pause = staticmethod(wait_for_event)

    def __init__(self) -> None:
        # A dict for its order: the first to join is served first.
        self.sockets: dict[Send, None] = {}
        self._events: list[str] = []
        self._meters: dict[str, dict[str, Any]] = {}
        self._at_once = asyncio.Event()
        self._publishing: asyncio.Task[None] | None = None

    def add_frame(self, frame: Frame) -> None:
        """Add what one commit brought: events in order, the newest meters of each run."""
        self._events += frame["events"]
        for run, meters in frame["meters"].items():
            before = self._meters.get(run)
            self._meters[run] = _merge_meters(before, meters) if before else meters
        if frame["at_once"]:
            self._at_once.set()
        if self._publishing is None or self._publishing.done():
            self._publishing = asyncio.create_task(self._publish())

    def close(self) -> None:
        """Stop sending."""
        if self._publishing is not None:
            self._publishing.cancel()

    async def _publish(self) -> None:
        while self._events or self._meters:
            self._at_once.clear()
            texts, self._events = self._events, []
            runs, self._meters = self._meters, {}
            if len(texts) > 1:
                texts = ['{"type":"batch","events":[' + ",".join(texts) + "]}"]
            if runs:
                texts = [*texts, json.dumps({"type": "meters", "runs": runs})]
            for send in tuple(self.sockets):
                try:
                    for text in texts:
                        await send(text)
                except Exception:  # the others are still served
                    logger.exception("a socket could not be told")
                    self.sockets.pop(send, None)
                await asyncio.sleep(0)  # agents' requests run in between
            # Ten times what sending takes, however many listen: the rest of the time is for agents.
            pause_s = max(PUBLISH_EVERY_S, PUBLISH_S_PER_SOCKET * len(self.sockets))
            await self.pause(self._at_once, pause_s)


def _merge_meters(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the newest meters of a run, with the tape's points from both.

    Processes publish independently: an earlier commit's meters may come after a later one's. Both
    have the newest points of the tape, which overlap; meters from storing turns have none.
    """
    before, newest = sorted((one, other), key=itemgetter("turns", "judged_turns", "calls"))
    last = newest if newest["tape"] else before
    missing = last["judged_turns"] - len(last["tape"]) - before["judged_turns"]
    # If points between them are missing, the earlier ones would be drawn in the wrong place.
    kept = before["tape"][: max(0, len(before["tape"]) + missing)] if missing <= 0 else []
    return {**newest, "judged_turns": last["judged_turns"], "tape": [*kept, *last["tape"]]}


class Audiences:
    """The audiences of this process, by group."""

    def __init__(self) -> None:
        self._by_group: dict[str, Audience] = {}

    async def join(self, group: str, send: Send) -> None:
        """Pass a group's messages to `send`; after the return no commit is missed."""
        audience = self._by_group.setdefault(group, Audience())
        # Added before the audience subscribes, so that it gets the first message.
        audience.sockets[send] = None
        await subscriber.add(group, audience.add_frame)

    async def leave(self, group: str, send: Send) -> None:
        """Stop passing a group's messages to `send`."""
        audience = self._by_group.get(group)
        if audience is None:
            return
        audience.sockets.pop(send, None)
        if not audience.sockets:
            del self._by_group[group]
            audience.close()
            await subscriber.remove(group, audience.add_frame)


# One for the process.
audiences = Audiences()


class CoalescedReads:
    """Readings by name, shared by all that ask at the same time; at most one more waits for each.

    When a server comes back, every screen asks for its project's board within a second.
    A socket that asks during a reading waits for the next one, which begins after the socket
    has joined its group, so that nothing is missed between the reading and the first event.
    """

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Future[str]] = {}
        self._next: dict[Hashable, asyncio.Future[str]] = {}

    async def read(self, name: Hashable, reading: Callable[[], Awaitable[str]]) -> str:
        """Return the result of `reading`, from a call that has not begun yet."""
        waiting = self._next.get(name)
        if waiting is None:

            async def read_after_running() -> str:
                if name in self._running:
                    await asyncio.wait([self._running[name]])
                # The reading begins here: a socket that asks now needs the next one.
                self._running[name] = self._next.pop(name)
                try:
                    return await reading()
                finally:
                    del self._running[name]

            waiting = self._next[name] = asyncio.ensure_future(read_after_running())
        # A socket that closes must not end the reading for all others.
        return await asyncio.shield(waiting)


# An expired session causes no message: it has to be checked.
ACCESS_CHECK_INTERVAL_S = 15.0
# Sent as often, about no run: a dead connection ends on neither side, and only silence shows it.
KEEPALIVE = '{"type": "meters", "runs": {}}'
# After a check that failed.
RETRY_CHECK_AFTER_S = 1.0
# The browser reconnects for a snapshot. A private code: Autobahn sends no standard one but 1000.
CLOSE_RECONNECT = 4012
CLOSE_NOT_SIGNED_IN = 4401
CLOSE_FORBIDDEN = 4403

_snapshots: TypeAdapter[Snapshot] = TypeAdapter(Snapshot)
# One for the process: what many sockets ask for at once is read once.
snapshot_reads = CoalescedReads()
# The scheme of the page that may open such a socket.
PAGE_SCHEMES = {"ws": "http", "wss": "https"}


class SocketRefused(Exception):
    """A socket may not, or no longer, show its place: it is closed with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """What both sockets do: join first, then read, so that nothing is missed."""

    group: str
    person_channel: str

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket, and leave its group however it ends."""
        self._access_task: asyncio.Task[None] | None = None
        self._needs_check = asyncio.Event()
        self._missed = False
        # The group's messages from before the snapshot was sent; None: it was sent.
        self._buffered: list[str] | None = []
        try:
            await super().__call__(scope, receive, send)
        finally:
            # A browser that disconnects cancels this:
            # the group must be left even then.
            if self._access_task is not None:
                self._access_task.cancel()
            # It may end before it ever joined.
            if hasattr(self, "person_channel"):
                try:
                    await audiences.leave(self.group, self._forward)
                finally:  # a server that shuts down may cancel that too
                    await subscriber.remove(self.person_channel, self._recheck_access)

    async def connect(self) -> None:
        """Accept, then refuse with a code that a browser can read."""
        await self.accept()
        try:
            shown_id = UUID(self.scope["path_params"]["id"])
            access = await database_sync_to_async(self._read_access)(shown_id)
            user, projects, self.group = access
            self.person_channel = broadcast.person_channel(user.pk)
            # Joined before it is read: what is committed in between comes as an event.
            await audiences.join(self.group, self._forward)
            await subscriber.add(
                self.person_channel, self._recheck_access, self._note_lost_messages
            )
            self._missed = False  # what was missed before is in the snapshot

            def read_text() -> str:
                return _snapshots.dump_json(self.read_snapshot(shown_id, projects)).decode()

            reading: Callable[[], Awaitable[str]] = database_sync_to_async(read_text)
            # By this name: all who may listen to a place read the same.
            shown = (type(self).__name__, shown_id)
            await self.send(await snapshot_reads.read(shown, reading))
            while self._buffered:  # more may come while one is sent
                await self.send(self._buffered.pop(0))
            self._buffered = None
            self._access_task = asyncio.create_task(self._watch_access(shown_id))
        except SocketRefused as refused:
            await self.close(refused.code)
        except (NotFound, ValueError):
            await self.close(CLOSE_FORBIDDEN)

    def _read_access(self, shown_id: UUID) -> tuple[User, list[UUID], str]:
        """Return who opened the socket, their projects now, and the group of what it shows.

        Raises:
            SocketRefused: they are not signed in, or may not see this.
        """
        opener = authenticate_socket(self.scope)
        if opener is None:
            raise SocketRefused(CLOSE_NOT_SIGNED_IN)
        user, token = opener
        mine = credentials.open_memberships_of(user, token=token)
        projects = list(mine.values_list("project_id", flat=True))
        try:
            return user, projects, self.group_of(shown_id, projects)
        except NotFound:
            raise SocketRefused(CLOSE_FORBIDDEN) from None

    async def _forward(self, text: str) -> None:
        """Send a message of the group; one that comes before the snapshot waits for it."""
        if self._buffered is None:
            await self.send(text)
        else:
            self._buffered.append(text)

    async def _watch_access(self, shown_id: UUID) -> None:
        """Close once the session, the token or the membership is gone, or messages were lost.

        Send `KEEPALIVE` in between.
        """
        while True:
            needs_check = await wait_for_event(self._needs_check, ACCESS_CHECK_INTERVAL_S)
            try:
                if not needs_check:
                    await self.send(KEEPALIVE)
                # What the broker lost cannot be fetched: a new snapshot has it.
                if self._missed:
                    await self.close(CLOSE_RECONNECT)
                    return
                await database_sync_to_async(self._read_access)(shown_id)
            except SocketRefused as refused:
                await self.close(refused.code)
                return
            except Exception:  # a database that is away must not end the checks
                logger.exception("who may look at %s could not be read", self.group)
                self._needs_check.set()
                await asyncio.sleep(RETRY_CHECK_AFTER_S)

    def _recheck_access(self, message: dict[str, Any]) -> None:
        """Check at once: a token, a session or a membership of this person changed."""
        self._needs_check.set()

    def _note_lost_messages(self) -> None:
        """Make the browser read again: the broker was away, and messages are lost."""
        self._missed = True
        self._needs_check.set()

    group_of: Callable[[UUID, list[UUID]], str]
    read_snapshot: Callable[[UUID, list[UUID]], Snapshot]


class BoardConsumer(LiveConsumer):
    """`/ws/projects/{id}/`."""

    @staticmethod
    def group_of(shown_id: UUID, projects: list[UUID]) -> str:
        """Return the project's group, for one of its members."""
        if shown_id not in projects:
            raise NotFound("The project")
        return broadcast.board_group(shown_id)

    @staticmethod
    def read_snapshot(shown_id: UUID, projects: list[UUID]) -> Snapshot:
        """Read the board."""
        return rows.board_snapshot(shown_id, at=now())


class RunConsumer(LiveConsumer):
    """`/ws/runs/{id}/`."""

    @staticmethod
    def group_of(shown_id: UUID, projects: list[UUID]) -> str:
        """Return the run's group, for a person who may see it."""
        return broadcast.run_group(find_run(shown_id, projects=projects).id)

    @staticmethod
    def read_snapshot(shown_id: UUID, projects: list[UUID]) -> Snapshot:
        """Read the run's page."""
        return rows.run_snapshot(find_run(shown_id, projects=projects), at=now())


def authenticate_socket(scope: dict[str, Any]) -> tuple[User, PersonalToken | None] | None:
    """Return who opens a socket, and the token they sent, if any; None: refused."""
    headers = {name.decode("latin1"): value.decode("latin1") for name, value in scope["headers"]}
    scheme = scope.get("scheme", "ws")
    if not origin.is_our_host(headers.get("host", "")):
        return None
    # A script's socket has no Origin, and needs none: no browser sends this header by itself.
    if token := bearer_of(headers.get("authorization", "")):
        row = find_personal_token(token, at=now()) if token.startswith(PERSON_PREFIX) else None
        return (row.user, row) if row else None
    # A page of another site may send our cookie, but not our Origin: scheme, host and port.
    ours = {f"{PAGE_SCHEMES[scheme]}://{headers.get('host', '')}"}
    if settings.PUBLIC_URL:
        public = urlsplit(settings.PUBLIC_URL)
        ours.add(f"{public.scheme}://{public.netloc}")
    if headers.get("origin") not in ours:
        return None
    # Over HTTPS the cookie has another name, which no neighbouring host can set.
    name = origin.cookie_name(settings.SESSION_COOKIE_NAME, scheme)
    user = sessions.user_of_cookie(headers.get("cookie", ""), name)
    return (user, None) if user else None


ROUTES = (
    # With and without hyphens, as a UUID may be written.
    (re.compile(r"^/ws/projects/(?P<id>[0-9a-f-]{32,36})/$"), BoardConsumer.as_asgi()),
    (re.compile(r"^/ws/runs/(?P<id>[0-9a-f-]{32,36})/$"), RunConsumer.as_asgi()),
)


async def serve_socket(scope: Any, receive: Any, send: Any) -> None:
    """Serve a socket; an unknown address is accepted and closed with 4403."""
    for address, consumer in ROUTES:
        found = address.match(scope["path"])
        if found:
            await consumer({**scope, "path_params": found.groupdict()}, receive, send)
            return
    # If it were refused in the handshake, a browser could not read why.
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": CLOSE_FORBIDDEN})
