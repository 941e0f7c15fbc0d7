"""Turns that wait on disk for a server that is away.

One append-only file of JSON lines a process and session, 0600, in a folder a
project. Its owner holds a lock on it for as long as it lives, which the system
lets go of when it is killed: whoever finds a file unlocked may deliver it. A line
that was torn by a kill is passed over. A full outbox refuses what is newest, so
that what it holds has no gap, and counts it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guard.sdk.forking import start_afresh_in_children
from guard.sdk.outbox_file import AskedFor, Batch, OutboxFile, Record, read_records, written

logger = logging.getLogger("guard")

# Of one file.
MOST_BYTES = 16 * 1024 * 1024
# In one file: a day of a busy agent.
MOST_TURNS = 10_000
# Of all files of a project; beyond it no new file is begun.
MOST_IN_FOLDER = 64 * 1024 * 1024
# Kept free of turns, for choices, the count of what was dropped and the end.
RESERVE = 64 * 1024
VARIABLE = "MISSIONCONTROL_OUTBOX"
OFF = "off"


def outbox_root(asked: Path | str | bool | None) -> Path | None:
    """Say where outboxes lie: as asked, as `$MISSIONCONTROL_OUTBOX` says, else at home.

    None: nothing is kept.
    """
    given = os.environ.get(VARIABLE) if asked is None or asked is True else asked
    if given is False or given == OFF:
        return None
    if given:
        return Path(str(given))
    state = os.environ.get("XDG_STATE_HOME")
    try:
        return Path(state or Path.home() / ".local" / "state") / "missioncontrol" / "outbox"
    except RuntimeError:  # nobody's home
        return None


def project_folder(root: Path, url: str, key: str) -> Path:
    """Name a project's folder; its agent key cannot be read from it."""
    known = f"{url.rstrip('/')}\n{key}".encode()
    # By address and key: what was meant for one project is never delivered to another.
    return root / hashlib.sha256(known).hexdigest()[:20]


class Outbox:
    """What one session could not deliver yet. Threads may share it.

    Args:
        folder: The project's folder; made when it is first needed.
        opening: What opens the run; stands first in each file.
    """

    def __init__(
        self,
        folder: Path,
        opening: Mapping[str, Any],
        *,
        most_bytes: int = MOST_BYTES,
        most_turns: int = MOST_TURNS,
    ) -> None:
        self._folder = folder
        self._opening = opening
        self._most_bytes = most_bytes
        self._most_turns = most_turns
        self._asked_for = AskedFor()
        self._file: OutboxFile | None = None
        self.start_afresh()
        self.dropped = 0
        self._dropped_told = 0
        self._complained = False
        start_afresh_in_children(self)

    def start_afresh(self) -> None:
        """Leave the file to the parent: both would append to it as if each knew its size."""
        # Re-entrant: the count of what was dropped is written while a record is kept.
        self._lock = threading.RLock()
        parents, self._file, self._turns = self._file, None, 0
        if parents is not None:
            parents.close()

    @property
    def pending(self) -> bool:
        """There is something that was not delivered."""
        with self._lock:
            return self._file is not None and self._file.pending

    def keep(self, record: Record) -> bool:
        """Append a record; False: it was dropped, which is counted and told once."""
        is_turn = "turn" in record
        with self._lock:
            try:
                kept = self._append(record, is_turn=is_turn)
            except OSError as error:
                self._complain(f"cannot be written ({error.strerror or error})")
                kept = False
            if not kept and is_turn:
                self.dropped += 1
                # Written down each time it has doubled: a full outbox has little room for it.
                if self.dropped >= 2 * self._dropped_told:
                    self.report_dropped()
            return kept

    def batch(self) -> Batch:
        """Give what stands next in line; empty when all is delivered."""
        with self._lock:
            return self._file.batch() if self._file is not None else Batch((), 0)

    def delivered(self, batch: Batch) -> None:
        """Forget what was delivered; an empty file is removed."""
        with self._lock:
            if self._file is None:
                return
            self._file.delivered(batch)
            if not self._file.pending:
                self._file.remove()
                self._file, self._turns = None, 0

    def close(self) -> None:
        """Let go of the file; what stands in it is for whoever comes next."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _append(self, record: Record, *, is_turn: bool) -> bool:
        if self._file is None:
            total = 0
            for path in _files(self._folder):
                with contextlib.suppress(OSError):
                    total += path.stat().st_size
            if total >= MOST_IN_FOLDER:
                self._complain("of this project is full: turns are dropped")
                return False
            # It begins with the run's opening: whoever finds it later needs nothing else.
            file = OutboxFile.create(self._folder)
            if not file.append(written({"open": self._opening})):
                file.remove()
                self._complain("cannot be written (the disk is full)")
                return False
            self._file = file
        line = written(record, self._asked_for)
        room = self._most_bytes - (RESERVE if is_turn else 0)
        if self._file.size + len(line) > room or (is_turn and self._turns >= self._most_turns):
            self._complain("is full: newer turns are dropped")
            return False
        if not self._file.append(line):
            self._complain("cannot be written (the disk is full)")
            return False
        self._turns += is_turn
        return True

    def report_dropped(self) -> None:
        """Write down how many turns were dropped, if that is news."""
        with self._lock:
            if self.dropped > self._dropped_told and self._file is not None:
                with contextlib.suppress(OSError):
                    self._append({"dropped": self.dropped}, is_turn=False)
                self._dropped_told = self.dropped

    def _complain(self, what: str) -> None:
        if not self._complained:
            logger.warning("the outbox %s; the agent goes on", what)
        self._complained = True


def leftovers(folder: Path) -> Iterator[OutboxFile]:
    """Take each file of a folder whose owner is gone, oldest first.

    The taker removes or closes it.
    """
    for path in _files(folder):
        file = OutboxFile.adopt(path)
        if file is not None:
            yield file


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits in a project's folder."""

    folder: Path
    files: int
    turns: int
    size: int


def waiting_in(folder: Path) -> Waiting:
    """Count what waits in a folder; takes nothing."""
    files = _files(folder)
    raw = []
    for path in files:
        # Its owner may have delivered and removed it since it was listed.
        try:
            raw.append(path.read_bytes())
        except OSError:
            raw.append(b"")
    turns = sum("turn" in record for text in raw for record in read_records(text))
    return Waiting(folder=folder, files=len(files), turns=turns, size=sum(map(len, raw)))


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.jsonl"))
    except OSError:
        return []
