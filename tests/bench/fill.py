"""Put open runs, and judged turns of the first sixteen, into an installation's database.

`python -m tests.bench.fill RUNS TURNS`, in the environment of the installation.
"""

from __future__ import annotations

import sys

import django


def fill(runs: int, turns: int) -> None:
    """Open so many runs and tell so many turns, sixteen hundred in a transaction."""
    from missioncontrol.accounts.models import Project
    from missioncontrol.clock import now
    from missioncontrol.detection import pipeline
    from missioncontrol.history.catching_up import index_slice
    from missioncontrol.runs.ingest import Arrival, store
    from missioncontrol.runs.services import OpenRun, open_run
    from tests.build import a_call

    project = Project.objects.get()
    opened = [
        open_run(project, OpenRun(name=f"rests {n}"), by="agent", at=now())[0] for n in range(runs)
    ]
    telling = [run.id for run in opened[:16]]
    for first in range(0, turns, 100 * len(telling) or 1):
        calls = [a_call(f"cat {first}/{n}.py", result=f"line {n} of {first}") for n in range(100)]
        store([Arrival(run=run, project=project.id, turns=calls) for run in telling], at=now())
        pipeline.detect(telling, at=now())
    while index_slice(at=now()):
        pass


if __name__ == "__main__":
    django.setup()
    fill(int(sys.argv[1]), int(sys.argv[2]))
