"""All of the proof as one JSON object: `uv run python -m tests.bench.bench_corpus`.

The recorded runs and the peers' scenarios lie outside the repository, at
$MISSIONCONTROL_SHARED or ../shared, and are read, never copied.
"""

from __future__ import annotations

import sys

from guard.cli import main
from tests.installations import SHARED

if __name__ == "__main__":
    sources = [f"{SHARED}/corpus", "--cases", f"{SHARED}/detection/cases"]
    sys.exit(main(["bench", *sources, "--json", *sys.argv[1:]]))
