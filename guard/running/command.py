"""`guard run -- COMMAND…`: run any agent command under Mission Control.

The command starts in a process group of its own, with our terminal.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from guard.adapters import ADAPTERS
from guard.errors import GuardError, ServerAway
from guard.running import codex_exec, session_notes
from guard.running.processes import GRACE_S, end_tree, signal_tree
from guard.running.run_client import RunClient
from guard.running.supervisor import Supervisor
from guard.sdk.connections import USER_WIDE, Connection, connection_for, resolve_server
from guard.sdk.conversation import new_key
from guard.sdk.lineage import RUN_KEY_VARIABLE

# Signals to us are meant for the command.
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)
# Agents that name their sessions themselves: each session is a run of its own.
CLIENT_OF_PROGRAM = {
    "claude": "claude-code",
    "codex": "codex",
    "gemini": "gemini",
    "cursor-agent": "cursor",
}
# A shell's status for a command that does not exist, and for one that cannot be executed.
NOT_FOUND, NOT_RUNNABLE = 127, 126
# A shell's status for a command that SIGTERM ended, and for one that Ctrl-C ended.
ENDED_STATUS, INTERRUPTED_STATUS = 143, 130
# EX_UNAVAILABLE: it must fail closed, and nobody watches.
NOT_STARTED = 69
CAPABILITIES = {
    "hold": True,
    "inject": [],
    "terminate": "signal",
    "why": {"inject": "A command run under `guard run` that reports no turns takes no text."},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.usage = "guard run [options] -- COMMAND…"
    parser.add_argument("--name", help="name of the run; default: the command")
    parser.add_argument("--url", help="Mission Control's address; default $MISSIONCONTROL_URL")
    parser.add_argument("--key", help="the project's agent key; default $MISSIONCONTROL_KEY")
    parser.add_argument(
        "--fail",
        choices=("open", "closed"),
        help="without Mission Control: run anyway (open) or do not start (closed)",
    )
    parser.add_argument("command_line", nargs="+", metavar="COMMAND", help="what to run")


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    client = CLIENT_OF_PROGRAM.get(PurePath(args.command_line[0]).name)
    try:
        connection = find_connection(args, client)
        try:
            with contextlib.closing(RunClient(connection)) as server:
                server.check_server()
        except ServerAway as error:
            # To fail closed, nothing is started unwatched.
            if connection.fail == "closed":
                raise
            print_message(
                f"{connection.url} is away ({error}); running without it until it is back."
            )
        task = codex_exec.read_command(args.command_line) if client == "codex" else None
        if isinstance(task, codex_exec.CodexTask):
            # Imported here: only commands that drive Codex need it.
            from guard.running.codex_driver import drive_codex

            return drive_codex(task, connection, name=args.name)
        if isinstance(task, str):
            print_message(task)
        return run_supervised(args, connection, is_one_run=client is None)
    except GuardError as error:
        print_message(str(error))
        return NOT_STARTED
    except KeyboardInterrupt:  # before the command began; later Ctrl-C is the command's own
        return INTERRUPTED_STATUS
    except FileNotFoundError as error:
        print_message(f"{error.filename}: there is no such command.")
        return NOT_FOUND
    except OSError as error:
        print_message(f"{args.command_line[0]} cannot be run: {error.strerror or error}.")
        return NOT_RUNNABLE


def run_supervised(args: argparse.Namespace, connection: Connection, *, is_one_run: bool) -> int:
    """Run the command under a supervisor; return its exit status."""
    run_key, opening = None, None
    # An agent that names its sessions has a run for each; any other command is one run.
    if is_one_run:
        run_key, line = f"run:{new_key()}", shlex.join(args.command_line)
        shown = line if len(line) <= MAX_NAME_CHARS else line[: MAX_NAME_CHARS - 1] + "…"
        opening = {
            "key": run_key,
            "name": args.name or shown,
            "agent": PurePath(args.command_line[0]).name,
            "capabilities": CAPABILITIES,
        }
    with tempfile.TemporaryDirectory(prefix="guard-run-") as notes:
        supervisor = Supervisor(RunClient(connection), notes=Path(notes), opening=opening)
        try:
            supervisor.open()  # first: to fail closed, nothing starts without a run
            child = ChildProcess(
                args.command_line, env=command_environment(connection, notes, run_key)
            )
        except OSError:
            supervisor.finish(NOT_FOUND)
            raise
        except KeyboardInterrupt:  # once the child runs, Ctrl-C is the command's own
            supervisor.report_not_started()
            raise
        supervisor.start(child)
        status = child.wait()
        supervisor.finish(status)
    # Ended by us, whatever it made of the signal: its shell must see that.
    return ENDED_STATUS if supervisor.end_reason else status


def find_connection(args: argparse.Namespace, client: str | None) -> Connection:
    """Find the connection: from arguments, environment, or what `connect` wrote.

    Raises:
        ConnectRefused: No address or no key is known, or they are unusable.
    """
    clients = [client] if client else list(ADAPTERS)
    found = (connection_for(name, Path.cwd()) for name in clients)
    existing = next((connection for connection in found if connection), None)
    url, key = resolve_server(args.url, args.key, existing)
    fail = args.fail or (existing.fail if existing else "open")
    return Connection(client=client or "run", place=USER_WIDE, url=url, key=key, fail=fail)


def command_environment(connection: Connection, notes: str, run_key: str | None) -> dict[str, str]:
    """Return the command's environment, by which its hooks and sessions find us."""
    added = {
        "MISSIONCONTROL_URL": connection.url,
        "MISSIONCONTROL_KEY": connection.key,
        session_notes.NOTES_VARIABLE: notes,
    }
    return os.environ | added | ({RUN_KEY_VARIABLE: run_key} if run_key else {})


