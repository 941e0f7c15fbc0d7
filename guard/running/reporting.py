"""Tell the server of one run in order, without making the agent wait."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

from guard.errors import ServerAway, ServerRefused
from guard.running.run_client import RunClient, insisting
from guard.turn import Turn
from guard.wire import Directive, DirectiveAction

# What is not told by then is given up, and the command ends.
LAST_WORDS_S = 10.0


class Reporter:
    """Opens a run, tells its turns, and hears its directives.

    Args:
        client: Asks the server.
        opening: The body of `POST runs/`.
        obey: Called with each directive, in a thread of its own; returns once it is obeyed.
        pauses: The agent waits here while it is held, and not in its own hooks.

    Raises:
        ServerAway: It fails closed, and the run could not be opened.
        ServerRefused: Likewise.
    """

    def __init__(
        self,
        client: RunClient,
        opening: dict[str, Any],
        *,
        obey: Callable[[Directive], None],
        pauses: bool,
    ) -> None:
        self._client, self._opening, self._obey, self._pauses = client, opening, obey, pauses
        self._calls: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._over = threading.Event()
        self._run_id = client.open_first(opening)
        self._telling = threading.Thread(target=self._tell_all, daemon=True)
        self._telling.start()

    def turn(self, turn: Turn) -> None:
        """Tell a turn."""
        self._calls.put(lambda: self._client.take_turns(self._run_id or "", [turn]))

    def delivered(self, message_id: str) -> None:
        """Tell that a message reached the model."""
        self._calls.put(lambda: self._client.delivered(self._run_id or "", message_id))

    def directive_now(self) -> Directive | None:
        """Read the directive; None: nobody can be asked."""
        if self._run_id is None:
            return None
        with contextlib.suppress(ServerAway, ServerRefused):
            return self._client.next_directive(self._run_id, after=None)
        return None

    def finish(self, status: str) -> None:
        """Tell what is left, and that the run is over unless it is known."""
        self._calls.put(lambda: self._client.say_ended(self._run_id or "", status))
        self._calls.put(None)
        if self._run_id is not None:
            # Without a run there is nobody to wait for: the server was away all along.
            self._telling.join(LAST_WORDS_S)
        self._over.set()
        self._client.close()

    def _tell_all(self) -> None:
        # Where the first try failed, opened now; by its key it is one run.
        run = self._insist(lambda: self._client.open_run(self._opening))
        if run is None:
            return
        self._run_id = run["id"]
        # Also where a hook had opened it: its capabilities were those of the hooks alone.
        can = self._opening["capabilities"]
        self._insist(lambda: self._client.change(run["id"], capabilities=can))
        threading.Thread(target=self._listen, daemon=True).start()
        while (call := self._calls.get()) is not None:
            self._insist(call)

    def _listen(self) -> None:
        waits = False
        directives = self._client.directives(
            self._run_id or "", as_agent=lambda: waits, until=self._over.is_set
        )
        try:
            for directive in directives:
                waits = self._pauses and directive.action is DirectiveAction.HOLD
                self._obey(directive)
        except ServerRefused as error:
            sys.stderr.write(f"guard run: {error}\n")

    def _insist(self, call: Callable[[], Any]) -> Any:
        try:
            return insisting(call, until=self._over.is_set)
        except ServerRefused:
            return None  # one turn that cannot be taken must not cost the rest
