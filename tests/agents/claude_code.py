"""The unmodified Claude Code, run headless in a scratch home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.agents.terminal import Terminal
from tests.installations import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".ci" / "agents" / "node_modules" / "@anthropic-ai"


NOWHERE_ELSE = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
}
"""What is not on loopback meets a closed door."""


def binary() -> Path | None:
    """The installed binary for this platform, or None."""
    found = sorted(INSTALLED.glob("claude-code-*/claude"))
    return next((path for path in found if os.access(path, os.X_OK)), None)


class ClaudeCode:
    """One person's Claude Code: a home, a project, a model endpoint."""

    def __init__(self, home: Path, project: Path, model_url: str) -> None:
        self.home, self.project = home, project
        self.env = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "ANTHROPIC_BASE_URL": model_url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            # At its end it gives a slow server 2 s for what it used; the rest is never told.
            "CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS": "60000",
            **NOWHERE_ELSE,
        }
        self._started: list[subprocess.Popen[str]] = []
        self._screens: list[Terminal] = []
        home.mkdir(exist_ok=True)
        project.mkdir(exist_ok=True)
        self._trust_project()

    def _trust_project(self) -> None:
        trusted = {str(self.project): {"hasTrustDialogAccepted": True}}
        written = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
            "projects": trusted,
        }
        (self.home / ".claude.json").write_text(json.dumps(written))

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
        done = self.guard(
            "connect", "claude-code", "--url", url, "--key", key, "--project-dir", ".", *more
        )
        assert done.returncode == 0, done.stderr

    def start(
        self,
        prompt: str,
        *,
        session: str,
        allowed: str = "Read,Bash,Glob,Agent",
        more: tuple[str, ...] = (),
    ) -> subprocess.Popen[str]:
        """Start `claude -p`; it may read files and run commands unasked."""
        told = ("--session-id", session, "--allowedTools", allowed)
        return self._start("-p", prompt, *told, *more, stdin=subprocess.DEVNULL)

    def resume(self, session: str) -> subprocess.Popen[str]:
        """Go on with a parked session: `claude -p --resume`."""
        told = ("--resume", session, "--allowedTools", "Read,Bash,Glob")
        return self._start("-p", *told, stdin=subprocess.DEVNULL)

    def open(self, prompt: str, *, session: str) -> subprocess.Popen[str]:
        """Start a session that stays open for further messages, as the SDKs do."""
        streams = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
        process = self._start("-p", *streams, "--session-id", session, stdin=subprocess.PIPE)
        assert process.stdin is not None
        told = {"type": "user", "message": {"role": "user", "content": prompt}}
        process.stdin.write(json.dumps(told) + "\n")
        process.stdin.flush()
        return process

    def sit_at(self, prompt: str, *, session: str) -> Terminal:
        """Open its own screen, as a person does who sits at it."""
        told = ("--session-id", session, "--model", "claude-sonnet-4-5", prompt)
        screen = Terminal((str(binary()), *told), cwd=self.project, env=self.env)
        self._screens.append(screen)
        return screen

    def _start(self, *words: str, stdin: int) -> subprocess.Popen[str]:
        claude = binary()
        assert claude is not None
        with (self.home / "claude.log").open("w") as log:
            process = subprocess.Popen(
                [str(claude), *words, "--model", "claude-sonnet-4-5"],
                cwd=self.project,
                env=self.env,
                stdin=stdin,
                stdout=log,
                stderr=log,
                text=True,
            )
        self._started.append(process)
        return process

    def said(self) -> str:
        """What it printed."""
        return (self.home / "claude.log").read_text()

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
