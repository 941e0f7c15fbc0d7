"""The environments that `.ci/install-frameworks` makes, and how to run in one.

Of ours each has the distribution in `guard/` and nothing else: neither the server nor
what it needs can be imported there.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

from tests.agents.client import NOWHERE_ELSE
from tests.agents.person import Person
from tests.installations import PATIENCE_S, ROOT, wait_for

VENVS = ROOT / ".ci" / "agents" / "venvs"

SILENT = {
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "LANGSMITH_TRACING": "false",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "ANONYMIZED_TELEMETRY": "False",
}
"""No framework calls home, and what is not on loopback meets a closed door."""


def python_of(framework: str) -> Path | None:
    """The interpreter of a framework's environment; None: not installed."""
    python = VENVS / framework / "bin" / "python"
    if not (VENVS / framework / "installed.sha256").exists():
        return None
    _bring_guard()
    return python


@functools.cache
def _bring_guard() -> None:
    """Install guard as it is now, once a test run."""
    subprocess.run([ROOT / ".ci" / "install-frameworks", "guard"], check=True)


def only_tests(within: Path) -> Path:
    """A folder from which `tests` can be imported, and nothing else of the checkout."""
    folder = within / "only-tests"
    folder.mkdir(exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (folder / "tests").symlink_to(ROOT / "tests")
    return folder


class Program:
    """One small agent that runs now."""

    def __init__(self, framework: str, module: str, *arguments: str, home: Path, **env: str):
        python = python_of(framework)
        assert python is not None
        self.story = uuid.uuid4().hex[:8]
        self._said = (home / "said").open("w+")
        self._complained = (home / "complained").open("w+")
        self.process = subprocess.Popen(
            [str(python), "-m", f"tests.agents.frameworks.{module}", *arguments],
            cwd=home,
            env={
                "HOME": str(home),
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(only_tests(home)),
                **NOWHERE_ELSE,
                **SILENT,
                "STORY": self.story,
                **env,
            },
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._complained,
        )

    def run(self, person: Person, part: str) -> str | None:
        """Find one of its runs by name, when it is there."""
        return person.run_named(f"{self.story}-{part}")

    def opened(self, person: Person, part: str) -> str:
        """Wait until one of its runs is there; fails at once if it ended."""

        def there() -> str | None:
            assert self.process.poll() is None, self.account()
            return self.run(person, part)

        return str(wait_for(there))

    def card(self, person: Person, *, key: str = "") -> dict[str, Any]:
        """Wait for the card on which its loop is held; fails at once if it ended.

        `key`: the run's, where its adapter names it.
        """

        def held() -> dict[str, Any] | None:
            assert self.process.poll() is None, self.account()
            found = person.run_of(key) if key else None
            run = found["id"] if found else self.run(person, "loop")
            return person.waiting_on(run) if run else None

        return dict(wait_for(held, shown=self._complaints))

    def account(self) -> dict[str, object]:
        """Wait for its end and read what it tells of itself."""
        code = self.process.wait(PATIENCE_S)
        self._said.seek(0)
        assert code == 0, self._complaints()
        return dict(json.loads(self._said.read().splitlines()[-1]))

    def _complaints(self) -> str:
        self._complained.seek(0)
        return self._complained.read()[-4000:]

    def end(self) -> None:
        """End it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_S)
        self._said.close()
        self._complained.close()
