"""Where coding agents keep their past sessions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

# Agent -> where its transcripts lie, under a person's home.
SESSION_FOLDERS: dict[str, str] = {
    "claude-code": ".claude/projects",
    "codex": ".codex/sessions",
    "gemini": ".gemini/tmp",
}
_ENDINGS = (".jsonl", ".json")


def session_folders(home: Path) -> list[Path]:
    """Give the agents' transcript folders that exist under a home."""
    return [folder for where in SESSION_FOLDERS.values() if (folder := home / where).is_dir()]


def find_sessions(paths: Iterable[Path]) -> Iterator[list[Path]]:
    """Give the session files folder by folder, oldest file first.

    A session that was resumed is told again in a later file of its folder, so
    that files of one folder belong together.
    """

    def written_at(path: Path) -> tuple[float, str]:
        # A file may go while others are looked at; it then only sorts first.
        try:
            return path.stat().st_mtime, path.name
        except OSError:
            return 0.0, path.name

    for path in paths:
        if not path.is_dir():
            yield [path]
            continue
        for folder, below, names in os.walk(path):
            below.sort()  # os.walk follows this list: the same order on every file system
            found = [Path(folder, name) for name in names if name.endswith(_ENDINGS)]
            if found:
                yield sorted(found, key=written_at)
