"""What a session and Mission Control say to each other, without a network.

Every method is a flow (see `guard.sdk.exchange`). The rules that matter live
here once, for the sync and the async session:

- the host is never broken: a server that is away costs one log line, and the run
  goes on under the same engine in this process (`fail="open"`) or its tools wait
  outside (`"closed"`); what it did is told later;
- a held call asks again for as long as it is held, over a server's restart;
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
from guard.sdk.exchange import Answer, Do, Flow, Request, Wait
from guard.sdk.forking import start_afresh_in_children
from guard.sdk.offline import Offline
from guard.sdk.offline_answers import UNREACHABLE, Fail, Go, OfflineAnswers, new_key
from guard.sdk.wording import (
    AGAIN_WITHIN_S,
    NO_CONTENT,
    body_of,
    comes_again_in,
    directive_of,
    is_page,
    is_passing,
    not_now,
    pause_of,
    speaking,
    turn_json,
)
from guard.turn import Turn
from guard.wire import CallAction, Directive, DirectiveAction, Escalation

__all__ = ["UNREACHABLE", "Conversation", "Fail", "Go", "new_key"]

logger = logging.getLogger("guard")

# How long a proposed call waits for detection. It usually takes milliseconds; a killed worker's
# turn is judged again within seconds.
VERDICT_S = 20

# One long poll of a held call; the server allows at most 60.
POLL_S = 50

# What the network may take on top of the server's own waiting.
NETWORK_S = 10.0

# How long a held call asks for a server that is gone before `fail` decides.
GIVE_UP_S = 300.0

# The longest pause between two questions of a held call whose server is gone.
ASK_AGAIN_S = 5.0

MEANWHILE: Mapping[Fail, str] = {"open": "going on without it", "closed": "tools are blocked"}
REFUSED_WHILE_HELD = (
    "This call was held, and Mission Control takes no more questions from this agent; "
    "it was not run."
)
ANSWERED_ELSEWHERE = "Mission Control answered another call instead; this one was not run."


# Known by itself, not by its fields: a child that is forked finds it among those that live.
@dataclass(slots=True, kw_only=True, eq=False, weakref_slot=True)
class Conversation:
    """One run's side of the protocol. May be used by several threads at once."""

    opening: Mapping[str, Any]
    offline: Offline
    fail: Fail = "open"
    asks: bool = True
    stopped: str | None = None
    emit: Emitter = field(default_factory=lambda: Emitter(None))
    _given: set[str] = field(default_factory=set)
    _unmarked: list[str] = field(default_factory=list)
    _escalations: list[Escalation] = field(default_factory=list)
    _refused: bool = False
    _lock: threading.Lock = field(init=False)
    _offline_answers: OfflineAnswers = field(init=False)

    def __post_init__(self) -> None:
        self._offline_answers = OfflineAnswers(
            offline=self.offline, name=str(self.opening.get("name")), fail=self.fail, asks=self.asks
        )
        self.start_afresh()
        start_afresh_in_children(self)

    def start_afresh(self) -> None:
        """Take a lock that is this process's own."""
        self._lock = threading.Lock()

    @property
    def run_id(self) -> str | None:
        """The run's id on the server; None while it was never reached."""
        return self.offline.run_id

    def open(self) -> Flow[None]:
        """Open the run, or find it again; quietly none if the server is away."""
        try:
            yield from self._opened()
        except ServerAway as error:
            self._note_away(error)
        except ServerRefused as error:
            self._note_refused(error)

    def propose(self, turn: Turn) -> Flow[Go]:
        """Propose a call and wait for its verdict, while held too.

        Raises:
            Stopped: The run is over.
        """
        self._stop_if_stopped()
        self.offline.memory.note(turn)
        if self.offline.away and self.fail == "closed":
            # No tool may run without the server: worth some seconds to see whether it is back.
            yield Do(work=self.offline.hurry)
        if self.offline.away:
            return (yield from self._propose_alone(turn))
        return (yield from self._propose_there(turn))

    def report(self, turn: Turn) -> Flow[tuple[str, ...]]:
        """Report a turn that is done; answers messages for the model.

        Raises:
            Stopped: The run is over.
        """
        self._stop_if_stopped()
        self.offline.memory.note(turn)
        # None: it came back between the two, and hears of this turn itself.
        if self.offline.away:
            nudges = yield from self._offline_answers.report(turn)
            if nudges is not None:
                return nudges
        try:
            directive = yield from self._post(turn)
        except ServerAway as error:
            self._note_away(error)
            return (yield from self._offline_answers.report(turn)) or ()
        except ServerRefused as error:
            self._note_refused(error)
            return ()
        return (yield from self._taken(turn, directive))

    def end(self, status: Literal["completed", "failed"]) -> Flow[None]:
        """Say that the run is over. A run that was stopped becomes terminated."""
        # Where nothing was ever told to a server there is no run to end.
        if not self._end_later(status) and self.run_id is not None:
            try:
                yield from self._mark_delivered()
                path = f"runs/{self.run_id}/"
                yield from self._ask(Request(method="PATCH", path=path, body={"status": status}))
            except ServerAway as error:
                self._note_away(error)
                self._end_later(status)
            except ServerRefused as error:
                self._note_refused(error)
        yield Do(work=self.offline.close)
        if self.run_id is not None:
            self.emit(Ended(status=status))

    def _propose_there(self, turn: Turn) -> Flow[Go]:
        was_held = False
        try:
            directive = yield from self._post(turn, wait_s=VERDICT_S)
            was_held = directive.action is DirectiveAction.HOLD
            # Asked again for as long as it is held: a person or the project's limit ends a hold,
            # never a time-out of ours.
            while directive.action is DirectiveAction.HOLD:
                asking = urlencode({"wait": POLL_S, "after": directive.version, "call": turn.key})
                path = f"runs/{self.run_id}/directive/?{asking}"
                poll = Request(method="GET", path=path, timeout_s=POLL_S + NETWORK_S)
                answer = yield from self._poll_until_answered(poll)
                if answer.status != NO_CONTENT:
                    directive = self._emitted(turn, directive_of(body_of(answer)))
        except ServerAway as error:
            self._note_away(error)
            return (yield from self._propose_alone(turn))
        except ServerRefused as error:
            if was_held:
                # Nobody lifted the hold: whoever revokes a key must not let its call run by that.
                logger.warning("%s: the held call is not run", error)
                return Go(turn=turn, run=False, text=REFUSED_WHILE_HELD)
            self._note_refused(error)
            return Go(
                turn=turn,
                run=self.fail == "open",
                text=UNREACHABLE if self.fail == "closed" else "",
            )
        if was_held:
            self.offline.memory.forget()  # somebody answered: streaks start afresh
        messages = yield from self._taken(turn, directive)
        if directive.call is CallAction.SKIP:
            text = "\n\n".join(messages) or directive.reason or ANSWERED_ELSEWHERE
            return Go(turn=turn, run=False, text=text)
        return Go(turn=turn, messages=messages)

    def _opened(self) -> Flow[str]:
        if self.run_id is None:
            opening = Request(method="POST", path="runs/", body=self.opening, timeout_s=NETWORK_S)
            body = yield from self._ask(opening)
            self.offline.arrive(quote(str(body.get("id")), safe=""))
        return self.run_id or ""

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
        directive = directive_of(reply.get("directive"))
        self.offline.hear(reply.get("policy_version"), directive.version)
        return self._emitted(turn, directive)

    def _emitted(self, turn: Turn, directive: Directive) -> Directive:
        self.emit(Directed(turn=turn, directive=directive))
        return directive

    def _ask(self, request: Request) -> Flow[Mapping[str, Any]]:
        # A server that is there and says when to come again is waited for, some seconds in all.
        left_s = AGAIN_WITHIN_S
        answer = yield request
        while (pause_s := comes_again_in(answer, left_s=left_s)) is not None:
            yield Wait(seconds=pause_s)
            left_s -= pause_s
            answer = yield request
        body = body_of(speaking(answer))
        # A good answer: the next refusal is news again.
        self._refused = False
        return body

    def _propose_alone(self, turn: Turn) -> Flow[Go]:
        try:
            go = yield from self._offline_answers.propose(turn)
        except Stopped as ended:
            self.stopped = ended.reason
            raise
        # None: the server came back meanwhile, and has the first word again.
        return (yield from self._propose_there(turn)) if go is None else go

    def _end_later(self, status: str) -> bool:
        """Keep the end where turns wait for it; False: tell it now."""
        # Behind the turns that wait: an end that overtook them would close the run before they
        # come.
        if self.run_id is None and not self.offline.has_mail:
            return self.offline.away
        return self.offline.keep({"end": status})

    def _poll_until_answered(self, request: Request) -> Flow[Answer]:
        away_since: float | None = None
        pause_s = 0.25
        while True:
            try:
                answer: Answer = yield request
                # An empty object answers hooks and notes of delivery, but no held call.
                if is_page(answer) or answer.body == {}:
                    raise not_now(answer)
            except ServerAway as error:
                away_since = monotonic() if away_since is None else away_since
                if monotonic() - away_since >= GIVE_UP_S:
                    raise
                self._note_away(error, held=True)
                retry_after_s = error.retry_after_s
            else:
                if not is_passing(answer.status):
                    # It is there again: what waits in the outbox need not wait out its pause.
                    self.offline.hurry(0)
                    return answer
                # It is there, and says itself that it has no time: its hold stands.
                away_since, retry_after_s = None, answer.retry_after_s
            yield Wait(seconds=pause_of(pause_s, retry_after_s))
            pause_s = min(pause_s * 2, ASK_AGAIN_S)

    def _taken(self, turn: Turn, directive: Directive) -> Flow[tuple[str, ...]]:
        if directive.action is DirectiveAction.STOP:
            self.stopped = directive.reason or "stopped by Mission Control"
        self._stop_if_stopped()
        # Under the lock: of two threads that share the session, one is told a message.
        with self._lock:
            # A message may be for one agent of the run: turns of the others leave it where it is.
            # A turn that names nobody is stored under the run's own, and answered as that one's.
            new = [
                message
                for message in directive.messages
                if message.id not in self._given
                and (message.agent is None or turn.agent in {message.agent, ""})
            ]
            self._given.update(message.id for message in new)
            self._unmarked.extend(message.id for message in new)
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
        """Give what was asked of the host since the last time; each once."""
        with self._lock:
            taken, self._escalations = self._escalations, []
        return taken

    def _mark_delivered(self) -> Flow[None]:
        while self._unmarked:
            # Dropped only once it was answered: what is not marked now is with the next turn.
            message_id = self._unmarked[0]
            path = f"runs/{self.run_id}/messages/{quote(message_id, safe='')}/delivered/"
            speaking((yield Request(method="POST", path=path, body={})))
            with self._lock:
                self._unmarked[:] = [kept for kept in self._unmarked if kept != message_id]

    def _stop_if_stopped(self) -> None:
        if self.stopped is not None:
            raise Stopped(self.stopped)

    def _note_away(self, error: ServerAway, *, held: bool = False) -> None:
        """Go on alone; a held call waits instead, and is told of by its next one."""
        doing = "a held call waits for it" if held else MEANWHILE[self.fail]
        self.offline.leave(error, doing=doing)

    def _note_refused(self, error: ServerRefused) -> None:
        """Say so once, not at every call."""
        if not self._refused:
            logger.warning("%s: %s", error, MEANWHILE[self.fail])
        self._refused = True
