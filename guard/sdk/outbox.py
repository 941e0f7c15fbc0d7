"""Turns that wait on disk for a server that is away.

One append-only file of JSON lines a process and session, 0600, in a folder a
project. Its owner holds a lock on it for as long as it lives, which the system
lets go of when it is killed: whoever finds a file unlocked may deliver it. A line
that was torn by a kill is passed over. A full outbox refuses what is newest, so
that what it holds has no gap, and counts it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guard.redact import redact_json
from guard.sdk.wording import cut

try:
    import fcntl
except ImportError:  # no such locks here: each session delivers its own file, and no other
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger("guard")

Record = Mapping[str, Any]
"""`{"open": …}`, `{"turn": …}`, `{"choice": …}`, `{"dropped": n}` or `{"end": …}`."""

MOST_BYTES = 16 * 1024 * 1024
"""Of one file."""
MOST_TURNS = 10_000
"""In one file: a day of a busy agent."""
MOST_IN_FOLDER = 64 * 1024 * 1024
"""Of all files of a project; beyond it no new file is begun."""
RESERVE = 64 * 1024
"""Kept free of turns, for choices, the count of what was dropped and the end."""
MOST_CHARS = 8_000
"""Of one text of a turn; its middle is cut. Masking costs 30 us a kilobyte."""
LONGEST_LINE = 256 * 1024
BATCH_BYTES = 1024 * 1024
VARIABLE = "MISSIONCONTROL_OUTBOX"
OFF = "off"


@dataclass(frozen=True, slots=True)
class Batch:
    """Records to deliver, and where in the file they end."""

    records: tuple[Record, ...]
    end: int


def outbox_root(told: Path | str | bool | None) -> Path | None:
    """Say where outboxes lie: as told, as `$MISSIONCONTROL_OUTBOX` says, else at home.

    None: nothing is kept.
    """
    given = os.environ.get(VARIABLE) if told is None or told is True else told
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
        self._lock = threading.RLock()
        self._file: _File | None = None
        self._turns = 0
        self.dropped = 0
        self._dropped_told = 0
        self._complained = False

    @property
    def pending(self) -> bool:
        """There is something that was not delivered."""
        with self._lock:
            return self._file is not None and self._file.sent < self._file.size

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
                self._count_drop()
            return kept

    def batch(self) -> Batch:
        """Give what stands next in line; empty when all is delivered."""
        with self._lock:
            return self._file.read() if self._file is not None else Batch((), 0)

    def delivered(self, batch: Batch) -> None:
        """Forget what was delivered; an empty file is removed."""
        with self._lock:
            if self._file is None:
                return
            self._file.sent = batch.end
            if self._file.sent >= self._file.size:
                self._file.remove()
                self._file, self._turns = None, 0

    def close(self) -> None:
        """Let go of the file; what stands in it is for whoever comes next."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _append(self, record: Record, *, is_turn: bool) -> bool:
        file = self._own_file()
        if file is None:
            return False
        line = written(record)
        room = self._most_bytes - (RESERVE if is_turn else 0)
        if file.size + len(line) > room or (is_turn and self._turns >= self._most_turns):
            self._complain("is full: newer turns are dropped")
            return False
        if not file.append(line):
            self._complain("cannot be written (the disk is full)")
            return False
        self._turns += is_turn
        return True

    def _own_file(self) -> _File | None:
        """Return the file, a new one where there is none or a fork took ours along."""
        if self._file is not None and self._file.pid != os.getpid():
            self._file.close()
            self._file, self._turns = None, 0
        if self._file is None:
            if _size_of(self._folder) >= MOST_IN_FOLDER:
                self._complain("of this project is full: turns are dropped")
                return None
            file = _File.create(self._folder)
            if not file.append(written({"open": self._opening})):
                file.remove()
                self._complain("cannot be written (the disk is full)")
                return None
            self._file = file
        return self._file

    def _count_drop(self) -> None:
        """Count, and write the count down each time it has doubled."""
        self.dropped += 1
        if self.dropped >= 2 * self._dropped_told:
            self.tell_dropped()

    def tell_dropped(self) -> None:
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


