"""`guard hook AGENT --idle`: wait beside a session at rest for a message to it.

The agent starts it when its model has stopped and goes on by itself. A message ends
it with 2 and the text on stderr, which wakes the model; a prompt, the session's end or
the agent's own end ends it with 0.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from guard.adapters.base import Adapter
from guard.adapters.hook import HookWiring
from guard.errors import ServerAway, ServerRefused
from guard.hooks.watcher import forward_from_beside
from guard.sdk.keys import Connection

# Claude Code takes 2 for: go on with what stands on standard error.
RESTS, WAKES = 0, 2

# How long the server keeps one question open; its answer may take a little longer.
ASK_S = 40.0

NETWORK_S = 15.0
# A server that is away is left alone this long.
AGAIN_S = 5.0


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
            pause(AGAIN_S)
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
