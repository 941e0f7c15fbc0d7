"""A supervisor's requests to the server, and their order for a run: open, follow, report."""

from __future__ import annotations

import contextlib
import math
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from guard.adapters.codex.hooks import CLIENT
from guard.adapters.hook import PROBE_BODY
from guard.errors import ServerAway, ServerRefused
from guard.sdk.connections import Connection
from guard.sdk.flow import Request, Response
from guard.sdk.responses import (
    NO_CONTENT,
    SUCCESSES,
    away_error,
    backoff,
    body_of,
    checked_response,
    directive_of,
)
from guard.sdk.transport import HttpTransport
from guard.sdk.turn_json import turn_to_json
from guard.turn import Turn
from guard.wire import Directive, DirectiveAction

# One request for the next directive; shorter than proxies' time-outs.
LONG_POLL_S = 25

# Short: a restart of the server takes seconds, and nobody else asks about this run.
RETRY_PAUSE_S = 1.0

# How long a command stays stopped for a server that is gone, as for a `guard.Session`.
MAX_HELD_OUTAGE_S = 300.0

# The command waits this long for it before it begins.
CHECK_TIMEOUT_S = 5.0

ENDED = frozenset({"completed", "failed", "terminated"})
# What is not reported by then is dropped, and the command ends.
FINAL_REPORT_S = 10.0


class RunClient:
    """The REST calls of a supervisor; safe for several threads."""

    def __init__(self, connection: Connection) -> None:
        self._transport = HttpTransport(connection.url, connection.key)
        self._fails_closed = connection.fail == "closed"

    def open_run(self, opening: Mapping[str, Any]) -> dict[str, Any]:
        """Open a run, or find the one with this key."""
        return dict(body_of(self._request("POST", "runs/", opening)))

    def try_open_run(self, opening: Mapping[str, Any]) -> str | None:
        """Open a run before its agent starts; None: opened once the server is back, or refused.

        Raises:
            ServerAway: It must fail closed: nothing starts unwatched.
            ServerRefused: Likewise.
        """
        try:
            return str(self.open_run(opening)["id"])
        except (ServerAway, ServerRefused):
            if self._fails_closed:
                raise
            return None

    def read_run(self, run_id: str) -> dict[str, Any]:
        """Read a run."""
        return dict(body_of(self._request("GET", f"runs/{run_id}/")))

    def update_run(self, run_id: str, **fields: Any) -> None:
        """Report capabilities, or the end."""
        body_of(self._request("PATCH", f"runs/{run_id}/", fields))

    def check_server(self) -> None:
        """Ask whether a server that knows our key is there."""
        body = self._request("POST", f"hooks/{CLIENT}/", PROBE_BODY, timeout_s=CHECK_TIMEOUT_S).body
        # A proxy or another program at this address may answer 200, too.
        if not isinstance(body, dict) or "missioncontrol" not in body:
            raise ServerAway("it is no Mission Control")

    def report_end(self, run_id: str, status: str) -> None:
        """Report an end that the run has not reported itself."""
        # Its own hooks may have reported it, and know better how it ended.
        if self.read_run(run_id)["status"] not in ENDED:
            self.update_run(run_id, status=status)

    def report_turns(self, run_id: str, turns: Sequence[Turn]) -> None:
        """Report turns."""
        body_of(
            self._request("POST", f"runs/{run_id}/turns/", {"turns": [*map(turn_to_json, turns)]})
        )

    def mark_delivered(self, run_id: str, message_id: str) -> None:
        """Report that a message reached the model."""
        path = f"runs/{run_id}/messages/{quote(message_id, safe='')}/delivered/"
        self._request("POST", path, {})

    def next_directive(
        self, run_id: str, *, after: int | None, as_agent: bool = False
    ) -> Directive | None:
        """Wait for a directive newer than `after`; None: there was none within one request."""
        query: dict[str, Any] = {} if as_agent else {"keeper": 1}
        if after is not None:
            query |= {"after": after, "wait": LONG_POLL_S}
        path = f"runs/{run_id}/directive/?{urlencode(query)}"
        # Longer than the wait; otherwise each quiet one would look like a server that is away.
        request = Request(method="GET", path=path, timeout_s=LONG_POLL_S + 10)
        answer = checked_response(self._transport.send(request))
        # An empty object is an answer to hooks and delivery notes, but not to this request.
        if answer.body == {}:
            raise away_error(answer)
        return directive_of(body_of(answer)) if answer.status != NO_CONTENT else None

    def directives(
        self, run_id: str, *, as_agent: Callable[[], bool], until: Callable[[], bool]
    ) -> Iterator[Directive]:
        """Yield each directive of a run as it comes, until `until` returns true.

        A stopped agent is not left so for good: if the server stays away, it is told to continue,
        unless it must fail closed; if its key is refused, it is told to stop, for nobody lifted the
        hold.

        Raises:
            ServerRefused: The server refused.
        """
        after: int | None = None
        while not until():
            ask = partial(self.next_directive, run_id, after=after, as_agent=as_agent())
            try:
                directive = retry_while_away(ask, until=until, for_s=MAX_HELD_OUTAGE_S)
            except ServerAway as away:
                after = None  # after an outage, the current directive is read again
                if as_agent() and not self._fails_closed:
                    yield Directive(version=0, action=DirectiveAction.PROCEED, reason=str(away))
            except ServerRefused as refused:
                if as_agent():
                    yield Directive(version=0, action=DirectiveAction.STOP, reason=str(refused))
                    return
                raise
            else:
                if directive is not None:
                    after = directive.version
                    yield directive

    def close(self) -> None:
        """Close the idle connections."""
        self._transport.close()

    def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        timeout_s: float = 10.0,
    ) -> Response:
        request = Request(method=method, path=path, body=body, timeout_s=timeout_s)
        answer = checked_response(self._transport.send(request))
        if answer.status not in SUCCESSES:
            body_of(answer)  # raises, with the server's reason
        return answer