class _File:
    """One open and locked file."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor
        self.pid = os.getpid()
        self.size = os.fstat(descriptor).st_size
        self.sent = 0
        self._torn = False

    @classmethod
    def create(cls, folder: Path) -> _File:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
        descriptor = os.open(folder / name, flags, 0o600)
        if not _locked(descriptor):
            os.close(descriptor)
            raise OSError(errno.ENOLCK, "the file cannot be locked")
        return cls(folder / name, descriptor)

    @classmethod
    def adopt(cls, path: Path) -> _File | None:
        """Take over a file whose owner is gone; None: it is not."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
        except OSError:
            return None
        if fcntl is None or not _locked(descriptor) or os.fstat(descriptor).st_nlink == 0:
            os.close(descriptor)  # its owner lives, or somebody has just delivered it
            return None
        return cls(path, descriptor)

    def append(self, line: bytes) -> bool:
        """Write one line in one go; False: only a part of it found room."""
        whole = b"\n" + line if self._torn else line
        count = os.write(self._descriptor, whole)
        self.size += count
        self._torn = count < len(whole)
        return not self._torn

    def read(self) -> Batch:
        """Read the records that stand next, whole lines only."""
        os.lseek(self._descriptor, self.sent, os.SEEK_SET)  # what is appended goes to the end
        raw = os.read(self._descriptor, max(BATCH_BYTES, 2 * LONGEST_LINE))
        if not raw:  # somebody has cut the file
            return Batch((), self.size)
        cut = raw.rfind(b"\n") + 1
        at_end = self.sent + len(raw) >= self.size
        end = self.sent + (len(raw) if at_end or not cut else cut)
        return Batch(tuple(_records(raw[:cut])), end)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        os.close(self._descriptor)


@dataclass(slots=True)
class Leftover:
    """An outbox whose owner is gone; to be delivered by whoever found it."""

    _file: _File

    def batch(self) -> Batch:
        """Give what stands next in line; empty when all is delivered."""
        return self._file.read()

    def delivered(self, batch: Batch) -> None:
        """Note how far it is delivered."""
        self._file.sent = batch.end

    @property
    def pending(self) -> bool:
        """There is something that was not delivered."""
        return self._file.sent < self._file.size

    def remove(self) -> None:
        """Remove the file: all of it is delivered."""
        self._file.remove()

    def close(self) -> None:
        """Leave it as it is, for another time."""
        self._file.close()


def _locked(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def leftovers(folder: Path) -> Iterator[Leftover]:
    """Take each file of a folder whose owner is gone, oldest first.

    The taker removes or closes it.
    """
    for path in _files(folder):
        file = _File.adopt(path)
        if file is not None:
            yield Leftover(file)


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
    raw = [_bytes_of(path) for path in files]
    turns = sum("turn" in record for text in raw for record in _records(text))
    return Waiting(folder=folder, files=len(files), turns=turns, size=sum(map(len, raw)))


def written(record: Record) -> bytes:
    """Write a record as one line: secrets masked, long texts cut."""
    line = _line(_shortened(record, MOST_CHARS))
    if len(line) > LONGEST_LINE:
        line = _line(_shortened(record, 500))
    return line if len(line) <= LONGEST_LINE else _line(_without_args(record))


def _line(record: Record) -> bytes:
    text = json.dumps(redact_json(record), default=str, separators=(",", ":"))
    return text.encode() + b"\n"


def _without_args(record: Record) -> Record:
    turn = {name: part for name, part in record.get("turn", {}).items() if name != "args"}
    return _shortened({**record, "turn": turn}, 500)  # type: ignore[no-any-return]


def _shortened(value: Any, most: int) -> Any:
    if isinstance(value, str):
        return cut(value, most)
    if isinstance(value, Mapping):
        return {name: _shortened(part, most) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(part, most) for part in value]
    return value


def _records(raw: bytes) -> Iterator[Record]:
    for line in raw.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue  # torn by a kill or a full disk
        if isinstance(record, dict):
            yield record


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.jsonl"))
    except OSError:
        return []


def _size_of(folder: Path) -> int:
    total = 0
    for path in _files(folder):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
