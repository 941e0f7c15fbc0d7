"""The unmodified Codex CLI, run headless in a scratch home."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
from pathlib import Path

from guard.running.app_server import AppServer
from tests.agents.client import Client
from tests.agents.responses_api import MODEL
from tests.agents.terminal import Terminal
from tests.installations import PATIENCE_S, ROOT, wait_for

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


def _pids() -> list[int]:
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]


def _environment(pid: int) -> bytes:
    """Return what a process was started with; nothing of one that has ended."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


class Codex(Client):
    """One person's Codex: a home, a project, a model endpoint."""

    name = "codex"

    def __init__(self, home: Path, project: Path, model_url: str) -> None:
        self.codex_home = home / ".codex"
        super().__init__(
            home,
            project,
            CODEX_HOME=str(self.codex_home),
            PATH=os.pathsep.join([*_folder_of_binary(), os.environ["PATH"]]),
            SCRIPTED_KEY="dummy",
            PYTHONPATH=str(ROOT),
        )
        self.codex_home.mkdir(exist_ok=True)
        self.config.write_text(
            CONFIG.format(model=MODEL, url=model_url, project=json.dumps(str(project)))
        )

    @property
    def config(self) -> Path:
        return self.codex_home / "config.toml"

    def trust_hooks(self) -> None:
        """Trust every hook, as the person does in `/hooks`."""
        server = AppServer([str(binary()), "app-server"], env=self.env, inbox=queue.SimpleQueue())
        try:
            server.initialize()
            (listed,) = server.request("hooks/list", cwds=[str(self.project)])["data"]
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

    def sit_at(self, prompt: str) -> Terminal:
        """Open its own screen; the session itself lives in Codex's daemon."""
        return self.open_screen(str(binary()), prompt)

    def processes(self) -> list[int]:
        """Name every process of this home: the screen, Codex's daemon and its updater, our hooks.

        A daemon is nobody's child; what it was started with tells whose it is.
        """
        mine = f"CODEX_HOME={self.codex_home}".encode()
        return [pid for pid in _pids() if mine in _environment(pid).split(b"\0")]

    def _end_daemon(self) -> None:
        command = (str(binary()), "app-server", "daemon", "stop")
        subprocess.run(command, env=self.env, capture_output=True, timeout=PATIENCE_S, check=False)
        wait_for(self._are_all_killed)

    def _are_all_killed(self) -> bool:
        """Kill its updater, which outlives it, our process beside it, and what they begin."""
        left = self.processes()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    def end(self) -> None:
        for screen in self._screens:
            screen.kill()
        if self._screens:
            self._end_daemon()
        super().end()
