"""Follow the runs of one command, and do to it what their directives ask."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from guard.errors import ServerAway, ServerRefused
from guard.running.run_client import RunClient, retry_while_away
from guard.running.session_notes import noted_sessions
from guard.wire import DirectiveAction

# Seconds between two searches for notes of new sessions.
SCAN_INTERVAL_S = 0.2


class SupervisedCommand(Protocol):
    """What a supervisor can do to its command."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def end(self) -> None: ...


class Supervisor:
    """Watches one command: its own run, and its sessions' runs as they are noted.

    Args:
        client: Asks the server.
        notes: Where the forwarder notes sessions; see `guard.running.session_notes`.
        opening: Opens a run for the command itself; None: its sessions are its runs.

    """

    def __init__(self, client: RunClient, *, notes: Path, opening: dict[str, Any] | None) -> None:
        self._client, self._notes, self._opening = client, notes, opening
        self._finished = threading.Event()
        self._known_keys: set[str] = set()
        self._runs: list[str] = []
        self._own_run_id: str | None = None
        self.end_reason: str | None = None

    def open(self) -> None:
        """Open the command's own run, if it has one, before the command starts.

        Raises:
            ServerAway: It must fail closed, and its run could not be opened.
            ServerRefused: Likewise.
        """
        self._own_run_id = self._client.try_open_run(self._opening) if self._opening else None
        if self._own_run_id is not None:
            self._runs.append(self._own_run_id)

    def report_not_started(self) -> None:
        """Report that the command never began, wherever its start was interrupted."""
        # The server may have opened its run before the answer came: its key finds it.
        with contextlib.suppress(ServerAway, ServerRefused):
            if self._opening is not None:
                self._client.update_run(self._client.open_run(self._opening)["id"], status="failed")
        self._client.close()

    def start(self, command: SupervisedCommand) -> None:
        """Begin to watch a command that has started."""
        self._command = command
        if self._opening is not None:
            follow_own = partial(
                self._follow_run, self._opening, self._own_run_id, is_session=False
            )
            self._in_background(follow_own)

        def look_for_sessions() -> None:
            # A session's first hook leaves the note; nobody notifies us.
            while not self._finished.wait(SCAN_INTERVAL_S):
                for key in noted_sessions(self._notes) - self._known_keys:
                    self._known_keys.add(key)
                    # The session's run was opened before its note was left: its key finds it.
                    opened = {"key": key, "name": key}
                    self._in_background(partial(self._follow_run, opened, None, is_session=True))

        self._in_background(look_for_sessions)

    def finish(self, status: int) -> None:
        """Report the end of every run that has not reported it itself."""
        self._finished.set()
        ended_as = "failed" if status else "completed"
        for run_id in self._runs:
            with contextlib.suppress(ServerAway, ServerRefused):
                self._client.report_end(run_id, ended_as)
        self._client.close()

    def _follow_run(self, opening: dict[str, Any], run_id: str | None, *, is_session: bool) -> None:
        """Follow a run once it is open: the command's own, or that of a session in it."""
        if run_id is None:
            run = self._retry(lambda: self._client.open_run(opening))
            if run is None:
                return
            self._runs.append(run_id := run["id"])
        if is_session:
            # Its hooks cannot report this: it is this process that can end it by a signal.
            change = partial(self._client.update_run, run_id, capabilities={"terminate": "signal"})
            self._retry(change)
        paused = False
        directives = self._client.directives(
            run_id, as_agent=lambda: paused, until=self._finished.is_set
        )
        for directive in directives:
            was_paused, paused = paused, False
            if directive.action is DirectiveAction.STOP:
                if self.end_reason is None:
                    self.end_reason = directive.reason or "Ended by Mission Control."
                    sys.stderr.write(f"guard run: {self.end_reason}\n")
                    self._command.end()
            # A session is held by its own hooks: a stopped process would not even ask.
            elif not is_session and directive.action is DirectiveAction.HOLD:
                # An agent that reports its turns waits before its next call, and need not be
                # stopped. One that is stopped stays so: asking again could fail, and leave it
                # stopped for good.
                run = None if was_paused else self._retry(lambda: self._client.read_run(run_id))
                paused = was_paused or (run is not None and not run["turns"])
                if paused:
                    self._command.pause()
            elif not is_session:
                self._command.resume()

    def _retry(self, call: Callable[[], Any]) -> Any:
        return retry_while_away(call, until=self._finished.is_set)

    def _in_background(self, call: Callable[[], None]) -> None:
        def call_logging_refusals() -> None:
            # A refusal by the server must not disturb the command.
            try:
                call()
            except ServerRefused as error:
                sys.stderr.write(f"guard run: {error}\n")

        threading.Thread(target=call_logging_refusals, daemon=True).start()
