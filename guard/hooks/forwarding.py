"""Post a hook body and wait for its answer, as long as a person may need.

A held call is a request that stays open. If the server goes away meanwhile, the forwarder keeps
waiting and asks again: turns have keys, so asking twice is one question. A server that is away from
the start is not waited for. A server that is stopped or stuck answers nobody, although its system
keeps the connection alive: therefore the forwarder sends a probe now and then.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import queue
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from guard.adapters.hook import PROBE_BODY, REPEAT_HEADER
from guard.errors import ServerAway
from guard.sdk.connections import Connection
from guard.sdk.flow import Request, Response, Transport
from guard.sdk.responses import (
    MAX_RETRY_WAIT_S,
    SUCCESSES,
    away_error,
    backoff,
    body_of,
    is_from_proxy,
    retry_delay,
)
from guard.sdk.transport import HttpTransport

# Longer than the server takes to judge a call: who waits longer is held.
PROBE_INTERVAL_S = 30.0
# The first probes are early: a server that answered them and hangs later had begun to hold the
# call. They only record that: a server that judges slowly must not be taken for one that is away.
EARLY_PROBES_S = (0.25, 2.0)
EARLY_PROBE_TIMEOUT_S = 2.0
PROBE_TIMEOUT_S = 10.0
# How long a server that held the call may be away: a restart, an update.
MAX_OUTAGE_S = 600.0
RETRY_PAUSE_S = 1.0
# What a proxy answers for a server that is not back yet, or that it no longer waits for.
RESTART_STATUSES = frozenset({502, 503, 504, 524})
# What a proxy answers after a server hung up; for an unreachable server it answers otherwise, or
# within `HELD_AFTER_S`.
BAD_GATEWAY = 502
# A request open for so long was held, and was cut off on the way: by a dead connection or by a
# proxy's time-out. Longer than it takes to connect.
HELD_AFTER_S = 10.0
# The server took the request and went away; `RemoteDisconnected` is a reset.
_CUT_ERRORS = (ConnectionResetError, BrokenPipeError, http.client.IncompleteRead)


def forward(
    connection: Connection,
    body: Mapping[str, Any],
    *,
    timeout_s: float = 10.0,
    headers: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    transport: Transport | None = None,
) -> Any:
    """Post a hook body and return the agent's answer.

    It may take `timeout_s` in all, restarts included. Tests replace HTTP by `transport`, and pass
    their own clock.

    Raises:
        ServerAway: Nobody answered.
        ServerRefused: The server answered with an error.
        ValueError: The connection's address or key is unusable.
    """
    ends_at = clock() + timeout_s
    retry_until = min(ends_at, clock() + MAX_RETRY_WAIT_S)
    # Set while a server that held the call is away: only such a server is waited for.
    away_since: float | None = None
    path = f"hooks/{connection.client}/"
    sent_headers = dict(headers or {})
    request_within = partial(Request, method="POST", path=path, body=body)
    with contextlib.closing(transport or ProbingTransport(connection)) as carrier:
        while True:
            asked_at = clock()
            error: ServerAway
            try:
                answer = carrier.send(
                    request_within(timeout_s=ends_at - clock(), headers=sent_headers)
                )
            except ServerAway as reason:
                is_cut, error = _is_cut(reason, waited_s=clock() - asked_at), reason
            else:
                pause_s = retry_delay(answer, left_s=retry_until - clock())
                if away_since is None and pause_s is not None:
                    sleep(pause_s)  # the server is there, and says when to ask again
                    continue
                if answer.status not in RESTART_STATUSES and not is_from_proxy(answer):
                    return answer.body if answer.status in SUCCESSES else body_of(answer)
                # A server that hung up after so long held the call: it restarts.
                is_cut = clock() - asked_at >= HELD_AFTER_S and (
                    answer.status == BAD_GATEWAY
                    or _is_server_up(carrier, connection, within_s=ends_at - clock())
                )
                error = away_error(answer)
            if away_since is None and not is_cut:
                raise error
            if is_cut:
                away_since = None  # it had come back, and went away again
            away_since = clock() if away_since is None else away_since
            if min(ends_at, away_since + MAX_OUTAGE_S) <= clock() + RETRY_PAUSE_S:
                raise error
            # The server may have stored it: agents that give calls no id rely on being told.
            sent_headers = {**sent_headers, REPEAT_HEADER: "1"}
            sleep(backoff(RETRY_PAUSE_S))


def _is_cut(reason: ServerAway, *, waited_s: float) -> bool:
    """Whether the server went away while it held the call."""
    if isinstance(reason, ServerSilent):
        return reason.had_answered  # if it never answered, it held nobody
    return isinstance(reason.__cause__, _CUT_ERRORS) or waited_s >= HELD_AFTER_S


def _is_server_up(carrier: Transport, connection: Connection, *, within_s: float) -> bool:
    """Whether the server behind a proxy answers; the proxy's status is the same if it is gone."""
    if within_s <= 0:
        return False
    answer = probe(carrier, connection.client, within_s=min(within_s, HELD_AFTER_S))
    return answer is not None and not is_from_proxy(answer)


