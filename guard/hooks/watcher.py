"""A process of ours that watches an agent's session: a killed agent cannot report its end.

The hook at a session's start leaves it behind, detached. It checks whether the agent's process is
there, sends a heartbeat for it every twenty seconds, and reports when it has gone. If it can speak
to the session, it carries stops and texts to it.

While a session rests, `guard hook AGENT --idle` waits for a message to it: the agent starts this
command when its model has stopped, and does not wait for it. A message ends the command with status
2 and the text on stderr, which wakes the model; a prompt, the session's end or the agent's own end
with 0.
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
from guard.running.processes import calling_agent, is_running
from guard.sdk.connections import Connection
from guard.sdk.responses import backoff, is_temporary

# The server reports a client as gone after 45 s without a heartbeat.
VOUCHES_EVERY_S = 20.0
LOOKS_EVERY_S = 1.0
ANSWERS_WITHIN_S = 10.0
TRIES = 5
# How long it tries to report that the agent has gone, while the server is away.
LAST_WORD_S = 600.0
# For Claude Code, status 2 means: continue with the text on standard error.
RESTS, WAKES = 0, 2

# How long the server keeps one request open; its answer may take a little longer.
ASK_S = 40.0

NETWORK_S = 15.0
# How long to wait before asking a server that is away again.
AGAIN_S = 5.0


@dataclass(slots=True, kw_only=True)
class Watcher:
    """Watches one session until its process has gone or its run is over.

    Attributes:
        ask: Sends our reports and returns the server's answer; may raise `ServerAway` or
            `ServerRefused`.
        is_there: Whether the agent's process runs.
        session: Takes people's stops and texts; None: its own hooks carry them.
        pause: Waits this many seconds.
        witness: Distinguishes us from another watcher of the same session.
        untaken: Texts of people that the session did not take yet; the server no longer has them.
    """

    ask: Callable[[dict[str, Any]], Any]
    is_there: Callable[[], bool]
    session: Session | None = None
    pause: Callable[[float], None] = time.sleep
    witness: str = field(default_factory=lambda: uuid.uuid4().hex)
    untaken: list[str] = field(default_factory=list)

    def stand_by(self) -> None:
        """Send heartbeats while the agent is there; then report that it has gone."""
        # Refused: our key was revoked, or the server does not know this event.
        with contextlib.suppress(ServerRefused):
            while self.is_there():
                more = False
                self._say_untaken()
                with contextlib.suppress(ServerAway):
                    # The server repeats what it has not heard was done.
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
            # The server no longer has the text: until the session takes it, only we know it.
            self.untaken.append(str(answer["text"]))
            self._say_untaken()
        return "text" in answer

    def _say_untaken(self) -> None:
        """Repeat what was not taken: the session's turn may have ended in that moment."""
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
    """Start a watcher for the session that this hook's agent has begun.

    No watcher is started if the agent cannot be identified among our parent processes, or if the
    session was only compacted: it has a watcher already.
    """
    pid = calling_agent(adapter.program)[0] if adapter.program else 0
    if not pid or body.get("source") == "compact" or not hasattr(os, "fork"):
        return
    session = adapter.reach(body)  # first: once this hook has ended, nobody is above us
    if os.fork():
        return
    try:
        # Detach from the agent's session and streams: it waits until its pipes are closed.
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
        # Without exit handlers or buffers: they belong to the forwarder, which runs them itself.
        os._exit(0)


def forward_from_beside(connection: Connection, body: Mapping[str, Any], **how: Any) -> Any:
    """Forward for a watcher, which outlives a restart even behind a proxy.

    Raises:
        ServerAway: Nobody answered, or only a proxy or a busy server.
        ServerRefused: The server refused, and would refuse again.
    """
    try:
        return forward(connection, body, **how)
    except ServerRefused as refused:
        # Taken as a refusal, it would end the watcher.
        if is_temporary(refused.status):
            raise ServerAway(str(refused)) from refused
        raise


def wait_for_message(
    question: Mapping[str, Any],
    ask: Callable[[dict[str, Any]], Any],
    *,
    pause: Callable[[float], None] = time.sleep,
) -> str | None:
    """Wait for a message; return None when the session continues or is over.

    Args:
        question: Names the session.
        ask: Sends a question; may raise `ServerAway` or `ServerRefused`.
        pause: Waits this many seconds.
    """
    # The session's newest observation when the wait began, once known: a prompt between two
    # questions must not be missed.
    known: dict[str, Any] = {}
    while True:
        try:
            answer = ask({**question, **known, "wait": ASK_S})
        except ServerAway:
            pause(backoff(AGAIN_S))
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
    """Wait for a message to this session; return the exit status."""
    # A session that ends with its answer cannot be woken.
    if not adapter.idle_event or not adapter.rests(os.environ):
        return RESTS
    question = {
        "hook_event_name": adapter.idle_event,
        "session_id": body.get("session_id"),
        "cwd": body.get("cwd"),
    }
    # If the session is killed while it rests, this process must end too.
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

    Set the returned event to end the watch: once there is an answer, the remaining work may not be
    for the reader.

    If its agent is killed, a forwarder would otherwise keep its request open, and a card would show
    a waiting agent. Where the system cannot report it (Windows; a file, a terminal), nothing
    happens.
    """
    answered = threading.Event()

    def watch() -> None:
        reader = select.poll()
        reader.register(1, 0)  # no readiness is requested: only hang-up and error are reported
        reader.poll()
        if not answered.is_set():
            os._exit(0)  # the main thread is in a read that nothing else would end

    if hasattr(select, "poll"):
        threading.Thread(target=watch, daemon=True).start()
    return answered
