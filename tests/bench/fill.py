"""Put open runs, and judged turns of the first sixteen, into an installation's database.

`python -m tests.bench.fill RUNS TURNS`, in the environment of the installation. With `--run ID`
the turns are that run's.
"""

from __future__ import annotations

import argparse
from uuid import UUID

import django


def fill(runs: int, turns: int, run: UUID | None) -> None:
    """Open so many runs and tell so many turns, sixteen hundred in a transaction."""
    from missioncontrol.accounts.models import Project
    from missioncontrol.clock import now
    from missioncontrol.detection import pipeline
    from missioncontrol.history.tasks import index_slice
    from missioncontrol.runs.ingest import Arrival, store
    from missioncontrol.runs.services import OpenRun, open_run
    from tests.build import a_call

    project = Project.objects.get()
    opened = [
        open_run(project, OpenRun(name=f"rests {n}"), by="agent", at=now())[0] for n in range(runs)
    ]
    telling = [run] if run else [one.id for one in opened[:16]]
    for first in range(0, turns, 100 * len(telling) or 1):
        calls = [a_call(f"cat {first}/{n}.py", result=f"line {n} of {first}") for n in range(100)]
        store([Arrival(run=one, project=project.id, turns=calls) for one in telling], at=now())
        pipeline.detect(telling, at=now())
    while index_slice(at=now()):
        pass


if __name__ == "__main__":
    django.setup()
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("runs", type=int)
    reading.add_argument("turns", type=int)
    reading.add_argument("--run", type=UUID)
    fill(**vars(reading.parse_args()))