MAX_NAME_CHARS = 80


def print_message(sentence: str) -> None:
    """Print to stderr; the command's own output stays unmixed."""
    sys.stderr.write(f"guard run: {sentence}\n")


class ChildProcess:
    """A command that runs in a process group of its own.

    It reads our standard input and writes to our output. If that is a terminal, it gets the
    terminal, and handles Ctrl-C and Ctrl-Z itself.
    """

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], **streams: Any) -> None:
        self._terminal: int | None = None
        # The terminal's foreground group before: in a shell's job, a group of its own.
        self._foreground = 0
        # Only a terminal that we read from, in its foreground: no other is ours to lend.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            descriptor = sys.stdin.fileno()
            if not streams and os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp():
                self._terminal = descriptor
        self._paused = False
        # Several threads pause and resume it.
        self._state_lock = threading.Lock()
        self.pid = 0
        self._early_signals: list[int] = []
        for number in FORWARDED:
            signal.signal(number, self._forward)
        self.process = subprocess.Popen(command, env=dict(env), process_group=0, **streams)
        self.pid = self.process.pid
        # Only now, or the command would inherit it: a background process that takes the terminal
        # back gets this signal.
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        self._lend_terminal()
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGCONT)  # it may have asked for the terminal too early
        for early in self._early_signals:
            self._forward(early, None)

    def wait(self) -> int:
        """Wait for its end; return its exit status as a shell would."""
        while True:
            # Popen reports only the end; a stop must be asked for.
            _, status = os.waitpid(self.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                break
            if not self._paused:
                # The person pressed Ctrl-Z: stop as well, so that the shell sees it.
                self._take_terminal_back()
                os.kill(os.getpid(), signal.SIGSTOP)
                self._lend_terminal()
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.pid, signal.SIGCONT)
        self._paused = False
        self._take_terminal_back()
        # We collected the child ourselves: Popen must not wait for a pid that may be reused.
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

    def pause(self) -> None:
        """Stop it where it is, with everything below it."""
        with self._state_lock:
            self._pause()

    def resume(self) -> None:
        """Let it continue if we stopped it; what the person stopped stays stopped."""
        with self._state_lock:
            if self._paused:
                # First: a process that reads without having the terminal is stopped by it.
                self._lend_terminal()
                signal_tree(self.pid, signal.SIGCONT)
                self._paused = False

    def end(self, *, grace_s: float = GRACE_S) -> None:
        """End it, with everything below it."""
        with self._state_lock:
            self._paused = True  # stopped for a moment: by us, not by Ctrl-Z
            end_tree(self.pid, grace_s=grace_s)

    def _forward(self, number: int, _frame: Any) -> None:
        if not self.pid:  # it is just being started
            self._early_signals.append(number)
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)
        if self._paused and number != signal.SIGUSR1:
            # While stopped it would see the signal only after the hold. If it survives, it is
            # stopped again.
            signal_tree(self.pid, signal.SIGCONT)
            again = threading.Timer(GRACE_S, self._pause_again)
            again.daemon = True
            again.start()

    def _pause_again(self) -> None:
        with self._state_lock:
            if self._paused:
                self._pause()

    def _pause(self) -> None:
        self._paused = True
        signal_tree(self.pid, signal.SIGSTOP)
        # Otherwise Ctrl-C would go to the stopped command alone, which cannot handle it.
        self._take_terminal_back()

    def _lend_terminal(self) -> None:
        if self._terminal is None:
            return
        for group in (self.pid, self._foreground or self.pid):
            with contextlib.suppress(OSError):  # it may have ended already
                os.tcsetpgrp(self._terminal, group)

    def _take_terminal_back(self) -> None:
        if self._terminal is None:
            return
        with contextlib.suppress(OSError):
            if (group := os.tcgetpgrp(self._terminal)) != os.getpgrp():
                self._foreground = group
            os.tcsetpgrp(self._terminal, os.getpgrp())
