"""The data directory: its lock, its secrets and logs, and which migrations its database has seen.

A start that finds the same migrations as the last one starts the web process at once, in parallel
with the check itself: the first page comes two seconds sooner.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from guard.sdk.connections import write_private
from missioncontrol.up.errors import DataInUse, DataUnusable

PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600
# A socket's path has at most 104 bytes; ours adds about 40.
MAX_BASE_LENGTH = 60
# How long a start waits for one that is dying: its watchdog holds the lock until
# every process is gone, which takes milliseconds after `kill -9` of the parent.
LOCK_WAIT_S = 1.5
STOPPING_WAIT_S = 20.0
LOCK, STAMP = "up.lock", "migrated.stamp"
_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class LockHolder:
    """Who holds a data directory, as written into its lock file."""

    pid: int | None = None
    state: str = ""
    url: str = ""


class DataDir:
    """A directory that one Mission Control holds alone, by an flock that ends with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock_fd = -1

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def fingerprint(self) -> str:
        """Eight hex digits that identify this directory on this machine."""
        # Resolved, so that a directory has one name, whatever link leads to it.
        return hashlib.sha256(str(self.path.resolve()).encode()).hexdigest()[:8]

    def acquire_lock(self) -> None:
        """Make the directory and lock it.

        Raises:
            DataUnusable: It cannot be made or written.
            DataInUse: Another Mission Control holds it, and is not ending.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIR)
            self.logs.mkdir(exist_ok=True, mode=PRIVATE_DIR)
            self.lock_fd = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
            # Create a file: an existing lock file says nothing of a mount that is read-only now.
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            raise DataUnusable(self.path, error) from None
        began = time.monotonic()
        while True:
            # Not lockf: its locks are not inherited, and the watchdog must hold this one after us.
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self.lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            holder = self.read_status()
            patience = STOPPING_WAIT_S if holder.state == "stopping" else LOCK_WAIT_S
            if time.monotonic() - began > patience:
                raise DataInUse(self.path, holder.pid, holder.url)
            time.sleep(0.05)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the directory within this context; raises as `acquire_lock` does."""
        self.acquire_lock()
        try:
            yield
        finally:
            os.close(self.lock_fd)

    def write_status(self, state: str, url: str = "") -> None:
        """Write into the lock file who holds it and what it is doing."""
        text = json.dumps(asdict(LockHolder(pid=os.getpid(), state=state, url=url)))
        # In place: a lock belongs to the file, so a new file of this name would not be locked.
        os.ftruncate(self.lock_fd, 0)
        os.pwrite(self.lock_fd, text.encode(), 0)

    def read_status(self) -> LockHolder:
        """Return who holds the directory, or held it last, and what it was doing."""
        # The file is empty for a moment while its holder begins to write.
        with contextlib.suppress(OSError, ValueError, TypeError):
            return LockHolder(**json.loads((self.path / LOCK).read_text()))
        return LockHolder()

    def read_secret(self, name: str) -> str:
        """Return a secret stored in DIR; empty if there is none."""
        path = self.path / name
        return path.read_text().strip() if path.is_file() else ""

    def write_secret(self, name: str, secret: str) -> None:
        """Store a secret in DIR, in a file (0600) of its own."""
        write_private(self.path / name, f"{secret}\n".encode())

    def ensure_secret(self, name: str) -> str:
        """Return a secret stored in DIR; make it if there is none."""
        if stored := self.read_secret(name):
            return stored
        # 384 bits, made here: a secret shipped with the program would be known to everybody.
        secret = secrets.token_urlsafe(48)
        self.write_secret(name, secret)
        return secret


def runtime_dir(fingerprint: str) -> Path:
    """Return a short private directory for sockets; their paths are limited to 104 bytes."""
    for base in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108
        if not base or len(base) > MAX_BASE_LENGTH:
            continue
        path = Path(base) / f"missioncontrol-{os.getuid()}-{fingerprint}"
        with contextlib.suppress(OSError):
            path.mkdir(mode=PRIVATE_DIR, exist_ok=True)
        try:
            # Not stat: in a shared /tmp, somebody else's link must not lead us elsewhere.
            found = path.lstat()
        except OSError:
            is_ours_alone = False
        else:
            is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            is_ours_alone = (
                is_ours and stat.S_IMODE(found.st_mode) == PRIVATE_DIR and os.access(path, os.W_OK)
            )
        if is_ours_alone:
            return path
    # A new one at each start, if somebody else owns the usual names.
    return Path(tempfile.mkdtemp(prefix="mc-", dir="/tmp"))


def is_schema_current(data: Path) -> bool:
    """Say whether the last start migrated this very database to this very code."""
    try:
        return (data / STAMP).read_text() == _stamp_of(data)
    except OSError:
        return False


def write_schema_stamp(data: Path) -> None:
    """Note that the database has the shape that this code expects."""
    (data / STAMP).write_text(_stamp_of(data))


def clear_schema_stamp(data: Path) -> None:
    """Have the next start check again, because the database was replaced."""
    (data / STAMP).unlink(missing_ok=True)


def _stamp_of(data: Path) -> str:
    names = sorted(path.name for path in _PACKAGE.glob("*/migrations/[0-9]*.py"))
    database, file = os.environ.get("DATABASE_URL"), data / "missioncontrol.sqlite3"
    if not database:
        # By its inode: a file that replaced it is another database.
        database = f"{file}:{file.stat().st_ino}" if file.exists() else "none"
    # With Django's version, because its own migrations are applied too.
    seen = "\n".join([*names, version("django"), database])
    return hashlib.sha256(seen.encode()).hexdigest()
