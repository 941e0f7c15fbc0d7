"""Drive `codex exec` through its app-server: steer it, interrupt it, count its use.

If our hooks are in force, they see each call before it runs and hold it. Otherwise the app-server's
notifications give the turns, and a hold interrupts the work.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from guard.adapters.codex.adapter import TRUSTED
from guard.adapters.codex.hooks import CLIENT
from guard.adapters.codex.rpc import AppServerFailed
from guard.adapters.hook import HookEvent
from guard.adapters.parsing import mapping, text
from guard.running import session_notes
from guard.running.app_server import AppServer, Notice
from guard.running.codex_exec import Task
from guard.running.codex_items import CodexOutput, Ledger, read_usage_update, turn_of
from guard.running.run_client import Reporter, RunClient
from guard.sdk.connections import Connection
from guard.turn import Turn
from guard.wire import Directive, DirectiveAction, Message

# A hook that held a call answers first; what it left is steered after this many seconds.
GIVES_HOOKS_S = 1.0

GO_ON = "Go on where you were interrupted."

SIGNALLED = 128


@dataclass(frozen=True, slots=True)
class Arrived:
    """A directive that arrived; `obeyed` is set once it was carried out."""

    directive: Directive
    obeyed: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class Signalled:
    """A signal asked us to end."""

    number: int


def drive(task: Task, connection: Connection, *, name: str | None) -> int:
    """Run one prompt; return the exit status."""
    inbox: queue.SimpleQueue[Notice | Arrived | Signalled] = queue.SimpleQueue()
    # Into the inbox: a handler may run anywhere, even while we write a line or inside the inbox's
    # own `get` and `put`, which only a SimpleQueue allows.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda given, _frame: inbox.put(Signalled(given)))
    with tempfile.TemporaryDirectory(prefix="guard-run-") as notes:
        # With these, the hooks below leave messages to us, and note their sessions here.
        marks = {session_notes.NOTES: notes, session_notes.STEERED: "1"}
        program = [task.program, "app-server", *task.options]
        server = AppServer(program, env=os.environ | marks, inbox=inbox)
        try:
            server.begin()
            return Driver(task, server, connection, inbox).run(name)
        finally:
            server.close()


class Driver:
    """One prompt's run through the app-server."""

    def __init__(
        self, task: Task, server: AppServer, connection: Connection, inbox: queue.SimpleQueue[Any]
    ) -> None:
        self._task, self._server, self._inbox = task, server, inbox
        self._client = RunClient(connection)
        self._output = CodexOutput(as_json=task.as_json, last_message=task.last_message)
        self._thread = self._model = ""
        self._turn: str | None = None
        self._hooked = self._was_held = self._paused = False
        self._given: set[str] = set()
        self._ledger = Ledger()
        self._status: int | None = None

    def run(self, name: str | None) -> int:
        """Start the prompt and stay until it ends."""
        started = self._server.ask("thread/start", **self._task.thread)
        self._thread = text(mapping(started.get("thread")), "id")
        self._model, cwd, prompt = text(started, "model"), text(started, "cwd"), self._task.prompt
        # Whether Codex will run our hook before a tool; it reports which hooks it trusts.
        bypassed = "bypass_hook_trust" in mapping(self._task.thread.get("config"))
        self._hooked = any(
            hook.get("eventName") == "preToolUse"
            and hook.get("enabled") is not False
            and (bypassed or hook.get("trustStatus") in TRUSTED)
            for hook in self._server.our_hooks(cwd)
        )
        self._output.thread(self._thread)
        asked = HookEvent(client=CLIENT, name="", session=self._thread, cwd=cwd, prompt=prompt)
        opening = {
            "key": asked.run_key,
            "name": name or asked.run_name,
            "agent": CLIENT,
            "goal": prompt,
            "capabilities": {
                "hold": True,
                "inject": ["now", "at_next_tool", "at_stop"],
                "terminate": "signal",
                "cost": "transcript" if self._hooked else "turns",
                "away": "waits",
                "why": {},
            },
        }
        pauses = not self._hooked
        self._reporter = Reporter(self._client, opening, obey=self._wait_obeyed, pauses=pauses)
        try:
            self._start_turn(prompt)
            while self._status is None:
                self._take(self._inbox.get())
            self._output.finish()
            self._server.close()
        finally:  # a turn that never began has failed, and is reported so
            self._reporter.finish("completed" if self._status == 0 else "failed")
        return self._status

    def _wait_obeyed(self, directive: Directive) -> None:
        arrived = Arrived(directive)
        self._inbox.put(arrived)
        # The next poll tells the server that the hold is in force: not while work continues.
        arrived.obeyed.wait()

    def _take(self, event: Notice | Arrived | Signalled) -> None:
        if isinstance(event, Arrived):
            self._obey(event.directive)
            event.obeyed.set()
        elif isinstance(event, Signalled):
            self._end(SIGNALLED + event.number)
        # It has gone during the work.
        elif not event.method:
            self._status = 1
        elif event.params.get("threadId") in {None, self._thread}:
            self._output.show(event.method, event.params)
            if event.method == "turn/completed":
                self._turn_over(mapping(event.params.get("turn")))
            elif not self._hooked and event.method == "item/completed":
                self._tell(self._ledger.turn(turn_of(mapping(event.params.get("item")))))
            elif not self._hooked and event.method == "thread/tokenUsage/updated":
                used = replace(read_usage_update(event.params), model=self._model)
                self._tell(self._ledger.used(used))

    def _turn_over(self, turn: Mapping[str, Any]) -> None:
        if self._turn not in {None, text(turn, "id")}:
            return  # an interrupted turn, reported after the next one began
        self._turn = None
        # A model call's use is reported just after its turn: what still waits now gets none.
        self._tell(self._ledger.rest())
        if self._paused:
            return
        directive = self._reporter.directive_now()
        # Asked once more: a text that came while the turn ended begins the next turn.
        left = [m for m in directive.messages if m.id not in self._given] if directive else []
        if left and directive and directive.action is not DirectiveAction.STOP:
            self._give(left)
        else:
            self._status = 0 if text(turn, "status") == "completed" else 1

    def _tell(self, turns: Iterable[Turn]) -> None:
        for turn in turns:
            self._reporter.turn(turn)

    def _obey(self, directive: Directive) -> None:
        if directive.action is DirectiveAction.STOP:
            sys.stderr.write(f"guard run: {directive.reason or 'Ended by Mission Control.'}\n")
            self._end(SIGNALLED + signal.SIGTERM)
        elif directive.action is DirectiveAction.HOLD:
            # A hook holds the next call; without hooks, work stops here and now.
            if self._hooked:
                self._was_held = True
            elif self._turn is not None and not self._paused:
                self._paused = True
                self._interrupt()
        elif self._was_held:
            self._was_held = False
            threading.Timer(GIVES_HOOKS_S, self._look_again).start()
        else:
            messages = [m for m in directive.messages if m.id not in self._given]
            if self._paused:
                self._paused = False
                if not messages:
                    self._start_turn(GO_ON)
            if messages:
                self._give(messages)

    def _look_again(self) -> None:
        directive = self._reporter.directive_now()
        if directive is not None:
            # Through the inbox: this is the timer's thread, and only the driver's thread obeys.
            self._inbox.put(Arrived(directive))

    def _give(self, messages: list[Message]) -> None:
        """Give texts to the model now: within its turn, or as its next one."""
        given = "\n\n".join(message.text for message in messages)
        # If the turn has ended since, Codex refuses to steer it: then the texts are the next turn.
        fields = {"threadId": self._thread, "expectedTurnId": self._turn, "input": _input(given)}
        try:
            steered = self._turn is not None and bool(self._server.ask("turn/steer", **fields))
        except AppServerFailed:
            steered = False
        if not steered:
            self._start_turn(given)
        for message in messages:
            self._given.add(message.id)
            self._reporter.delivered(message.id)

    def _start_turn(self, prompt: str) -> None:
        started = self._server.ask("turn/start", threadId=self._thread, input=_input(prompt))
        self._turn = text(mapping(started.get("turn")), "id")

    def _interrupt(self) -> None:
        # A turn that has ended since cannot be interrupted, and need not be.
        with contextlib.suppress(AppServerFailed):
            self._server.ask("turn/interrupt", threadId=self._thread, turnId=self._turn or "")

    def _end(self, status: int) -> None:
        if self._turn is not None:
            self._interrupt()
        self._status = status


def _input(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]
