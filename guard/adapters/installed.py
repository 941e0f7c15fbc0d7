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
MAX_ENTRIES = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFiles:
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


AGENT_FILES: dict[str, AgentFiles] = {
    "claude-code": AgentFiles(program="claude", folder=".claude", sessions="projects", depth=1),
    "codex": AgentFiles(program="codex", folder=".codex", sessions="sessions", depth=3),
    "gemini": AgentFiles(program="gemini", folder=".gemini", sessions="tmp", depth=2),
    "cursor": AgentFiles(program="cursor", folder=".cursor"),
}


def agent_session_folders() -> list[str]:
    """Return the folders of a home directory in which agents keep their sessions."""
    return [f"{files.folder}/{files.sessions}" for files in AGENT_FILES.values() if files.sessions]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledAgent:
    """An agent on this machine; `used_at` is None if nothing shows it."""

    client: str
    used_at: datetime | None


def installed_agents(home: Path, *, path: str | None = None) -> list[InstalledAgent]:
    """Return the agents of a home directory, the last used first.

    `path`: where to look for programs; None: on PATH.
    """
    agents = []
    for client, files in AGENT_FILES.items():
        folder = home / files.folder
        # Either is enough: a new agent has no folder yet, and some programs are not on our PATH.
        if folder.is_dir() or shutil.which(files.program, path=path):
            changes = _change_times(folder / files.sessions, files.depth) if files.sessions else ()
            newest = max(islice(changes, MAX_ENTRIES), default=None)
            used_at = None if newest is None else datetime.fromtimestamp(newest, UTC)
            agents.append(InstalledAgent(client=client, used_at=used_at))
    never = datetime.min.replace(tzinfo=UTC)
    return sorted(agents, key=lambda agent: agent.used_at or never, reverse=True)


def _change_times(folder: Path, depth: int) -> Iterator[float]:
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
            yield from _change_times(Path(entry.path), depth - 1)