def retry_while_away(
    call: Callable[[], Any], *, until: Callable[[], bool], for_s: float = math.inf
) -> Any:
    """Repeat a call while the server is away, until it succeeds or `until` returns true.

    Raises:
        ServerAway: It stayed away for `for_s` seconds.
        ServerRefused: The server refused.
    """
    ends_at = time.monotonic() + for_s
    while not until():
        try:
            return call()
        except ServerAway:
            if time.monotonic() >= ends_at:
                raise
            time.sleep(backoff(RETRY_PAUSE_S))
    return None


class Reporter:
    """Opens a run, reports its turns, and receives its directives.

    Args:
        client: Asks the server.
        opening: The body of `POST runs/`.
        on_directive: Called with each directive, in a thread of its own; returns once it is obeyed.
        pauses: The agent waits in this process while it is held, not in its own hooks.

    Raises:
        ServerAway: It must fail closed, and the run could not be opened.
        ServerRefused: Likewise.
    """

    def __init__(
        self,
        client: RunClient,
        opening: dict[str, Any],
        *,
        on_directive: Callable[[Directive], None],
        pauses: bool,
    ) -> None:
        self._client, self._opening = client, opening
        self._on_directive, self._pauses = on_directive, pauses
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._finished = threading.Event()
        self._run_id = client.try_open_run(opening)
        self._sender = threading.Thread(target=self._send_all, daemon=True)
        self._sender.start()

    def report_turn(self, turn: Turn) -> None:
        """Report a turn."""
        self._queue.put(lambda: self._client.report_turns(self._run_id or "", [turn]))

    def mark_delivered(self, message_id: str) -> None:
        """Report that a message reached the model."""
        self._queue.put(lambda: self._client.mark_delivered(self._run_id or "", message_id))

    def read_directive(self) -> Directive | None:
        """Read the directive; None: the server cannot be asked."""
        if self._run_id is None:
            return None
        with contextlib.suppress(ServerAway, ServerRefused):
            return self._client.next_directive(self._run_id, after=None)
        return None

    def finish(self, status: str) -> None:
        """Report what is left, and the end of the run unless the server knows of it."""
        self._queue.put(lambda: self._client.report_end(self._run_id or "", status))
        self._queue.put(None)
        if self._run_id is not None:
            # Without a run there is nothing to wait for: the server was away all along.
            self._sender.join(FINAL_REPORT_S)
        self._finished.set()
        self._client.close()

    def _send_all(self) -> None:
        # If the first try failed, the run is opened now; its key keeps it one run.
        run = self._retry(lambda: self._client.open_run(self._opening))
        if run is None:
            return
        self._run_id = run["id"]
        # Even if a hook opened it: then its capabilities were those of the hooks alone.
        capabilities = self._opening["capabilities"]
        self._retry(lambda: self._client.update_run(run["id"], capabilities=capabilities))
        threading.Thread(target=self._follow_directives, daemon=True).start()
        while (call := self._queue.get()) is not None:
            self._retry(call)

    def _follow_directives(self) -> None:
        waits = False
        directives = self._client.directives(
            self._run_id or "", as_agent=lambda: waits, until=self._finished.is_set
        )
        try:
            for directive in directives:
                waits = self._pauses and directive.action is DirectiveAction.HOLD
                self._on_directive(directive)
        except ServerRefused as error:
            sys.stderr.write(f"guard run: {error}\n")

    def _retry(self, call: Callable[[], Any]) -> Any:
        try:
            return retry_while_away(call, until=self._finished.is_set)
        except ServerRefused:
            return None  # one turn that is refused must not cost the others
