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
from guard.running.app_server import AppServer, Notification
from guard.running.codex_exec import CodexTask
from guard.running.codex_items import CodexOutput, UsageLedger, read_call_usage, turn_of
from guard.running.run_client import Reporter, RunClient
from guard.sdk.connections import Connection
from guard.turn import Turn
from guard.wire import Directive, DirectiveAction, Message

# A hook that held a call answers first; what it left is steered after this many seconds.
HOOK_HEAD_START_S = 1.0

RESUME_PROMPT = "Go on where you were interrupted."

SIGNAL_STATUS = 128


@dataclass(frozen=True, slots=True)
class ArrivedDirective:
    """A directive that arrived; `obeyed` is set once it was carried out."""

    directive: Directive
    obeyed: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class ReceivedSignal:
    """A signal asked us to end."""

    number: int


def drive_codex(task: CodexTask, connection: Connection, *, name: str | None) -> int:
    """Run one prompt; return the exit status."""
    inbox: queue.SimpleQueue[Notification | ArrivedDirective | ReceivedSignal] = queue.SimpleQueue()
    # Into the inbox: a handler may run anywhere, even while we write a line or inside the inbox's
    # own `get` and `put`, which only a SimpleQueue allows.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda given, _frame: inbox.put(ReceivedSignal(given)))
    with tempfile.TemporaryDirectory(prefix="guard-run-") as notes:
        # With these, the hooks below leave messages to us, and note their sessions here.
        marks = {session_notes.NOTES_VARIABLE: notes, session_notes.STEERED_VARIABLE: "1"}
        program = [task.program, "app-server", *task.options]
        server = AppServer(program, env=os.environ | marks, inbox=inbox)
        try:
            server.initialize()
            return CodexDriver(task, server, connection, inbox).run(name)
        finally:
            server.close()


