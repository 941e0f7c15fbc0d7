"""One file of an outbox: locked by its owner, appended to line by line."""

from __future__ import annotations

import errno
import functools
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guard.caching import RecentCache
from guard.redact import redact, redact_json
from guard.sdk.turn_json import cut_middle

try:
    import fcntl
except ImportError:  # no such locks here: each session delivers its own file, and no other
    fcntl = None  # type: ignore[assignment]


# `{"open": …}`, `{"turn": …}`, `{"choice": …}`, `{"dropped": n}` or `{"end": …}`.
Record = Mapping[str, Any]

# Of one text of a turn; its middle is cut. Masking costs 30 us a kilobyte.
MAX_CHARS = 8_000
MAX_LINE_BYTES = 256 * 1024
# Written by the session itself: these hold no text of the host.
_UNMASKED_FIELDS = frozenset({"key", "role", "phase", "ts"})
# Usually the same in every turn.
_NAME_FIELDS = frozenset({"agent", "tool", "model", "provider"})
_MAX_OPEN_CALLS = 16
BATCH_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Batch:
    """Records to deliver, and where in the file they end."""

    records: tuple[Record, ...]
    end: int


class OutboxFile:
    """One open and locked file."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor
        self.size = os.fstat(descriptor).st_size
        self.delivered_bytes = 0
        self._has_torn_line = False

    @classmethod
    def create(cls, folder: Path) -> OutboxFile:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        # The name sorts by age: the oldest file is delivered first.
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
        descriptor = os.open(folder / name, flags, 0o600)
        if not _try_lock(descriptor):
            os.close(descriptor)
            raise OSError(errno.ENOLCK, "the file cannot be locked")
        return cls(folder / name, descriptor)

    @classmethod
    def adopt(cls, path: Path) -> OutboxFile | None:
        """Take over a file whose owner is gone; return None if the owner still has it."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
        except OSError:
            return None
        if fcntl is None or not _try_lock(descriptor) or os.fstat(descriptor).st_nlink == 0:
            os.close(descriptor)  # its owner lives, or somebody has just delivered it
            return None
        return cls(path, descriptor)

    def append(self, line: bytes) -> bool:
        """Write one line at once; False: there was room for only a part of it."""
        # A torn line is ended first, or this one would become a part of it.
        whole = b"\n" + line if self._has_torn_line else line
        # Unbuffered: a kill must not lose a turn that was kept.
        count = os.write(self._descriptor, whole)
        self.size += count
        self._has_torn_line = count < len(whole)
        return not self._has_torn_line

    @property
    def has_pending(self) -> bool:
        """Whether something was not delivered yet."""
        return self.delivered_bytes < self.size

    def mark_delivered(self, batch: Batch) -> None:
        """Record how far it was delivered."""
        self.delivered_bytes = batch.end

    def next_batch(self) -> Batch:
        """Read the next records, whole lines only; empty when everything is delivered."""
        os.lseek(
            self._descriptor, self.delivered_bytes, os.SEEK_SET
        )  # what is appended goes to the end
        raw = os.read(self._descriptor, max(BATCH_BYTES, 2 * MAX_LINE_BYTES))
        if not raw:  # somebody has cut the file
            return Batch((), self.size)
        cut = raw.rfind(b"\n") + 1
        # A torn line is skipped: nobody completes it. So is a line longer than the window.
        at_end = self.delivered_bytes + len(raw) >= self.size
        end = self.delivered_bytes + (len(raw) if at_end or not cut else cut)
        return Batch(tuple(read_records(raw[:cut])), end)

    def remove(self) -> None:
        """Remove the file: everything in it was delivered."""
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Leave the file as it is, for later."""
        os.close(self._descriptor)


def _try_lock(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class MaskedArgs:
    """Masked arguments of the calls under way: their completions are not masked again.

    A call is reported as it was proposed, even if its host changes the arguments later.
    """

    def __init__(self) -> None:
        self._masked = RecentCache[str, tuple[Any, Any]](_MAX_OPEN_CALLS)

    def of_turn(self, turn: Record) -> Any:
        """Return a turn's arguments with long texts cut and secrets masked."""
        key, args = turn.get("key") or "", turn["args"]
        cached = self._masked.get(key)
        if cached is not None and cached[0] is args:
            return cached[1]
        masked = redact_json(_cut_texts(args, MAX_CHARS))
        self._masked.put(key, (args, masked))
        return masked


def encode_record(record: Record, masked_args: MaskedArgs | None = None) -> bytes:
    """Write a record as one line: secrets masked, long texts cut.

    Args:
        record: What to write.
        masked_args: The calls of the same session.
    """
    turn: Record = record.get("turn") or {}
    masked: dict[str, Any] = {}
    # Masking is the main cost of keeping a turn: skip what cannot hold a secret, was masked already
    # or is the same in every turn.
    for name, value in turn.items():
        if name in _UNMASKED_FIELDS:
            masked[name] = value
        elif name == "args":
            masked[name] = (masked_args or MaskedArgs()).of_turn(turn)
        elif name in _NAME_FIELDS:
            masked[name] = _mask_name(cut_middle(str(value), MAX_CHARS) or "")
        else:
            masked[name] = redact_json(_cut_texts(value, MAX_CHARS))
    line = _encode_line({"turn": masked} if masked else redact_json(_cut_texts(record, MAX_CHARS)))
    # Better a turn without its details than a gap in the run.
    if len(line) > MAX_LINE_BYTES:
        line = _encode_line(redact_json(_cut_texts(record, 500)))
    if len(line) > MAX_LINE_BYTES:
        bare = {name: part for name, part in record.get("turn", {}).items() if name != "args"}
        line = _encode_line(redact_json(_cut_texts({**record, "turn": bare}, 500)))
    return line


_mask_name = functools.lru_cache(maxsize=256)(redact)
_encode = json.JSONEncoder(default=str, separators=(",", ":")).encode


def _encode_line(record: Record) -> bytes:
    return _encode(record).encode() + b"\n"


def _cut_texts(value: Any, max_chars: int) -> Any:
    if isinstance(value, str):
        return cut_middle(value, max_chars)
    if isinstance(value, Mapping):
        return {name: _cut_texts(part, max_chars) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_cut_texts(part, max_chars) for part in value]
    return value


def read_records(raw: bytes) -> Iterator[Record]:
    for line in raw.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue  # torn by a kill or a full disk
        if isinstance(record, dict):
            yield record
