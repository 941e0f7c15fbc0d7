"""The protocol between a session and Mission Control, without a network.

Every method is a flow (see `guard.sdk.flow`). The important rules are written here once, for
the synchronous and the asynchronous session:

- the host is never broken: if the server is away, one log line is written, and either the run
  continues under the same engine in this process (`fail="open"`) or its tools wait (`"closed"`);
  its turns are reported later;
- a held call asks again as long as it is held, even across a restart of the server;
- a message is given to the caller once, then marked delivered.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal
from urllib.parse import quote, urlencode

from guard.errors import ServerAway, ServerRefused, Stopped
from guard.events import Directed, Emitter, Ended, Messaged
from guard.sdk.flow import BlockingCall, Flow, Request, Response, Wait
from guard.sdk.forking import register_after_fork
from guard.sdk.offline import Offline
from guard.sdk.offline_answers import UNREACHABLE, Fail, Go, OfflineAnswers, new_key
from guard.sdk.responses import (
    MAX_RETRY_WAIT_S,
    NO_CONTENT,
    away_error,
    backoff,
    body_of,
    checked_response,
    directive_of,
    is_from_proxy,
    is_temporary,
    retry_delay,
)
from guard.sdk.turn_json import turn_to_json
from guard.turn import Turn
from guard.wire import CallAction, Directive, DirectiveAction, Escalation

__all__ = ["UNREACHABLE", "Conversation", "Fail", "Go", "new_key"]

logger = logging.getLogger("guard")

# How long a proposed call waits for detection. Detection usually takes milliseconds; the turn of a
# killed worker is judged again within seconds.
VERDICT_WAIT_S = 20

# One long poll of a held call; the server allows at most 60.
POLL_S = 50

# What the network may add to the server's own waiting time.
NETWORK_S = 10.0

# How long a held call asks a server that is gone before `fail` decides.
MAX_OUTAGE_S = 300.0

# The first and the longest pause between two requests of a held call whose server is gone.
FIRST_PAUSE_S = 0.25
MAX_PAUSE_S = 5.0

EFFECT_OF_FAIL: Mapping[Fail, str] = {"open": "going on without it", "closed": "tools are blocked"}
REFUSED_WHILE_HELD = (
    "This call was held, and Mission Control takes no more questions from this agent; "
    "it was not run."
)
ANSWERED_ELSEWHERE = "Mission Control answered another call instead; this one was not run."


# Compared by identity, not by its fields: a forked child finds it among the live objects.
@dataclass(slots=True, kw_only=True, eq=False, weakref_slot=True)
class Conversation:
    """One run's side of the protocol. May be used by several threads at once."""

    opening: Mapping[str, Any]
    offline: Offline
    fail: Fail = "open"
    asks_person: bool = True
    stop_reason: str | None = None
    emit: Emitter = field(default_factory=lambda: Emitter(None))
    _delivered_ids: set[str] = field(default_factory=set)
    _unmarked_ids: list[str] = field(default_factory=list)
    _escalations: list[Escalation] = field(default_factory=list)
    _was_refused: bool = False
    _lock: threading.Lock = field(init=False)
    _offline_answers: OfflineAnswers = field(init=False)

    def __post_init__(self) -> None:
        self._offline_answers = OfflineAnswers(
            offline=self.offline,
            name=str(self.opening.get("name")),
            fail=self.fail,
            asks_person=self.asks_person,
        )
        self.reset_after_fork()
        register_after_fork(self)

    def reset_after_fork(self) -> None:
        """Create a new lock for this process."""
        self._lock = threading.Lock()

    @property
    def run_id(self) -> str | None:
        """The run's id on the server; None until the server was first reached."""
        return self.offline.run_id

    def open(self) -> Flow[None]:
        """Open the run, or find it again; if the server is away, go on without one."""
        try:
            yield from self._open_run()
        except ServerAway as error:
            self._note_away(error)
        except ServerRefused as error:
            self._note_refused(error)

    def propose(self, turn: Turn) -> Flow[Go]:
        """Propose a call and wait for its verdict, even while held.

        Raises:
            Stopped: The run is over.
        """
        self._raise_if_stopped()
        self.offline.recent_turns.add(turn)
        if self.offline.away and self.fail == "closed":
            # No tool may run without the server: wait some seconds to see whether it returns.
            yield BlockingCall(function=self.offline.retry_now)
        if self.offline.away:
            return (yield from self._propose_offline(turn))
        return (yield from self._propose_to_server(turn))

    def report(self, turn: Turn) -> Flow[tuple[str, ...]]:
        """Report a completed turn; return messages for the model.

        Raises:
            Stopped: The run is over.
        """
        self._raise_if_stopped()
        self.offline.recent_turns.add(turn)
        # None: the server came back in between, and is told of this turn directly.
        if self.offline.away:
            nudges = yield from self._offline_answers.report(turn)
            if nudges is not None:
                return nudges
        try:
            directive = yield from self._post_turn(turn)
        except ServerAway as error:
            self._note_away(error)
            return (yield from self._offline_answers.report(turn)) or ()
        except ServerRefused as error:
            self._note_refused(error)
            return ()
        return (yield from self._take_messages(turn, directive))

    def end(self, status: Literal["completed", "failed"]) -> Flow[None]:
        """End the run. A run that was stopped becomes terminated."""
        # If no server was ever told of this run, there is none to end.
        if not self._queue_end(status) and self.run_id is not None:
            try:
                yield from self._mark_delivered()
                path = f"runs/{self.run_id}/"
                yield from self._request(
                    Request(method="PATCH", path=path, body={"status": status})
                )
            except ServerAway as error:
                self._note_away(error)
                self._queue_end(status)
            except ServerRefused as error:
                self._note_refused(error)
        yield BlockingCall(function=self.offline.close)
        if self.run_id is not None:
            self.emit(Ended(status=status))

    def _propose_to_server(self, turn: Turn) -> Flow[Go]:
        was_held = False
        try:
            directive = yield from self._post_turn(turn, wait_s=VERDICT_WAIT_S)
            was_held = directive.action is DirectiveAction.HOLD
            # Asked again as long as it is held: only a person or the project's limit ends a hold,
            # never a time-out of ours.
            while directive.action is DirectiveAction.HOLD:
                asking = urlencode({"wait": POLL_S, "after": directive.version, "call": turn.key})
                path = f"runs/{self.run_id}/directive/?{asking}"
                poll = Request(method="GET", path=path, timeout_s=POLL_S + NETWORK_S)
                response = yield from self._poll_until_answered(poll)
                if response.status != NO_CONTENT:
                    directive = self._emit_directive(turn, directive_of(body_of(response)))
        except ServerAway as error:
            self._note_away(error)
            return (yield from self._propose_offline(turn))
        except ServerRefused as error:
            if was_held:
                # The hold was not lifted: revoking a key must not let the held call run.
                logger.warning("%s: the held call is not run", error)
                return Go(turn=turn, run=False, text=REFUSED_WHILE_HELD)
            self._note_refused(error)
            return Go(
                turn=turn,
                run=self.fail == "open",
                text=UNREACHABLE if self.fail == "closed" else "",
            )
        if was_held:
            self.offline.recent_turns.clear()  # somebody answered: streaks begin afresh
        messages = yield from self._take_messages(turn, directive)
        if directive.call is CallAction.SKIP:
            text = "\n\n".join(messages) or directive.reason or ANSWERED_ELSEWHERE
            return Go(turn=turn, run=False, text=text)
        return Go(turn=turn, messages=messages)

    def _open_run(self) -> Flow[str]:
        if self.run_id is None:
            opening = Request(method="POST", path="runs/", body=self.opening, timeout_s=NETWORK_S)
            body = yield from self._request(opening)
            self.offline.register_run(quote(str(body.get("id")), safe=""), body)
        return self.run_id or ""

    def _post_turn(self, turn: Turn, *, wait_s: int = 0) -> Flow[Directive]:
        run_id = yield from self._open_run()
        body = yield from self._request(
            Request(
                method="POST",
                path=f"runs/{run_id}/turns/",
                body={"turns": [turn_to_json(turn)]},
                headers={"Prefer": f"wait={wait_s}"} if wait_s else {},
                timeout_s=wait_s + NETWORK_S,
            )
        )
        for refusal in body.get("refused") or ():
            logger.warning("Mission Control refused a turn: %s", refusal)
        directive = directive_of(body.get("directive"))
        self.offline.note_versions(body.get("policy_version"), directive.version)
        return self._emit_directive(turn, directive)

    def _emit_directive(self, turn: Turn, directive: Directive) -> Directive:
        self.emit(Directed(turn=turn, directive=directive))
        return directive

    def _request(self, request: Request) -> Flow[Mapping[str, Any]]:
        # If the server is there and says when to ask again, wait for it, some seconds in all.
        left_s = MAX_RETRY_WAIT_S
        response = yield request
        while (pause_s := retry_delay(response, left_s=left_s)) is not None:
            yield Wait(seconds=pause_s)
            left_s -= pause_s
            response = yield request
        body = body_of(checked_response(response))
        # A good answer: the next refusal is logged again.
        self._was_refused = False
        return body

    def _propose_offline(self, turn: Turn) -> Flow[Go]:
        try:
            go = yield from self._offline_answers.propose(turn)
        except Stopped as ended:
            self.stop_reason = ended.reason
            raise
        # None: the server came back meanwhile, and decides again.
        return (yield from self._propose_to_server(turn)) if go is None else go

    def _queue_end(self, status: str) -> bool:
        """Put the end into the outbox if turns wait there; False: report it now."""
        # After the turns that wait: an end that overtook them would close the run too early.
        if self.run_id is None and not self.offline.has_pending:
            return self.offline.away
        return self.offline.queue_record({"end": status})

    def _poll_until_answered(self, request: Request) -> Flow[Response]:
        away_since: float | None = None
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                response: Response = yield request
                # An empty object is an answer to hooks and delivery notes, but not to a held call.
                if is_from_proxy(response) or response.body == {}:
                    raise away_error(response)
            except ServerAway as error:
                away_since = monotonic() if away_since is None else away_since
                if monotonic() - away_since >= MAX_OUTAGE_S:
                    raise
                self._note_away(error, held=True)
                retry_after_s = error.retry_after_s
            else:
                if not is_temporary(response.status):
                    # The server is back: the outbox need not wait for the end of its pause.
                    self.offline.retry_now(0)
                    return response
                # The server is there and says that it is busy: its hold stands.
                away_since, retry_after_s = None, response.retry_after_s
            yield Wait(seconds=backoff(pause_s, retry_after_s))
            pause_s = min(pause_s * 2, MAX_PAUSE_S)

    def _take_messages(self, turn: Turn, directive: Directive) -> Flow[tuple[str, ...]]:
        if directive.action is DirectiveAction.STOP:
            self.stop_reason = directive.reason or "stopped by Mission Control"
        self._raise_if_stopped()
        # Under the lock: if two threads share the session, only one is given a message.
        with self._lock:
            # A message may be for one agent of the run: turns of other agents leave it. A turn
            # without an agent is stored under the run's own agent, and answered as that agent's.
            new = [
                message
                for message in directive.messages
                if message.id not in self._delivered_ids
                and (message.agent is None or turn.agent in {message.agent, ""})
            ]
            self._delivered_ids.update(message.id for message in new)
            self._unmarked_ids.extend(message.id for message in new)
            self._escalations.extend(one.escalation for one in new if one.escalation)
        for message in new:
            self.emit(Messaged(turn=turn, message=message))
        texts = tuple(message.text for message in new)
        try:
            yield from self._mark_delivered()
        except ServerAway as error:
            self._note_away(error)  # marked with the next turn instead
        return texts

    def take_escalations(self) -> list[Escalation]:
        """Return the escalations since the last call; each is returned once."""
        with self._lock:
            taken, self._escalations = self._escalations, []
        return taken

    def _mark_delivered(self) -> Flow[None]:
        while self._unmarked_ids:
            # Dropped only once the server answered: otherwise the next turn marks them.
            message_id = self._unmarked_ids[0]
            path = f"runs/{self.run_id}/messages/{quote(message_id, safe='')}/delivered/"
            checked_response((yield Request(method="POST", path=path, body={})))
            with self._lock:
                self._unmarked_ids[:] = [kept for kept in self._unmarked_ids if kept != message_id]

    def _raise_if_stopped(self) -> None:
        if self.stop_reason is not None:
            raise Stopped(self.stop_reason)

    def _note_away(self, error: ServerAway, *, held: bool = False) -> None:
        """Continue without the server; a held call waits, and its next request reports it."""
        effect = "a held call waits for it" if held else EFFECT_OF_FAIL[self.fail]
        self.offline.go_offline(error, effect=effect)

    def _note_refused(self, error: ServerRefused) -> None:
        """Log it once, not at every call."""
        if not self._was_refused:
            logger.warning("%s: %s", error, EFFECT_OF_FAIL[self.fail])
        self._was_refused = True
