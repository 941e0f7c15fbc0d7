"""All of the proof as one JSON object: `uv run python -m tests.bench.bench_corpus`.

The recorded runs and the peers' scenarios lie outside the repository, at
$MISSIONCONTROL_SHARED or ../shared, and are read, never copied.
"""

from __future__ import annotations

import os
import sys

from guard.cli import main
from tests.installations import ROOT

if __name__ == "__main__":
    shared = os.environ.get("MISSIONCONTROL_SHARED") or str(ROOT.parent / "shared")
    sources = [f"{shared}/corpus", "--cases", f"{shared}/detection/cases"]
    sys.exit(main(["bench", *sources, "--json", *sys.argv[1:]]))
