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

from guard.adapters.base import Adapter, ReachableSession
from guard.adapters.hook import WATCHER_EVENT, HookWiring
from guard.errors import ServerAway, ServerRefused
from guard.hooks.forwarding import forward
from guard.running.processes import calling_agent, is_running
from guard.sdk.connections import Connection
from guard.sdk.responses import backoff, is_temporary

# The server reports a client as gone after 45 s without a heartbeat.
HEARTBEAT_INTERVAL_S = 20.0
POLL_INTERVAL_S = 1.0
ANSWER_TIMEOUT_S = 10.0
MAX_TRIES = 5
# How long it tries to report that the agent has gone, while the server is away.
REPORT_GONE_FOR_S = 600.0
# For Claude Code, status 2 means: continue with the text on standard error.
REST_STATUS, WAKE_STATUS = 0, 2

# How long the server keeps one request open; its answer may take a little longer.
LONG_POLL_S = 40.0

NETWORK_S = 15.0
# How long to wait before asking a server that is away again.
RETRY_PAUSE_S = 5.0


@dataclass(slots=True, kw_only=True)
class Watcher:
    """Watches one session until its process has gone or its run is over.

    Attributes:
        ask: Sends our reports and returns the server's answer; may raise `ServerAway` or
            `ServerRefused`.
        is_agent_running: Whether the agent's process runs.
        session: Takes people's stops and texts; None: its own hooks carry them.
        pause: Waits this many seconds.
        witness: Distinguishes us from another watcher of the same session.
        pending_texts: Texts of people that the session did not take yet; the server has dropped
            them.
    """

    ask: Callable[[dict[str, Any]], Any]
    is_agent_running: Callable[[], bool]
    session: ReachableSession | None = None
    pause: Callable[[float], None] = time.sleep
    witness: str = field(default_factory=lambda: uuid.uuid4().hex)
    pending_texts: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Send heartbeats while the agent is there; then report that it has gone."""
        # Refused: our key was revoked, or the server does not know this event.
        with contextlib.suppress(ServerRefused):
            while self.is_agent_running():
                more = False
                self._send_pending_texts()
                with contextlib.suppress(ServerAway):
                    # The server repeats what it has not heard was done.
                    answer = self._report(
                        wait=HEARTBEAT_INTERVAL_S, carries=self.session is not None
                    )
                    if answer.get("over"):
                        return
                    more = self._carry_out(answer)
                left_s = 0.0 if more else HEARTBEAT_INTERVAL_S
                while left_s > 0 and self.is_agent_running():
                    self.pause(POLL_INTERVAL_S)
                    left_s -= POLL_INTERVAL_S
            left_s = REPORT_GONE_FOR_S
            while left_s > 0:
                try:
                    self._report(gone=True)
                    break
                except ServerAway:
                    self.pause(HEARTBEAT_INTERVAL_S)
                    left_s -= HEARTBEAT_INTERVAL_S

    def _carry_out(self, answer: Mapping[str, Any]) -> bool:
        """Do what people asked of the session; True: there may be more at once."""
        if self.session is None:
            return False
        if answer.get("stop") is not None:
            if self.session.stop():
                self._report(stopped=True)
            else:
                self.pause(POLL_INTERVAL_S)  # the server asks for it again at once
        elif answer.get("text"):
            # The server no longer has the text: until the session takes it, only we know it.
            self.pending_texts.append(str(answer["text"]))
            self._send_pending_texts()
        return "text" in answer

    def _send_pending_texts(self) -> None:
        """Repeat what was not taken: the session's turn may have ended in that moment."""
        session, texts = self.session, self.pending_texts
        for _ in range(MAX_TRIES):
            while session and texts and session.send_text(texts[0]):
                del texts[0]
            if not texts:
                return
            self.pause(POLL_INTERVAL_S)

    def _report(self, **facts: Any) -> Mapping[str, Any]:
        answer = self.ask({"witness": self.witness, **facts})
        return answer if isinstance(answer, Mapping) else {}


def start_watcher(adapter: Adapter, connection: Connection, body: Mapping[str, Any]) -> None:
    """Start a watcher for the session that this hook's agent has begun.

    No watcher is started if the agent cannot be identified among our parent processes, or if the
    session was only compacted: it has a watcher already.
    """
    pid = calling_agent(adapter.program)[0] if adapter.program else 0
    if not pid or body.get("source") == "compact" or not hasattr(os, "fork"):
        return
    session = adapter.reach_session(body)  # first: once this hook has ended, nobody is above us
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
            question = {"hook_event_name": WATCHER_EVENT, **whose, **facts}
            timeout_s = ANSWER_TIMEOUT_S + float(facts.get("wait", 0))
            return forward_from_watcher(connection, question, timeout_s=timeout_s)

        Watcher(ask=ask, is_agent_running=lambda: is_running(pid), session=session).run()
    finally:
        # Without exit handlers or buffers: they belong to the forwarder, which runs them itself.
        os._exit(0)


def forward_from_watcher(connection: Connection, body: Mapping[str, Any], **how: Any) -> Any:
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
            answer = ask({**question, **known, "wait": LONG_POLL_S})
        except ServerAway:
            pause(backoff(RETRY_PAUSE_S))
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


def wait_while_idle(
    adapter: Adapter, connection: Connection, body: Mapping[str, Any], wiring: HookWiring
) -> int:
    """Wait for a message to this session; return the exit status."""
    # A session that ends with its answer cannot be woken.
    if not adapter.idle_event or not adapter.stays_open(os.environ):
        return REST_STATUS
    question = {
        "hook_event_name": adapter.idle_event,
        "session_id": body.get("session_id"),
        "cwd": body.get("cwd"),
    }
    # If the session is killed while it rests, this process must end too.
    exit_when_unread()
    ask = partial(
        forward_from_watcher,
        connection,
        timeout_s=LONG_POLL_S + NETWORK_S,
        headers=wiring.headers(),
    )
    text = wait_for_message(question, ask)
    if text is None:
        return REST_STATUS
    sys.stderr.write(f"{text}\n")
    return WAKE_STATUS


def exit_when_unread() -> threading.Event:
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
