"""An agent's own screen, in a pseudo-terminal: what a person who sits at it has."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import termios
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

ANSWERS = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?62c"}
"""What a terminal is asked at a start, and says: where the cursor is, what it is."""
ESCAPES = re.compile(r"\x1b\[[0-9;?<>]*[a-zA-Z]|\x1b\][^\x07]*\x07")


class Terminal:
    """One program in the foreground of a terminal of its own."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self._shown = b""
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(  # noqa: S606 - no shell is wanted between a screen and its program
                command[0], list(command), {**env, "TERM": "xterm-256color"}
            )
        size = struct.pack("HHHH", 40, 120, 0, 0)
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, size)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._descriptor, keys.encode())

    def shown(self) -> str:
        """Everything it wrote, without the places and colours."""
        return ESCAPES.sub(" ", self._shown.decode("utf-8", "replace"))

    def kill(self) -> None:
        """End it as nobody can prevent; twice changes nothing."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0
            self._reader.join(5)

    def _read(self) -> None:
        while True:
            try:
                written = os.read(self._descriptor, 65536)
            except OSError:  # the program has gone
                return
            if not written:
                return
            self._shown += written
            for question, answer in ANSWERS.items():
                if question in written:
                    os.write(self._descriptor, answer)
