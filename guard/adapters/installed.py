"""Which agents this machine has, and when each was last used, according to its own files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

# Most files and folders read for one agent: a dashboard must not wait for a large home.
MOST_LOOKED_AT = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Where an agent leaves traces.

    Attributes:
        program: Its executable, on PATH.
        folder: What it creates in the home directory.
        sessions: Where sessions are kept in that folder; "": nothing shows when it was used.
        depth: How many folders below that the files are.
    """

    program: str
    folder: str
    sessions: str = ""
    depth: int = 0


TRACES: dict[str, Trace] = {
    "claude-code": Trace(program="claude", folder=".claude", sessions="projects", depth=1),
    "codex": Trace(program="codex", folder=".codex", sessions="sessions", depth=3),
    "gemini": Trace(program="gemini", folder=".gemini", sessions="tmp", depth=2),
    "cursor": Trace(program="cursor", folder=".cursor"),
}


def session_places() -> list[str]:
    """Return the folders of a home directory in which agents keep their sessions."""
    return [f"{trace.folder}/{trace.sessions}" for trace in TRACES.values() if trace.sessions]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAgent:
    """An agent on this machine; `used_at` is None if nothing shows it."""

    client: str
    used_at: datetime | None


def found_agents(home: Path, *, path: str | None = None) -> list[FoundAgent]:
    """Return the agents of a home directory, the last used first.

    `path`: where to look for programs; None: on PATH.
    """
    here = []
    for client, trace in TRACES.items():
        folder = home / trace.folder
        # Either is enough: a new agent has no folder yet, and some programs are not on our PATH.
        if folder.is_dir() or shutil.which(trace.program, path=path):
            changes = _changes(folder / trace.sessions, trace.depth) if trace.sessions else ()
            newest = max(islice(changes, MOST_LOOKED_AT), default=None)
            used_at = None if newest is None else datetime.fromtimestamp(newest, UTC)
            here.append(FoundAgent(client=client, used_at=used_at))
    never = datetime.min.replace(tzinfo=UTC)
    return sorted(here, key=lambda agent: agent.used_at or never, reverse=True)


def _changes(folder: Path, depth: int) -> Iterator[float]:
    """Yield when each file was changed, those in the newest folders first."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.stat().st_mtime, entry) for entry in entries]
    except OSError:
        return
    # The newest first: the limit must not be reached among old sessions.
    for changed, entry in sorted(found, key=lambda one: one[0], reverse=True):
        if entry.is_file():
            yield changed
        elif depth > 0:
            yield from _changes(Path(entry.path), depth - 1)
