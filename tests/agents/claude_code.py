"""The unmodified Claude Code, run headless in a scratch home."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.agents.client import Client
from tests.agents.terminal import Terminal
from tests.installations import ROOT

INSTALLED = ROOT / ".ci" / "agents" / "node_modules" / "@anthropic-ai"


def binary() -> Path | None:
    """The installed binary for this platform, or None."""
    found = sorted(INSTALLED.glob("claude-code-*/claude"))
    return next((path for path in found if os.access(path, os.X_OK)), None)


class ClaudeCode(Client):
    """One person's Claude Code: a home, a project, a model endpoint."""

    name = "claude-code"

    def __init__(self, home: Path, project: Path, model_url: str) -> None:
        super().__init__(
            home,
            project,
            ANTHROPIC_BASE_URL=model_url,
            ANTHROPIC_API_KEY="dummy",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
            # At its end it gives a slow server 2 s for what it used; the rest is never told.
            CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS="60000",
        )
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

    def connect(self, url: str, key: str, *more: str) -> None:
        super().connect(url, key, "--project-dir", ".", *more)

    def start(
        self,
        prompt: str,
        *,
        session: str,
        allowed: str = "Read,Bash,Glob,Agent",
        more: tuple[str, ...] = (),
    ) -> subprocess.Popen[str]:
        """Start `claude -p`; it may read files and run commands unasked."""
        args = ("--session-id", session, "--allowedTools", allowed)
        return self._start("-p", prompt, *args, *more, stdin=subprocess.DEVNULL)

    def resume(self, session: str) -> subprocess.Popen[str]:
        """Go on with a parked session: `claude -p --resume`."""
        args = ("--resume", session, "--allowedTools", "Read,Bash,Glob")
        return self._start("-p", *args, stdin=subprocess.DEVNULL)

    def open(self, prompt: str, *, session: str) -> subprocess.Popen[str]:
        """Start a session that stays open for further messages, as the SDKs do."""
        streams = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
        process = self._start("-p", *streams, "--session-id", session, stdin=subprocess.PIPE)
        assert process.stdin is not None
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        return process

    def sit_at(self, prompt: str, *, session: str) -> Terminal:
        """Open its own screen, as a person does who sits at it."""
        args = ("--session-id", session, "--model", "claude-sonnet-4-5", prompt)
        return self.open_screen(str(binary()), *args)

    def _start(self, *words: str, stdin: int) -> subprocess.Popen[str]:
        claude = binary()
        assert claude is not None
        return self.spawn(str(claude), *words, "--model", "claude-sonnet-4-5", stdin=stdin)
