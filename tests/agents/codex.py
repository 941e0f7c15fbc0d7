"""The unmodified Codex CLI, run headless in a scratch home."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
from pathlib import Path

from guard.running.app_server import AppServer
from tests.agents.claude_code import NOWHERE_ELSE, ROOT
from tests.agents.responses_api import MODEL

INSTALLED = ROOT / ".ci" / "agents" / "node_modules" / "@openai"

CONFIG = """
model = "{model}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}"
env_key = "SCRIPTED_KEY"
wire_api = "responses"

# By default it tries to deliver metrics at its end, which takes 5 s.
[otel]
metrics_exporter = "none"

[projects.{project}]
trust_level = "trusted"
"""


def binary() -> Path | None:
    """The installed binary for this platform, or None."""
    found = sorted(INSTALLED.glob("codex-*/vendor/*/bin/codex"))
    return next((path for path in found if os.access(path, os.X_OK)), None)


def _folder_of_binary() -> list[str]:
    found = binary()
    return [str(found.parent)] if found else []


class Codex:
    """One person's Codex: a home, a project, a model endpoint."""

    def __init__(self, home: Path, project: Path, model_url: str) -> None:
        self.home, self.project = home, project
        self.codex_home = home / ".codex"
        self.env = {
            "HOME": str(home),
            "CODEX_HOME": str(self.codex_home),
            "PATH": os.pathsep.join([*_folder_of_binary(), os.environ["PATH"]]),
            "SCRIPTED_KEY": "dummy",
            "PYTHONPATH": str(ROOT),
            **NOWHERE_ELSE,
        }
        self._started: list[subprocess.Popen[str]] = []
        self.codex_home.mkdir(parents=True, exist_ok=True)
        project.mkdir(exist_ok=True)
        self.config.write_text(
            CONFIG.format(model=MODEL, url=model_url, project=json.dumps(str(project)))
        )

    @property
    def config(self) -> Path:
        return self.codex_home / "config.toml"

    def guard(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a `guard` command as this person, in the project."""
        return subprocess.run(
            [sys.executable, "-m", "guard.cli", *command],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def connect(self, url: str, key: str, *more: str) -> None:
        """Connect it, as a person would."""
        done = self.guard("connect", "codex", "--url", url, "--key", key, *more)
        assert done.returncode == 0, done.stderr

    def trust_hooks(self) -> None:
        """Trust every hook, as the person does in `/hooks`."""
        server = AppServer([str(binary()), "app-server"], env=self.env, inbox=queue.Queue())
        try:
            server.begin()
            (listed,) = server.ask("hooks/list", cwds=[str(self.project)])["data"]
        finally:
            server.close()
        written = "[hooks.state.{}]\ntrusted_hash = {}\n"
        trusted = "".join(
            written.format(json.dumps(hook["key"]), json.dumps(hook["currentHash"]))
            for hook in listed["hooks"]
        )
        self.config.write_text(f"{self.config.read_text()}\n{trusted}")

    def start(self, prompt: str, *, run: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """Start `codex exec`; `run` stands before it: `guard run --`.

        The hooks are reviewed by nobody here, so their trust is bypassed.
        """
        codex = binary()
        assert codex is not None
        flags = ("--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust")
        return self.spawn(*run, str(codex), "exec", *flags, prompt)

    def spawn(self, *command: str) -> subprocess.Popen[str]:
        """Start a command as this person, its output kept."""
        with (self.home / "codex.log").open("w") as log:
            process = subprocess.Popen(
                command,
                cwd=self.project,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def said(self) -> str:
        """What it printed."""
        return (self.home / "codex.log").read_text()

    def end(self) -> None:
        """End what still runs."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait(10)
