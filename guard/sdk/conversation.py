"""What a session and Mission Control say to each other, without a network.

Every method is a flow (see `guard.sdk.exchange`). The rules that matter live
here once, for the sync and the async session:

- the host is never broken: a server that is away or says no costs one log line
  and the run goes on (`fail="open"`) or its tools wait outside (`"closed"`);
- a held call asks again for as long as it is held, over a server's restart;
- a message is given to the caller once, then marked delivered.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, urlencode

from guard.errors import ServerAway, ServerRefused, Stopped
from guard.events import Away, Back, Directed, Emitter, Ended, Messaged, Opened
from guard.sdk.exchange import Answer, Flow, Request, Wait
from guard.sdk.wording import body_of, directive_of, turn_json
from guard.turn import Turn
from guard.wire import CallAction, Directive, DirectiveAction, Escalation

logger = logging.getLogger("guard")

Fail = Literal["open", "closed"]

VERDICT_S = 20
"""How long a proposed call waits for detection. It usually takes milliseconds; a
killed worker's turn is judged again within seconds."""

POLL_S = 50
"""One long poll of a held call; the server allows at most 60."""

NETWORK_S = 10.0
"""What the network may take on top of the server's own waiting."""

GIVE_UP_S = 300.0
"""How long a held call asks for a server that is gone before `fail` decides."""

ASK_AGAIN_S = 5.0
"""After a failure the server is left alone this long: a host that needs it for
nothing must not wait for a time-out at every call."""

