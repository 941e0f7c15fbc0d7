"""Import nothing from the working directory, where agents write.

`python -P` keeps it off the import path only at the start: Daphne and Celery then put it first,
and any later import would run a file there that has the right name. So our servers run as
`python -P -m missioncontrol.safe_path MODULE ARGUMENT…`.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import SupportsIndex


class SafePath(list[str]):
    """An import path that the working directory cannot be added to."""

    def insert(self, index: SupportsIndex, entry: str) -> None:
        """Insert any other directory; what was on the path from the start stays."""
        if entry not in {"", "."} and entry != os.getcwd():  # noqa: PTH109 - the text they insert
            super().insert(index, entry)


def exclude_working_directory() -> None:
    """Refuse the working directory from now on."""
    sys.path = SafePath(sys.path)


if __name__ == "__main__":
    exclude_working_directory()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
