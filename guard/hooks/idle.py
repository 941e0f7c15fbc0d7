"""`guard hook AGENT --idle`: wait beside a session at rest for a message to it.

The agent starts it when its model has stopped and goes on by itself. A message ends
it with 2 and the text on stderr, which wakes the model; a prompt, the session's end or
the agent's own end ends it with 0.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from guard.adapters.base import Adapter
from guard.adapters.hook_wiring import HookWiring
from guard.errors import ServerAway, ServerRefused
from guard.hooks.forwarding import forward
from guard.hooks.unread import end_when_unread
from guard.sdk.keys import Connection

# Claude Code takes 2 for: go on with what stands on standard error.
RESTS, WAKES = 0, 2

# How long the server keeps one question open; its answer may take a little longer.
ASK_S = 40.0

NETWORK_S = 15.0
# A server that is away is left alone this long.
AGAIN_S = 5.0


@dataclass(slots=True, kw_only=True)
class Waiter:
    """One wait: asks the server again and again for as long as the session rests.

    Attributes:
        ask: Sends a question; raises `ServerAway` or `ServerRefused`.
        pause: Lets seconds pass.
        since: The session's newest observation when the wait began, once it is known.
    """

    ask: Callable[[dict[str, Any]], Any]
    pause: Callable[[float], None] = time.sleep
    since: int | None = None

    def message(self, question: Mapping[str, Any]) -> str | None:
        """Wait for a message; None: the session goes on, or is over."""
        while True:
            # Told back: a prompt between two questions must not be missed.
            known = {} if self.since is None else {"since": self.since}
            try:
                answer = self.ask({**question, **known, "wait": ASK_S})
            except ServerAway:
                self.pause(AGAIN_S)
                answer = {}
            except ServerRefused:
                # Our key was revoked, or the server knows no such event.
                answer = {"over": True}
            else:
                answer = answer if isinstance(answer, Mapping) else {"over": True}
            if answer.get("wake"):
                return str(answer["wake"])
            if answer.get("over"):
                return None
            if isinstance(answer.get("since"), int):
                self.since = answer["since"]


def wait_beside(
    adapter: Adapter, connection: Connection, body: Mapping[str, Any], wiring: HookWiring
) -> int:
    """Wait for a message to this session; answers the exit status."""
    # A session that ends with its answer has nobody to wake.
    if not adapter.idle_event or not adapter.rests(os.environ):
        return RESTS
    waiter = Waiter(
        ask=lambda question: forward(
            connection, question, timeout_s=ASK_S + NETWORK_S, headers=wiring.headers()
        ),
    )
    question = {
        "hook_event_name": adapter.idle_event,
        "session_id": body.get("session_id"),
        "cwd": body.get("cwd"),
    }
    # A session that was killed while it rests leaves nobody to wake.
    end_when_unread()
    text = waiter.message(question)
    if text is None:
        return RESTS
    sys.stderr.write(f"{text}\n")
    return WAKES