MEANWHILE: Mapping[Fail, str] = {"open": "going on without it", "closed": "tools are blocked"}
UNREACHABLE = "Mission Control cannot be reached and this agent may not act without it; not run."
ANSWERED_ELSEWHERE = "Mission Control answered another call instead; this one was not run."


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """What became of a proposed call.

    Attributes:
        turn: The call as it was proposed.
        run: True: run it. False: do not; `text` is its result.
        text: What the model is told in place of a result, when it did not run.
        messages: Texts to add to the model's context, in order.
    """

    turn: Turn
    run: bool = True
    text: str = ""
    messages: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Conversation:
    """One run's side of the protocol. May be used by several threads at once."""

    opening: Mapping[str, Any]
    fail: Fail = "open"
    clock: Callable[[], float] = time.monotonic
    run_id: str | None = None
    stopped: str | None = None
    emit: Emitter = field(default_factory=lambda: Emitter(None))
    _given: set[str] = field(default_factory=set)
    _unmarked: list[str] = field(default_factory=list)
    _escalations: list[Escalation] = field(default_factory=list)
    _quiet_until: float = 0.0
    _away: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    # --- flows, one a deed ---------------------------------------------------

    def open(self) -> Flow[None]:
        """Open the run, or find it again; quietly none if the server is away."""
        try:
            yield from self._opened()
        except (ServerAway, ServerRefused) as error:
            self._note_away(error)

    def propose(self, turn: Turn) -> Flow[Go]:
        """Propose a call and wait for its verdict, while held too.

        Raises:
            Stopped: The run is over.
        """
        self._stop_if_stopped()
        try:
            directive = yield from self._post(turn, wait_s=VERDICT_S)
            directive = yield from self._while_held(turn, directive)
        except (ServerAway, ServerRefused) as error:
            self._note_away(error)
            return Go(turn=turn, run=self.fail == "open", text=self._unreachable())
        return (yield from self._go(turn, directive))

    def report(self, turn: Turn) -> Flow[tuple[str, ...]]:
        """Report a turn that is done; answers messages for the model.

        Raises:
            Stopped: The run is over.
        """
        self._stop_if_stopped()
        try:
            directive = yield from self._post(turn)
        except (ServerAway, ServerRefused) as error:
            self._note_away(error)
            return ()
        return (yield from self._taken(turn, directive))

    def end(self, status: Literal["completed", "failed"]) -> Flow[None]:
        """Say that the run is over. A run that was stopped becomes terminated."""
        if self.run_id is None:
            return
        try:
            yield from self._mark_delivered()
            answer = yield Request(
                method="PATCH", path=f"runs/{self.run_id}/", body={"status": status}
            )
            body_of(_got(answer))
        except (ServerAway, ServerRefused) as error:
            self._note_away(error)
        self.emit(Ended(status=status))

    # --- the run -------------------------------------------------------------

    def _opened(self) -> Flow[str]:
        if self.run_id is None:
            body = yield from self._ask(Request(method="POST", path="runs/", body=self.opening))
            self.run_id = quote(str(body.get("id")), safe="")
            self.emit(Opened(run=self.run_id))
        return self.run_id

    def _post(self, turn: Turn, *, wait_s: int = 0) -> Flow[Directive]:
        run_id = yield from self._opened()
        reply = yield from self._ask(
            Request(
                method="POST",
                path=f"runs/{run_id}/turns/",
                body={"turns": [turn_json(turn)]},
                headers={"Prefer": f"wait={wait_s}"} if wait_s else {},
                timeout_s=wait_s + NETWORK_S,
            )
        )
        for refusal in reply.get("refused") or ():
            logger.warning("Mission Control refused a turn: %s", refusal)
        return self._heard(turn, directive_of(reply.get("directive")))

    def _heard(self, turn: Turn, directive: Directive) -> Directive:
        self.emit(Directed(turn=turn, directive=directive))
        return directive

    def _ask(self, request: Request) -> Flow[Mapping[str, Any]]:
        """Ask once, unless the server was found away a moment ago."""
        if self.fail == "open" and self.clock() < self._quiet_until:
            raise ServerAway("it was away a moment ago")
        answer = yield request
        body = body_of(_got(answer))
        self._note_back()
        return body

    # --- holding -------------------------------------------------------------

    def _while_held(self, turn: Turn, directive: Directive) -> Flow[Directive]:
        while directive.action is DirectiveAction.HOLD:
            directive = yield from self._next_directive(turn, directive)
        return directive

    def _next_directive(self, turn: Turn, held: Directive) -> Flow[Directive]:
        """Poll once, asking again over a restart; the old one if nothing moved."""
        asking = urlencode({"wait": POLL_S, "after": held.version, "call": turn.key})
        poll = Request(
            method="GET",
            path=f"runs/{self.run_id}/directive/?{asking}",
            timeout_s=POLL_S + NETWORK_S,
        )
        answer = yield from self._asked_till_answered(poll)
        if answer.status == NO_CONTENT:
            return held
        return self._heard(turn, directive_of(body_of(answer)))

    def _asked_till_answered(self, request: Request) -> Flow[Answer]:
        away_s, pause_s = 0.0, 0.25
        while True:
            try:
                answer = _got((yield request))
            except ServerAway as error:
                if away_s >= GIVE_UP_S:
                    raise
                self._note_away(error, held=True)
            else:
                if not _is_passing(answer.status):
                    self._note_back()
                    return answer
            yield Wait(seconds=pause_s)
            away_s, pause_s = away_s + pause_s, min(pause_s * 2, ASK_AGAIN_S)

    # --- verdicts and messages -----------------------------------------------

    def _go(self, turn: Turn, directive: Directive) -> Flow[Go]:
        messages = yield from self._taken(turn, directive)
        if directive.call is CallAction.SKIP:
            text = "\n\n".join(messages) or directive.reason or ANSWERED_ELSEWHERE
            return Go(turn=turn, run=False, text=text)
        return Go(turn=turn, messages=messages)

    def _taken(self, turn: Turn, directive: Directive) -> Flow[tuple[str, ...]]:
        if directive.action is DirectiveAction.STOP:
            self.stopped = directive.reason or "stopped by Mission Control"
        self._stop_if_stopped()
        texts = self._claim_messages(turn, directive)
        try:
            yield from self._mark_delivered()
        except (ServerAway, ServerRefused) as error:
            self._note_away(error)  # marked with the next turn instead
        return texts

    def _claim_messages(self, turn: Turn, directive: Directive) -> tuple[str, ...]:
        """Take what is new and meant for this agent; two threads never share one."""
        with self._lock:
            new = [
                message
                for message in directive.messages
                if message.id not in self._given and message.agent in {None, turn.agent}
            ]
            self._given.update(message.id for message in new)
            self._unmarked.extend(message.id for message in new)
            self._escalations.extend(one.escalation for one in new if one.escalation)
        for message in new:
            self.emit(Messaged(turn=turn, message=message))
        return tuple(message.text for message in new)

    def take_escalations(self) -> list[Escalation]:
        """Give what was asked of the host since the last time; each once."""
        with self._lock:
            taken, self._escalations = self._escalations, []
        return taken

    def _mark_delivered(self) -> Flow[None]:
        while self._unmarked:
            message_id = self._unmarked[0]
            path = f"runs/{self.run_id}/messages/{quote(message_id, safe='')}/delivered/"
            _got((yield Request(method="POST", path=path, body={})))
            with self._lock:
                self._unmarked[:] = [kept for kept in self._unmarked if kept != message_id]

    # --- when the server is away ---------------------------------------------

    def _stop_if_stopped(self) -> None:
        if self.stopped is not None:
            raise Stopped(self.stopped)

    def _unreachable(self) -> str:
        return UNREACHABLE if self.fail == "closed" else ""

    def _note_away(self, error: Exception, *, held: bool = False) -> None:
        """Say so once an outage, not once a call."""
        if isinstance(error, ServerAway) and self.clock() >= self._quiet_until:
            self._quiet_until = self.clock() + ASK_AGAIN_S
        if not self._away:
            doing = "a held call waits for it" if held else MEANWHILE[self.fail]
            logger.warning("Mission Control is not there (%s): %s", error, doing)
            self.emit(Away(reason=str(error)))
        self._away = True

    def _note_back(self) -> None:
        self._quiet_until = 0.0
        if self._away:
            logger.info("Mission Control is back")
            self.emit(Back())
        self._away = False


NO_CONTENT = 204
TOO_MANY = 429
SERVER_ERROR = 500


def _is_passing(status: int) -> bool:
    """What a proxy or a server just starting says; none speaks for the run."""
    return status >= SERVER_ERROR or status == TOO_MANY


def _got(answer: Answer | None) -> Answer:
    """The driver answers every `Request`; only a `Wait` is answered by None."""
    if answer is None:
        raise ServerAway("no answer")
    return answer


def new_key() -> str:
    """A key no other turn or run has."""
    return uuid.uuid4().hex
