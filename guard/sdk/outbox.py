"""Turns that wait on disk for a server that is away.

Each process and session has one append-only file of JSON lines, with mode 0600, in the project's
folder. Its owner holds a lock on it while it lives; the system releases the lock when the owner is
killed, and whoever finds an unlocked file may deliver it. A line torn by a kill is skipped. A full
outbox refuses the newest turns and counts them, so that what it holds has no gap.
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

from guard.sdk.forking import register_after_fork
from guard.sdk.outbox_file import Batch, MaskedArgs, OutboxFile, Record, encode_record, read_records

logger = logging.getLogger("guard")

# Bytes of one file.
MAX_BYTES = 16 * 1024 * 1024
# Turns in one file: a day of a busy agent.
MAX_TURNS = 10_000
# Bytes of all files of a project; beyond that no new file is begun.
MAX_FOLDER_BYTES = 64 * 1024 * 1024
# Reserved for choices, the count of dropped turns and the end.
RESERVED_BYTES = 64 * 1024
OUTBOX_VARIABLE = "MISSIONCONTROL_OUTBOX"
OFF = "off"


def outbox_root(location: Path | str | bool | None) -> Path | None:
    """Return where outboxes are: as given, else `$MISSIONCONTROL_OUTBOX`, else in the home.

    None: nothing is kept.
    """
    given = os.environ.get(OUTBOX_VARIABLE) if location is None or location is True else location
    if given is False or given == OFF:
        return None
    if given:
        return Path(str(given))
    state = os.environ.get("XDG_STATE_HOME")
    try:
        return Path(state or Path.home() / ".local" / "state") / "missioncontrol" / "outbox"
    except RuntimeError:  # no home directory
        return None


def project_folder(root: Path, url: str, key: str) -> Path:
    """Return the name of a project's folder, which does not reveal the agent key."""
    identity = f"{url.rstrip('/')}\n{key}".encode()
    # From address and key: one project's turns are never delivered to another.
    return root / hashlib.sha256(identity).hexdigest()[:20]


class Outbox:
    """What one session could not deliver yet. Threads may share it.

    Args:
        folder: The project's folder; created when it is first needed.
        opening: What opens the run; the first record of each file.
    """

    def __init__(
        self,
        folder: Path,
        opening: Mapping[str, Any],
        *,
        max_bytes: int = MAX_BYTES,
        max_turns: int = MAX_TURNS,
    ) -> None:
        self._folder = folder
        self._opening = opening
        self._max_bytes = max_bytes
        self._max_turns = max_turns
        self._masked_args = MaskedArgs()
        self._file: OutboxFile | None = None
        self.reset_after_fork()
        self.dropped = 0
        self._dropped_reported = 0
        self._has_warned = False
        register_after_fork(self)

    def reset_after_fork(self) -> None:
        """Leave the file to the parent: both would append, each with its own count of the size."""
        # Re-entrant: the count of dropped turns is written while a record is kept.
        self._lock = threading.RLock()
        inherited, self._file, self._turns = self._file, None, 0
        if inherited is not None:
            inherited.close()

    @property
    def has_pending(self) -> bool:
        """Whether something was not delivered yet."""
        with self._lock:
            return self._file is not None and self._file.has_pending

    def append(self, record: Record) -> bool:
        """Append a record; False: it was dropped, which is counted and logged once."""
        is_turn = "turn" in record
        with self._lock:
            try:
                kept = self._append(record, is_turn=is_turn)
            except OSError as error:
                self._warn_once(f"cannot be written ({error.strerror or error})")
                kept = False
            if not kept and is_turn:
                self.dropped += 1
                # Written each time it has doubled: a full outbox has little room for it.
                if self.dropped >= 2 * self._dropped_reported:
                    self.report_dropped()
            return kept

    def next_batch(self) -> Batch:
        """Return the next records; empty when everything is delivered."""
        with self._lock:
            return self._file.next_batch() if self._file is not None else Batch((), 0)

    def mark_delivered(self, batch: Batch) -> None:
        """Forget what was delivered; remove an empty file."""
        with self._lock:
            if self._file is None:
                return
            self._file.mark_delivered(batch)
            if not self._file.has_pending:
                self._file.remove()
                self._file, self._turns = None, 0

    def close(self) -> None:
        """Release the file; its records are for whoever delivers next."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _append(self, record: Record, *, is_turn: bool) -> bool:
        if self._file is None:
            total = 0
            for path in _outbox_files(self._folder):
                with contextlib.suppress(OSError):
                    total += path.stat().st_size
            if total >= MAX_FOLDER_BYTES:
                self._warn_once("of this project is full: turns are dropped")
                return False
            # It begins with the run's opening: whoever finds it later needs nothing else.
            file = OutboxFile.create(self._folder)
            if not file.append(encode_record({"open": self._opening})):
                file.remove()
                self._warn_once("cannot be written (the disk is full)")
                return False
            self._file = file
        line = encode_record(record, self._masked_args)
        room = self._max_bytes - (RESERVED_BYTES if is_turn else 0)
        if self._file.size + len(line) > room or (is_turn and self._turns >= self._max_turns):
            self._warn_once("is full: newer turns are dropped")
            return False
        if not self._file.append(line):
            self._warn_once("cannot be written (the disk is full)")
            return False
        self._turns += is_turn
        return True

    def report_dropped(self) -> None:
        """Record how many turns were dropped, if the number is new."""
        with self._lock:
            if self.dropped > self._dropped_reported and self._file is not None:
                with contextlib.suppress(OSError):
                    self._append({"dropped": self.dropped}, is_turn=False)
                self._dropped_reported = self.dropped

    def _warn_once(self, problem: str) -> None:
        if not self._has_warned:
            logger.warning("the outbox %s; the agent goes on", problem)
        self._has_warned = True


def ownerless_files(folder: Path) -> Iterator[OutboxFile]:
    """Lock and yield each file of a folder whose owner is gone, oldest first.

    The caller removes or closes it.
    """
    for path in _outbox_files(folder):
        file = OutboxFile.adopt(path)
        if file is not None:
            yield file


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingFiles:
    """What waits in a project's folder."""

    folder: Path
    files: int
    turns: int
    size: int


def count_pending(folder: Path) -> PendingFiles:
    """Count what waits in a folder, without locking anything."""
    files = _outbox_files(folder)
    raw = []
    for path in files:
        # Its owner may have delivered and removed it since it was listed.
        try:
            raw.append(path.read_bytes())
        except OSError:
            raw.append(b"")
    turns = sum("turn" in record for text in raw for record in read_records(text))
    return PendingFiles(folder=folder, files=len(files), turns=turns, size=sum(map(len, raw)))


def _outbox_files(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.jsonl"))
    except OSError:
        return []
