"""The command under guard: started in a group of its own, with our terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from guard.running.ending import GRACE_S, end_tree, signal_tree

# What we are sent is meant for the command.
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)


class Child:
    """A command that runs in a process group of its own.

    It reads our standard input and writes where we write; where that is a
    terminal, it is given the terminal, and Ctrl-C and Ctrl-Z are its own.
    """

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], **streams: Any) -> None:
        self._terminal: int | None = None
        # Whose turn it was at the terminal: a shell's job has a group of its own.
        self._foreground = 0
        # The one we read from and are in the foreground of: no other is ours to lend.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            descriptor = sys.stdin.fileno()
            if not streams and os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp():
                self._terminal = descriptor
        self._paused = False
        # Pausing and going on come from several threads.
        self._changing = threading.Lock()
        self.pid = 0
        self._early: list[int] = []
        for number in FORWARDED:
            signal.signal(number, self._forward)
        self.process = subprocess.Popen(command, env=dict(env), process_group=0, **streams)
        self.pid = self.process.pid
        # Only now, or the command would inherit it: taking a terminal back from the
        # background is answered with this signal.
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        self._lend_terminal()
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGCONT)  # it may have asked for the terminal too early
        for early in self._early:
            self._forward(early, None)

    def wait(self) -> int:
        """Wait for its end; answers its exit status as a shell would say it."""
        while True:
            # Popen tells of the end only; that it was stopped has to be asked for.
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
        # It was collected behind its back: Popen must not wait for a number that may be reused.
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

    def pause(self) -> None:
        """Stop it where it stands, with everything below it."""
        with self._changing:
            self._pause()

    def go_on(self) -> None:
        """Let it go on, if we stopped it: what the person stopped stays so."""
        with self._changing:
            if self._paused:
                # First: who goes on to read without the terminal is stopped by it.
                self._lend_terminal()
                signal_tree(self.pid, signal.SIGCONT)
                self._paused = False

    def end(self, *, grace_s: float = GRACE_S) -> None:
        """End it, with everything below it."""
        with self._changing:
            self._paused = True  # it stands still for a moment: by us, not by Ctrl-Z
            end_tree(self.pid, grace_s=grace_s)

    def _forward(self, number: int, _frame: Any) -> None:
        if not self.pid:  # it is being started
            self._early.append(number)
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)
        if self._paused and number != signal.SIGUSR1:
            # Stopped, it would hear of its end only when the hold is over. What goes on all the
            # same is stopped again.
            signal_tree(self.pid, signal.SIGCONT)
            again = threading.Timer(GRACE_S, self._pause_again)
            again.daemon = True
            again.start()

    def _pause_again(self) -> None:
        with self._changing:
            if self._paused:
                self._pause()

    def _pause(self) -> None:
        self._paused = True
        signal_tree(self.pid, signal.SIGSTOP)
        # Else Ctrl-C would go to the stopped command alone, which cannot hear it.
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
