"""Post a hook body and wait for its answer, as long as a person may need.

A held call is a request that stays open. When the server goes away under it, the
forwarder goes on waiting and asks again: turns have keys, so asking twice is one
question. A server that is away from the start is not waited for. One that is stopped, or
stuck, answers nobody, while its system goes on saying that the line is alive: so who waits
asks beside it, now and then.
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

from guard.adapters.hook import PROBING
from guard.errors import ServerAway
from guard.sdk.exchange import Answer, Request, Transport
from guard.sdk.keys import Connection
from guard.sdk.transport import HttpTransport
from guard.sdk.wording import (
    AGAIN_WITHIN_S,
    SUCCESSES,
    body_of,
    comes_again_in,
    is_page,
    not_now,
    pause_of,
)

# More than the server takes to judge a call: who waits longer is held.
LOOKS_EVERY_S = 30.0
# The first looks are early: a server that answered then and stands still later had begun to wait
# with us. They only note that: one that is slow to judge must not be taken for one that is away.
EARLY_LOOKS_S = (0.25, 2.0)
EARLY_ANSWERS_WITHIN_S = 2.0
ANSWERS_WITHIN_S = 10.0
# A server that was waiting with us may be away this long: a restart, an update.
RETURNS_WITHIN_S = 600.0
ASKS_EVERY_S = 1.0
# What a proxy says in the place of a server that is not back yet, or that it will not wait for.
RESTARTING = frozenset({502, 503, 504, 524})
# What a proxy says of a server that hung up; of one it cannot reach it says another, or says it
# within `WAITED_S`.
BAD_GATEWAY = 502
# Whose question stood so long was waited with, and cut off by what lies between: a line that went
# dead, a proxy that waits no longer. More than it takes to connect.
WAITED_S = 10.0
# The server had taken the request and went away; `RemoteDisconnected` is a reset.
_CUT = (ConnectionResetError, BrokenPipeError, http.client.IncompleteRead)


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

    It may take `timeout_s` in all, restarts included. For tests `transport` replaces HTTP,
    and the clock is theirs.

    Raises:
        ServerAway: Nobody answered.
        ServerRefused: The server answered with an error.
        ValueError: The connection's address or key is unusable.
    """
    ends_at = clock() + timeout_s
    again_until = min(ends_at, clock() + AGAIN_WITHIN_S)
    # Set while a server that had begun to wait with us is away: only that one is waited for.
    away_since: float | None = None
    path = f"hooks/{connection.client}/"
    asked = partial(Request, method="POST", path=path, body=body, headers=headers or {})
    with contextlib.closing(transport or WatchedTransport(connection)) as carrier:
        while True:
            asked_at = clock()
            error: ServerAway
            try:
                answer = carrier.send(asked(timeout_s=ends_at - clock()))
            except ServerAway as reason:
                is_cut, error = _is_cut(reason, waited_s=clock() - asked_at), reason
            else:
                pause_s = comes_again_in(answer, left_s=again_until - clock())
                if away_since is None and pause_s is not None:
                    sleep(pause_s)  # it is there, and says when
                    continue
                if answer.status not in RESTARTING and not is_page(answer):
                    return answer.body if answer.status in SUCCESSES else body_of(answer)
                # A server that hung up after so long had begun to wait with us: it restarts.
                is_cut = clock() - asked_at >= WAITED_S and (
                    answer.status == BAD_GATEWAY
                    or _is_there(carrier, connection, within_s=ends_at - clock())
                )
                error = not_now(answer)
            if away_since is None and not is_cut:
                raise error
            if is_cut:
                away_since = None  # it was there again, and left again
            away_since = clock() if away_since is None else away_since
            if min(ends_at, away_since + RETURNS_WITHIN_S) <= clock() + ASKS_EVERY_S:
                raise error
            sleep(pause_of(ASKS_EVERY_S))


def _is_cut(reason: ServerAway, *, waited_s: float) -> bool:
    """Whether a server that had begun to wait with us went away meanwhile."""
    if isinstance(reason, ServerSilent):
        return reason.had_answered  # from the start it held nobody
    return isinstance(reason.__cause__, _CUT) or waited_s >= WAITED_S


def _is_there(carrier: Transport, connection: Connection, *, within_s: float) -> bool:
    """Whether the server answers behind a proxy, which says the same where it is gone."""
    if within_s <= 0:
        return False
    answer = probe(carrier, connection.client, within_s=min(within_s, WAITED_S))
    return answer is not None and not is_page(answer)


def probe(carrier: Transport, client: str, *, within_s: float) -> Answer | None:
    """Ask whether the server answers anybody; None: it does not."""
    path = f"hooks/{client}/"
    try:
        return carrier.send(Request(method="POST", path=path, body=PROBING, timeout_s=within_s))
    except ServerAway:
        return None


class ServerSilent(ServerAway):
    """The server takes connections and answers nobody; `had_answered` while this call waited."""

    def __init__(self, *, had_answered: bool) -> None:
        super().__init__("it takes connections and does not answer")
        self.had_answered = had_answered


# What a request gave, and whether a look beside it was answered.
_Outcomes = queue.SimpleQueue[Answer | Exception | bool]


def _ask(asking: Callable[[], Answer | bool], outcomes: _Outcomes) -> None:
    # In a thread for each: an answer does not wait for what was asked beside it.
    def ask() -> None:
        try:
            outcomes.put(asking())
        except Exception as error:  # noqa: BLE001 - raised where it was asked
            outcomes.put(error)

    threading.Thread(target=ask, daemon=True).start()


class WatchedTransport:
    """Carries a hook's requests, and asks beside each that takes long."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._carrier = HttpTransport(connection.url, connection.key)

    def send(self, request: Request) -> Answer:
        """Send and read the whole answer.

        Raises:
            ServerAway: No answer within the request's time.
            ServerSilent: Nobody else is answered either.
        """
        if request.timeout_s <= LOOKS_EVERY_S:
            return self._carrier.send(request)
        outcomes = _Outcomes()
        carrier, client = self._carrier, self._connection.client

        def look(within_s: float) -> bool:
            return probe(carrier, client, within_s=within_s) is not None

        _ask(partial(carrier.send, request), outcomes)
        had_answered = False
        for pause_s in itertools.chain(EARLY_LOOKS_S, itertools.repeat(LOOKS_EVERY_S)):
            is_early = pause_s < LOOKS_EVERY_S
            within_s = EARLY_ANSWERS_WITHIN_S if is_early else ANSWERS_WITHIN_S
            try:
                outcome = outcomes.get(timeout=pause_s)
            except queue.Empty:
                _ask(partial(look, within_s), outcomes)
                outcome = outcomes.get()
            if isinstance(outcome, Exception):
                raise outcome
            if not isinstance(outcome, bool):
                return outcome
            had_answered = had_answered or outcome
            if not (outcome or is_early):
                break
        # Once it goes on it must not answer there: nobody reads that any more.
        carrier.cut()
        self._carrier = HttpTransport(self._connection.url, self._connection.key)
        raise ServerSilent(had_answered=had_answered)

    def close(self) -> None:
        """Close what is kept."""
        self._carrier.close()
