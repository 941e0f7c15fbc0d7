"""A process of ours that stands by an agent's session: whoever is killed cannot say so.

The forwarder of the hook at a session's start leaves it behind, detached. It looks
whether the agent's process is there, vouches for it every twenty seconds, and says
when it has gone. Where it can speak to the session, it carries stops and texts to it.

At rest (`guard hook AGENT --idle`) a session is waited beside for a message to it: the agent starts
us when its model has stopped, and goes on by itself. A message ends us with 2 and the text on
stderr, which wakes the model; a prompt, the session's end or the agent's own end with 0.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from guard.adapters.base import Adapter, Session
from guard.adapters.hook import BESIDE, HookWiring
from guard.errors import ServerAway, ServerRefused
from guard.hooks.forwarding import forward
from guard.running.ending import calling_agent, is_running
from guard.sdk.keys import Connection
from guard.sdk.wording import is_passing, pause_of

# The server misses a client that it has not heard of for 45 s.
VOUCHES_EVERY_S = 20.0
LOOKS_EVERY_S = 1.0
ANSWERS_WITHIN_S = 10.0
TRIES = 5
# How long it tries to say that the agent has gone, while the server is away.
LAST_WORD_S = 600.0
# Claude Code takes 2 for: go on with what stands on standard error.
RESTS, WAKES = 0, 2

# How long the server keeps one question open; its answer may take a little longer.
ASK_S = 40.0

NETWORK_S = 15.0
# A server that is away is left alone this long.
AGAIN_S = 5.0


@dataclass(slots=True, kw_only=True)
class Watcher:
    """Stands by one session until its process has gone or its run is over.

    Attributes:
        ask: Sends what we tell, and returns the server's answer; it may raise
            `ServerAway` or `ServerRefused`.
        is_there: Whether the agent's process runs.
        session: Where what people say is carried; None: its own hooks carry it.
        pause: Lets seconds pass.
        witness: Tells us from another process that stands by the same session.
        untaken: What people said and the session did not take yet; the server has it no more.
    """

    ask: Callable[[dict[str, Any]], Any]
    is_there: Callable[[], bool]
    session: Session | None = None
    pause: Callable[[float], None] = time.sleep
    witness: str = field(default_factory=lambda: uuid.uuid4().hex)
    untaken: list[str] = field(default_factory=list)

    def stand_by(self) -> None:
        """Vouch for the agent as long as it is there; then say that it has gone."""
        # Refused: our key was revoked, or the server knows no such event.
        with contextlib.suppress(ServerRefused):
            while self.is_there():
                more = False
                self._say_untaken()
                with contextlib.suppress(ServerAway):
                    # It asks again for what it has not heard was done.
                    answer = self._tell(wait=VOUCHES_EVERY_S, carries=self.session is not None)
                    if answer.get("over"):
                        return
                    more = self._carry(answer)
                left_s = 0.0 if more else VOUCHES_EVERY_S
                while left_s > 0 and self.is_there():
                    self.pause(LOOKS_EVERY_S)
                    left_s -= LOOKS_EVERY_S
            left_s = LAST_WORD_S
            while left_s > 0:
                try:
                    self._tell(gone=True)
                    break
                except ServerAway:
                    self.pause(VOUCHES_EVERY_S)
                    left_s -= VOUCHES_EVERY_S

    def _carry(self, answer: Mapping[str, Any]) -> bool:
        """Do what people asked of the session; True: there may be more at once."""
        if self.session is None:
            return False
        if answer.get("stop") is not None:
            if self.session.stop():
                self._tell(stopped=True)
            else:
                self.pause(LOOKS_EVERY_S)  # the server asks for it again at once
        elif answer.get("text"):
            # The server has given it away: until it is taken, only we still know it.
            self.untaken.append(str(answer["text"]))
            self._say_untaken()
        return "text" in answer

    def _say_untaken(self) -> None:
        """Say it again where it was not taken: a turn may have ended in that moment."""
        for _ in range(TRIES):
            while self.session and self.untaken and self.session.say(self.untaken[0]):
                del self.untaken[0]
            if not self.untaken:
                return
            self.pause(LOOKS_EVERY_S)

    def _tell(self, **facts: Any) -> Mapping[str, Any]:
        answer = self.ask({"witness": self.witness, **facts})
        return answer if isinstance(answer, Mapping) else {}


def leave_behind(adapter: Adapter, connection: Connection, body: Mapping[str, Any]) -> None:
    """Leave a process beside the session that this hook's agent has begun.

    Nothing is left where the agent cannot be told among the processes above us, nor for
    a session that only was compacted: one stands by it already.
    """
    pid = calling_agent(adapter.program)[0] if adapter.program else 0
    if not pid or body.get("source") == "compact" or not hasattr(os, "fork"):
        return
    session = adapter.reach(body)  # before: once this hook has ended, nobody is above us
    if os.fork():
        return
    try:
        # Leave the agent's session and streams: it waits for whoever holds its pipes.
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        names = ("session_id", "conversation_id", "cwd")
        whose = {name: body[name] for name in names if name in body}

        def ask(facts: dict[str, Any]) -> Any:
            question = {"hook_event_name": BESIDE, **whose, **facts}
            patience_s = ANSWERS_WITHIN_S + float(facts.get("wait", 0))
            return forward_from_beside(connection, question, timeout_s=patience_s)

        Watcher(ask=ask, is_there=lambda: is_running(pid), session=session).stand_by()
    finally:
        # Exit handlers and unwritten buffers are those of the forwarder, which runs them itself.
        os._exit(0)


def forward_from_beside(connection: Connection, body: Mapping[str, Any], **how: Any) -> Any:
    """Forward for who waits beside a session, over a restart behind a proxy too.

    Raises:
        ServerAway: Nobody answered, or only a proxy or a server that is busy.
        ServerRefused: The server said no: it would say so again.
    """
    try:
        return forward(connection, body, **how)
    except ServerRefused as refused:
        # Taken for a no, nobody would stand by the session any more.
        if is_passing(refused.status):
            raise ServerAway(str(refused)) from refused
        raise


def wait_for_message(
    question: Mapping[str, Any],
    ask: Callable[[dict[str, Any]], Any],
    *,
    pause: Callable[[float], None] = time.sleep,
) -> str | None:
    """Wait for a message; None: the session goes on, or is over.

    Args:
        question: Names the session.
        ask: Sends a question; raises `ServerAway` or `ServerRefused`.
        pause: Lets seconds pass.
    """
    # The session's newest observation when the wait began, once it is known: a prompt between
    # two questions must not be missed.
    known: dict[str, Any] = {}
    while True:
        try:
            answer = ask({**question, **known, "wait": ASK_S})
        except ServerAway:
            pause(pause_of(AGAIN_S))
            continue
        except ServerRefused:
            return None  # our key was revoked, or the server knows no such event
        if not isinstance(answer, Mapping):
            return None
        if answer.get("wake"):
            return str(answer["wake"])
        if answer.get("over"):
            return None
        if isinstance(answer.get("since"), int):
            known = {"since": answer["since"]}


def wait_beside(
    adapter: Adapter, connection: Connection, body: Mapping[str, Any], wiring: HookWiring
) -> int:
    """Wait for a message to this session; answers the exit status."""
    # A session that ends with its answer has nobody to wake.
    if not adapter.idle_event or not adapter.rests(os.environ):
        return RESTS
    question = {
        "hook_event_name": adapter.idle_event,
        "session_id": body.get("session_id"),
        "cwd": body.get("cwd"),
    }
    # A session that was killed while it rests leaves nobody to wake.
    end_when_unread()
    ask = partial(
        forward_from_beside, connection, timeout_s=ASK_S + NETWORK_S, headers=wiring.headers()
    )
    text = wait_for_message(question, ask)
    if text is None:
        return RESTS
    sys.stderr.write(f"{text}\n")
    return WAKES


def end_when_unread() -> threading.Event:
    """Watch standard output from now on; end this process once its reader is gone.

    The event, once set, ends the watch: who has the answer may have work left that
    is not for the reader.

    A forwarder whose agent was killed would otherwise hold its request open, and
    a card would show an agent that waits. Where the system cannot tell (Windows;
    a file, a terminal), nothing happens.
    """
    answered = threading.Event()

    def watch() -> None:
        reader = select.poll()
        reader.register(1, 0)  # no readiness is asked for: only hang-up and error come
        reader.poll()
        if not answered.is_set():
            os._exit(0)  # the main thread sits in a read that nothing else would end

    if hasattr(select, "poll"):
        threading.Thread(target=watch, daemon=True).start()
    return answered
