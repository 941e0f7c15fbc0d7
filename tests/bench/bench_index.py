"""What indexing costs beside storing and judging: CPU microseconds a turn, in process.

Run `uv run python -m tests.bench.bench_index`; prints JSON. Also how long a search
takes among that many turns. CPU time, so that a busy machine says the same.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TURNS = int(os.environ.get("BENCH_TURNS", "2000"))
RUNS = 20


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        os.environ["MISSIONCONTROL_DATA"] = place
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "missioncontrol.settings")
        os.environ.setdefault("REDIS_URL", f"unix://{Path(place) / 'none.sock'}")
        import django

        django.setup()
        print(json.dumps(measure(), indent=1))


def measure() -> dict[str, Any]:
    """Store, judge and index the same turns; then look for words in them."""
    from django.core.management import call_command
    from django.db import connection

    from missioncontrol.clock import now
    from missioncontrol.detection import pipeline
    from missioncontrol.history.tasks import index_slice
    from tests.build import a_project, a_run, put

    call_command("migrate", verbosity=0)
    project = a_project()
    runs = [a_run(project, name=f"run {n}", key=str(n)) for n in range(RUNS)]
    by_run = {run.id: [_turn(run.name, n) for n in range(TURNS // RUNS)] for run in runs}
    found: dict[str, Any] = {"bench": "index", "database": connection.vendor, "turns": TURNS}
    found["store_us"] = _cpu_us(lambda: [put(run, *by_run[run.id]) for run in runs])
    found["judge_us"] = _cpu_us(lambda: pipeline.detect([run.id for run in runs], at=now()))
    found["index_us"] = _cpu_us(lambda: _drain(lambda: index_slice(at=now())))
    both = found["store_us"] + found["judge_us"]
    found["index_of_both"] = round(found["index_us"] / both, 2)
    found["search_ms"] = {q: _search_ms(project, q) for q in ("handler_7", "return", '"not found"')}
    return found


def _turn(name: str, number: int) -> Any:
    from tests.build import a_call

    body = "".join(f"def handler_{number}_{n}(request):\n    return {n}\n" for n in range(12))
    return a_call(f"cat {name}/{number}.py", key=f"{name}-{number}", result=body)


def _cpu_us(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return round((time.process_time() - begun) / TURNS * 1e6, 1)


def _drain(step: Callable[[], bool]) -> None:
    while step():
        pass


def _search_ms(project: Any, q: str) -> float:
    from missioncontrol.clock import now
    from missioncontrol.history import search
    from missioncontrol.history.language import parse_query
    from missioncontrol.runs.selectors import list_runs

    at = now()
    begun = time.process_time()
    query = parse_query(q, at=at)
    search.history_rows(
        list(search.filter_runs(list_runs(projects=[project.id]), query)), query, at=at
    )
    return round((time.process_time() - begun) * 1000, 1)


if __name__ == "__main__":
    main()
