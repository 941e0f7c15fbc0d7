"""Deliver an outbox to the server: in order, and safe to repeat."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from guard.errors import NotTheServer, ServerRefused
from guard.sdk.flow import Request, Response
from guard.sdk.outbox import ownerless_files
from guard.sdk.outbox_file import Batch, Record
from guard.sdk.responses import body_of, checked_response

logger = logging.getLogger("guard")

Send = Callable[[Request], Response]

MAX_TURNS_PER_REQUEST = 100
VERDICT_WAIT_S = 20
NETWORK_S = 10.0
KEY_REFUSED_STATUSES = frozenset({401, 403})


class DeliverySource(Protocol):
    """An outbox, or a file that an ended process left."""

    @property
    def has_pending(self) -> bool: ...

    def next_batch(self) -> Batch: ...

    def mark_delivered(self, batch: Batch) -> None: ...


class Delivery:
    """Delivers one source. `run_id` is known once the server has the run."""

    def __init__(self, send: Send, source: DeliverySource, *, run_id: str | None = None) -> None:
        self._send = send
        self._source = source
        self.run_id = run_id
        self.turns = 0

    def run(self) -> int:
        """Deliver everything; return how many turns were taken.

        Raises:
            ServerAway: It went away; what was taken is recorded, the rest stays.
            ServerRefused: It does not know our key; all stays.
        """
        # Repeated: the agent continues meanwhile, and keeps more turns.
        while self._source.has_pending:
            batch = self._source.next_batch()
            for group in request_groups(batch.records):
                self._deliver(group)
            self._source.mark_delivered(batch)
        return self.turns

    def _deliver(self, group: Sequence[Record]) -> None:
        try:
            self._send_group(group)
        except ServerRefused as refused:
            if refused.status in KEY_REFUSED_STATUSES:
                raise
            # Any other refusal would be repeated: it must not block what follows.
            logger.warning("Mission Control refused a part of the outbox: %s", refused)
        except NotTheServer as wrong_server:
            if self.run_id is None:
                raise
            # If the server answers another request, the content of the turn was rejected: a
            # firewall would reject it each time, and nothing after it would ever arrive.
            call_api(self._send, "GET", f"runs/{self.run_id}/", None)
            if len(group) == 1:
                logger.warning(
                    "a part of the outbox does not reach Mission Control: %s", wrong_server
                )
            else:
                for record in group:
                    self._deliver([record])

    def _send_group(self, group: Sequence[Record]) -> None:
        first = group[0]
        if "open" in first:
            # A caller that knows its run has just checked it; nobody has for a leftover.
            if self.run_id is None:
                opened = call_api(self._send, "POST", "runs/", first["open"])
                self.run_id = quote(str(opened["id"]), safe="")
        # A kill cut the opening short, or it has a form that we do not know.
        elif self.run_id is None:
            logger.warning("an outbox does not say which run it is of; passed over")
        elif "turn" in first:
            self._post_turns(group)
        elif "choice" in first:
            call_api(self._send, "POST", f"runs/{self.run_id}/choices/", first["choice"])
        elif "dropped" in first:
            # The run shows its own gap; delivered twice, it is the same turn.
            count = first["dropped"]
            text = f"Mission Control was away: at least {count} turns did not fit into the outbox."
            key = f"dropped:{self.run_id}:{count}"
            self._post_turns([{"turn": {"role": "system", "key": key, "content": text}}])
        elif "end" in first:
            call_api(self._send, "PATCH", f"runs/{self.run_id}/", {"status": first["end"]})

    def _post_turns(self, group: Sequence[Record]) -> None:
        """Post turns and wait until they are judged: a choice answers the cards that they open."""
        reply = call_api(
            self._send,
            "POST",
            f"runs/{self.run_id}/turns/",
            {"turns": [record["turn"] for record in group]},
            wait_s=VERDICT_WAIT_S,
        )
        self.turns += int(reply.get("accepted") or 0)
        for refusal in reply.get("refused") or ():
            logger.warning("Mission Control refused a turn: %s", refusal)


def deliver_ownerless_files(send: Send, folder: Path) -> Iterator[int]:
    """Deliver what ended processes left in a folder; yield the number of turns taken from each.

    Raises:
        ServerAway: It went away; what is left is kept.
        ServerRefused: It does not know our key; all is kept.
    """
    for file in ownerless_files(folder):
        try:
            delivered = Delivery(send, file).run()
        except BaseException:
            # Unlocked again: otherwise nobody could deliver it while this process lives.
            file.close()
            raise
        # Only now: a partly delivered file is continued where delivery stopped.
        file.remove()
        yield delivered


def request_groups(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Group consecutive turns into one request; give every other record its own."""
    group: list[Record] = []
    last_drop = max((n for n, record in enumerate(records) if "dropped" in record), default=-1)
    for n, record in enumerate(records):
        if "dropped" in record and n < last_drop:
            continue  # the count is cumulative: the last one is enough
        if group and ("turn" not in record or len(group) >= MAX_TURNS_PER_REQUEST):
            yield group
            group = []
        if "turn" in record:
            group.append(record)
        else:
            yield [record]
    if group:
        yield group


def call_api(send: Send, method: str, path: str, body: Any, *, wait_s: int = 0) -> Any:
    """Send one request and return the answer's body.

    Raises:
        ServerAway: No answer, or one that only says "later".
        ServerRefused: It said no.
    """
    # Nobody reads the answer to a late delivery: it must not carry texts for the model.
    headers = {"Prefer": f"wait={wait_s}, return=minimal"} if wait_s else {}
    request = Request(
        method=method, path=path, body=body, headers=headers, timeout_s=wait_s + NETWORK_S
    )
    return body_of(checked_response(send(request)))
