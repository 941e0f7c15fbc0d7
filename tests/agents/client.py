"""An unmodified coding agent in a scratch home, as one person has it: connected, started, ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from tests.agents.terminal import Terminal
from tests.installations import PATIENCE_S, ROOT

NOWHERE_ELSE = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
}
"""What is not on loopback meets a closed door."""


class Client:
    """One person's agent: a home, a project, and what runs there."""

    name: ClassVar[str]
    """As `guard connect` calls it."""

    def __init__(self, home: Path, project: Path, **env: str) -> None:
        self.home, self.project = home, project
        self.env = {"HOME": str(home), "PATH": os.environ["PATH"], **NOWHERE_ELSE, **env}
        self._started: list[subprocess.Popen[str]] = []
        self._screens: list[Terminal] = []
        home.mkdir(exist_ok=True)
        project.mkdir(exist_ok=True)

    def guard(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a `guard` command as this person, in the project."""
        return subprocess.run(
            [sys.executable, "-m", "guard.cli", *command],
            cwd=self.project,
            env=self.env | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def connect(self, url: str, key: str, *more: str) -> None:
        """Connect it, as a person would."""
        done = self.guard("connect", self.name, "--url", url, "--key", key, *more)
        assert done.returncode == 0, done.stderr

    def spawn(self, *command: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        """Start a command as this person, its output kept."""
        with (self.home / "agent.log").open("w") as log:
            process = subprocess.Popen(
                command,
                cwd=self.project,
                env=self.env,
                stdin=stdin,
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def open_screen(self, *command: str) -> Terminal:
        """Start a command at a terminal of its own, as a person does who sits at it."""
        screen = Terminal(command, cwd=self.project, env=self.env)
        self._screens.append(screen)
        return screen

    def output(self) -> str:
        """What it printed."""
        return (self.home / "agent.log").read_text()

    def end(self) -> None:
        """End what still runs."""
        for screen in self._screens:
            screen.kill()
        for process in self._started:
            if process.poll() is None:
                process.kill()
            if process.stdin is not None:
                process.stdin.close()
            process.wait(PATIENCE_S)
