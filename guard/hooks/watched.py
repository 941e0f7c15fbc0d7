"""A held call's request, watched: a server that stands still keeps its connections.

Stopped, or stuck, it answers nobody, while its system goes on saying that the line is alive: an
agent would wait for its own time-out. So who waits asks beside it, now and then.
"""

from __future__ import annotations

import itertools
import queue
import threading

from guard.adapters.hook import PROBING
from guard.errors import ServerAway
from guard.sdk.exchange import Answer, Request, Transport
from guard.sdk.keys import Connection
from guard.sdk.transport import HttpTransport

# More than the server takes to judge a call: who waits longer is held.
LOOKS_EVERY_S = 30.0
# The first looks are early: a server that answered then and stands still later had begun to wait
# with us. They only note that: one that is slow to judge must not be taken for one that is away.
EARLY_LOOKS_S = (0.25, 2.0)
EARLY_ANSWERS_WITHIN_S = 2.0
ANSWERS_WITHIN_S = 10.0


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
        outcomes = queue.SimpleQueue[Answer | Exception]()
        carrier, had_answered = self._carrier, False

        def send() -> None:
            try:
                outcomes.put(carrier.send(request))
            except Exception as error:  # noqa: BLE001 - raised where it was asked
                outcomes.put(error)

        threading.Thread(target=send, daemon=True).start()
        pauses = itertools.chain(EARLY_LOOKS_S, itertools.repeat(LOOKS_EVERY_S))
        while True:
            pause_s = next(pauses)
            try:
                outcome = outcomes.get(timeout=pause_s)
            except queue.Empty:
                is_early = pause_s < LOOKS_EVERY_S
                within_s = EARLY_ANSWERS_WITHIN_S if is_early else ANSWERS_WITHIN_S
                answer = probe(carrier, self._connection.client, within_s=within_s)
                had_answered = had_answered or answer is not None
                if answer or is_early:
                    continue
                # Once it goes on it must not answer there: nobody reads that any more.
                carrier.cut()
                self._carrier = HttpTransport(self._connection.url, self._connection.key)
                raise ServerSilent(had_answered=had_answered) from None
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

    def close(self) -> None:
        """Close what is kept."""
        self._carrier.close()
