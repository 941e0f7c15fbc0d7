"""How long anchoring holds a project's lock where 10,000 runs moved since the last checkpoint.

Run `uv run python -m tests.bench.bench_anchors`; prints JSON. In process, on SQLite: each
slice is one transaction, timed by itself, by processor and by clock.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

RUNS = int(os.environ.get("BENCH_RUNS", "10000"))


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        os.environ["MISSIONCONTROL_DATA"] = place
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "missioncontrol.settings")
        os.environ.setdefault("REDIS_URL", f"unix://{Path(place) / 'none.sock'}")
        import django

        django.setup()
        print(json.dumps({"bench": "anchors", "runs": RUNS} | measure(), indent=1))


def measure() -> dict[str, Any]:
    """Open runs, anchor them, and time each slice."""
    from django.core.management import call_command
    from django.db import transaction

    from missioncontrol.audit import anchors
    from missioncontrol.clock import now
    from tests.bench.bench_verdicts import spread
    from tests.build import a_project, a_run

    call_command("migrate", verbosity=0)
    project = a_project()
    a_run(project)
    anchors.anchor_heads(at=now())  # makes the key, and imports what signs
    with transaction.atomic():
        for number in range(RUNS):
            a_run(project, name=str(number), key=str(number))
    cpu_ms: list[float] = []
    clock_ms: list[float] = []
    one_slice = anchors._write_checkpoint  # one transaction of it is what is timed

    def timed(*args: Any, **more: Any) -> None:
        used, begun = time.process_time(), time.perf_counter()
        one_slice(*args, **more)
        cpu_ms.append(1000 * (time.process_time() - used))
        clock_ms.append(1000 * (time.perf_counter() - begun))

    anchors._write_checkpoint = timed
    anchors.anchor_heads(at=now())
    return {"slices": len(cpu_ms), "cpu_ms": spread(cpu_ms), "clock_ms": spread(clock_ms)}


if __name__ == "__main__":
    main()