def probe(carrier: Transport, client: str, *, within_s: float) -> Response | None:
    """Probe whether the server answers anybody; None: it does not."""
    path = f"hooks/{client}/"
    try:
        return carrier.send(Request(method="POST", path=path, body=PROBE_BODY, timeout_s=within_s))
    except ServerAway:
        return None


class ServerSilent(ServerAway):
    """The server accepts connections but does not answer; `had_answered`: it answered a probe."""

    def __init__(self, *, had_answered: bool) -> None:
        super().__init__("it takes connections and does not answer")
        self.had_answered = had_answered


# What a request returned, and whether a probe was answered.
_Outcomes = queue.SimpleQueue[Response | Exception | bool]


def _run_in_thread(asking: Callable[[], Response | bool], outcomes: _Outcomes) -> None:
    # Each in its own thread: an answer does not wait for a probe.
    def ask() -> None:
        try:
            outcomes.put(asking())
        except Exception as error:  # noqa: BLE001 - raised where it was asked
            outcomes.put(error)

    threading.Thread(target=ask, daemon=True).start()


class ProbingTransport:
    """Carries a hook's requests, and probes the server during long ones."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._carrier = HttpTransport(connection.url, connection.key)

    def send(self, request: Request) -> Response:
        """Send and read the whole answer.

        Raises:
            ServerAway: No answer within the request's time.
            ServerSilent: The probes are not answered either.
        """
        if request.timeout_s <= PROBE_INTERVAL_S:
            return self._carrier.send(request)
        outcomes = _Outcomes()
        carrier, client = self._carrier, self._connection.client

        def probe_server(within_s: float) -> bool:
            return probe(carrier, client, within_s=within_s) is not None

        _run_in_thread(partial(carrier.send, request), outcomes)
        had_answered = False
        for pause_s in itertools.chain(EARLY_PROBES_S, itertools.repeat(PROBE_INTERVAL_S)):
            is_early = pause_s < PROBE_INTERVAL_S
            within_s = EARLY_PROBE_TIMEOUT_S if is_early else PROBE_TIMEOUT_S
            try:
                outcome = outcomes.get(timeout=pause_s)
            except queue.Empty:
                _run_in_thread(partial(probe_server, within_s), outcomes)
                outcome = outcomes.get()
            if isinstance(outcome, Exception):
                raise outcome
            if not isinstance(outcome, bool):
                return outcome
            had_answered = had_answered or outcome
            if not (outcome or is_early):
                break
        # If the server continues, it must not answer there: nobody reads that any more.
        carrier.abort()
        self._carrier = HttpTransport(self._connection.url, self._connection.key)
        raise ServerSilent(had_answered=had_answered)

    def close(self) -> None:
        """Close the idle connections."""
        self._carrier.close()