class CodexDriver:
    """One prompt's run through the app-server."""

    def __init__(
        self,
        task: CodexTask,
        server: AppServer,
        connection: Connection,
        inbox: queue.SimpleQueue[Any],
    ) -> None:
        self._task, self._server, self._inbox = task, server, inbox
        self._client = RunClient(connection)
        self._output = CodexOutput(as_json=task.as_json, last_message=task.last_message)
        self._thread = self._model = ""
        self._turn: str | None = None
        self._has_hooks = self._was_held = self._is_paused = False
        self._given_ids: set[str] = set()
        self._ledger = UsageLedger()
        self._status: int | None = None

    def run(self, name: str | None) -> int:
        """Start the prompt and stay until it ends."""
        started = self._server.request("thread/start", **self._task.thread)
        self._thread = text(mapping(started.get("thread")), "id")
        self._model, cwd, prompt = (text(started, "model"), text(started, "cwd"), self._task.prompt)
        # Whether Codex will run our hook before a tool; it reports which hooks it trusts.
        bypassed = "bypass_hook_trust" in mapping(self._task.thread.get("config"))
        self._has_hooks = any(
            hook.get("eventName") == "preToolUse"
            and hook.get("enabled") is not False
            and (bypassed or hook.get("trustStatus") in TRUSTED)
            for hook in self._server.our_hooks(cwd)
        )
        self._output.show_thread(self._thread)
        event = HookEvent(client=CLIENT, name="", session=self._thread, cwd=cwd, prompt=prompt)
        opening = {
            "key": event.run_key,
            "name": name or event.run_name,
            "agent": CLIENT,
            "goal": prompt,
            "capabilities": {
                "hold": True,
                "inject": ["now", "at_next_tool", "at_stop"],
                "terminate": "signal",
                "cost": "transcript" if self._has_hooks else "turns",
                "away": "waits",
                "why": {},
            },
        }
        pauses = not self._has_hooks
        self._reporter = Reporter(
            self._client, opening, on_directive=self._wait_until_obeyed, pauses=pauses
        )
        try:
            self._start_turn(prompt)
            while self._status is None:
                self._handle(self._inbox.get())
            self._output.finish()
            self._server.close()
        finally:  # a turn that never began has failed, and is reported so
            self._reporter.finish("completed" if self._status == 0 else "failed")
        return self._status

    def _wait_until_obeyed(self, directive: Directive) -> None:
        arrived = ArrivedDirective(directive)
        self._inbox.put(arrived)
        # The next poll tells the server that the hold is in force: not while work continues.
        arrived.obeyed.wait()

    def _handle(self, event: Notification | ArrivedDirective | ReceivedSignal) -> None:
        if isinstance(event, ArrivedDirective):
            self._obey(event.directive)
            event.obeyed.set()
        elif isinstance(event, ReceivedSignal):
            self._end_with(SIGNAL_STATUS + event.number)
        # It has gone during the work.
        elif not event.method:
            self._status = 1
        elif event.params.get("threadId") in {None, self._thread}:
            self._output.show(event.method, event.params)
            if event.method == "turn/completed":
                self._on_turn_completed(mapping(event.params.get("turn")))
            elif not self._has_hooks and event.method == "item/completed":
                self._report_turns(
                    self._ledger.add_turn(turn_of(mapping(event.params.get("item"))))
                )
            elif not self._has_hooks and event.method == "thread/tokenUsage/updated":
                used = replace(read_call_usage(event.params), model=self._model)
                self._report_turns(self._ledger.add_usage(used))

    def _on_turn_completed(self, turn: Mapping[str, Any]) -> None:
        if self._turn not in {None, text(turn, "id")}:
            return  # an interrupted turn, reported after the next one began
        self._turn = None
        # A model call's use is reported just after its turn: what still waits now gets none.
        self._report_turns(self._ledger.flush())
        if self._is_paused:
            return
        directive = self._reporter.read_directive()
        # Asked once more: a text that came while the turn ended begins the next turn.
        left = [m for m in directive.messages if m.id not in self._given_ids] if directive else []
        if left and directive and directive.action is not DirectiveAction.STOP:
            self._give_messages(left)
        else:
            self._status = 0 if text(turn, "status") == "completed" else 1

    def _report_turns(self, turns: Iterable[Turn]) -> None:
        for turn in turns:
            self._reporter.report_turn(turn)

    def _obey(self, directive: Directive) -> None:
        if directive.action is DirectiveAction.STOP:
            sys.stderr.write(f"guard run: {directive.reason or 'Ended by Mission Control.'}\n")
            self._end_with(SIGNAL_STATUS + signal.SIGTERM)
        elif directive.action is DirectiveAction.HOLD:
            # A hook holds the next call; without hooks, work stops here and now.
            if self._has_hooks:
                self._was_held = True
            elif self._turn is not None and not self._is_paused:
                self._is_paused = True
                self._interrupt()
        elif self._was_held:
            self._was_held = False
            threading.Timer(HOOK_HEAD_START_S, self._recheck_directive).start()
        else:
            messages = [m for m in directive.messages if m.id not in self._given_ids]
            if self._is_paused:
                self._is_paused = False
                if not messages:
                    self._start_turn(RESUME_PROMPT)
            if messages:
                self._give_messages(messages)

    def _recheck_directive(self) -> None:
        directive = self._reporter.read_directive()
        if directive is not None:
            # Through the inbox: this is the timer's thread, and only the driver's thread obeys.
            self._inbox.put(ArrivedDirective(directive))

    def _give_messages(self, messages: list[Message]) -> None:
        """Give texts to the model now: within its turn, or as its next one."""
        given = "\n\n".join(message.text for message in messages)
        # If the turn has ended since, Codex refuses to steer it: then the texts are the next turn.
        fields = {
            "threadId": self._thread,
            "expectedTurnId": self._turn,
            "input": _text_input(given),
        }
        try:
            steered = self._turn is not None and bool(self._server.request("turn/steer", **fields))
        except AppServerFailed:
            steered = False
        if not steered:
            self._start_turn(given)
        for message in messages:
            self._given_ids.add(message.id)
            self._reporter.mark_delivered(message.id)

    def _start_turn(self, prompt: str) -> None:
        started = self._server.request(
            "turn/start", threadId=self._thread, input=_text_input(prompt)
        )
        self._turn = text(mapping(started.get("turn")), "id")

    def _interrupt(self) -> None:
        # A turn that has ended since cannot be interrupted, and need not be.
        with contextlib.suppress(AppServerFailed):
            self._server.request("turn/interrupt", threadId=self._thread, turnId=self._turn or "")

    def _end_with(self, status: int) -> None:
        if self._turn is not None:
            self._interrupt()
        self._status = status


def _text_input(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]
