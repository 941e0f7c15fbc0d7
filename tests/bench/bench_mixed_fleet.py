"""Twenty agents of several kinds at once for two minutes, tapped at random.

Run `uv run python -m tests.bench.bench_mixed_fleet`; prints JSON. Python sessions,
Claude Code's and Gemini CLI's hook protocols over HTTP, and, where Gemini CLI is
installed (`.ci/install-agents`), two real ones with a scripted model.
`BENCH_SECONDS` changes how long, `BENCH_SEED` who is tapped.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.agents import gemini as gemini_cli
from tests.agents.gemini import GeminiCli
from tests.agents.gemini_api import ScriptedGeminiApi
from tests.agents.mixed_fleet import (
    ClaudeHooks,
    Fleet,
    GeminiHooks,
    PythonAgent,
    RealAgent,
    circling_model,
)
from tests.bench.bench_verdicts import is_ready
from tests.contract.conversation import the_person_of
from tests.installations import ROOT, an_installation, wait_for

SECONDS = float(os.environ.get("BENCH_SECONDS", "120"))
SEED = int(os.environ.get("BENCH_SEED", "20"))


@contextmanager
def a_real_one(fleet: Fleet, home: Path) -> Iterator[None]:
    """Add an unmodified Gemini CLI to a fleet."""
    home.mkdir()
    with ScriptedGeminiApi(circling_model("read_file", fleet)) as api:
        client = GeminiCli(home / "home", home / "project", api.url)
        try:
            client.connect(fleet.url, fleet.agent_key)
            fleet.add(RealAgent.of(client, api))
            yield
        finally:
            client.end()


def measure(running: Any, scratch: Path) -> dict[str, Any]:
    """Play and say what happened."""
    fleet = Fleet(running.url, running.agent_key, the_person_of(running), seed=SEED)
    with ExitStack() as real:
        count = 2 if gemini_cli.binary() else 0
        for n in range(count):
            real.enter_context(a_real_one(fleet, scratch / f"real{n}"))
        fleet.start((PythonAgent, 7), (ClaudeHooks, 6), (GeminiHooks, 7 - count))
        fleet.play(seconds=SECONDS)
        return fleet.figures()


def main() -> int:
    """Print the figures; answers 1 if anything was lost or went astray."""
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as place, an_installation(Path(place) / "data") as running:
        wait_for(lambda: is_ready(running))
        figures = {"seconds": SECONDS, "seed": SEED, **measure(running, Path(place))}
    print(json.dumps(figures, indent=2))
    amiss = ("lost", "crossed", "delivered_twice", "ended_amiss", "faults")
    return 1 if any(figures[name] for name in amiss) else 0


if __name__ == "__main__":
    sys.exit(main())
