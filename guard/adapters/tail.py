"""The end of a record that an agent is still writing: JSON, a line each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def rows_at_end(path: Path, *, most_bytes: int) -> Iterator[dict[str, Any]]:
    """Read the objects in the last bytes of a file; none where it cannot be read."""
    for line in _last_lines(path, most_bytes):
        try:
            row = json.loads(line)
        except ValueError:  # the first one is cut, the last may be half written
            continue
        if isinstance(row, dict):
            yield row


def _last_lines(path: Path, most_bytes: int) -> list[bytes]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - most_bytes))
            return file.read(most_bytes).splitlines()
    except OSError:
        return []
