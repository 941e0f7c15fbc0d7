"""The data directory: who holds it, its secrets and logs, which migrations its database has seen.

A start that finds the same migrations as the last one starts the web process at once, beside the
check itself: two seconds sooner to the first page.
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

from guard.sdk.keys import write_private
from missioncontrol.up.errors import DataInUse, DataUnusable

PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600
# A socket's path ends at 104 bytes; ours adds about 40.
LONGEST_BASE = 60
# How long a start waits for one that is dying: its watchdog holds the lock until
# every process is gone, which takes milliseconds after `kill -9` of the parent.
PATIENCE_S = 1.5
STOPPING_PATIENCE_S = 20.0
STAMP = "migrated.stamp"
_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a data directory, as written into its lock file."""

    pid: int | None = None
    state: str = ""
    url: str = ""


class DataDir:
    """A directory one Mission Control holds alone, by an flock that dies with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock_fd = -1

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def fingerprint(self) -> str:
        """Eight hex digits that name this directory on this machine."""
        # Resolved: one directory has one name, by whatever link it is reached.
        return hashlib.sha256(str(self.path.resolve()).encode()).hexdigest()[:8]

    def hold(self) -> None:
        """Make the directory and lock it.

        Raises:
            DataUnusable: It cannot be made or written.
            DataInUse: Another Mission Control holds it, and is not ending.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIR)
            self.logs.mkdir(exist_ok=True, mode=PRIVATE_DIR)
            self.lock_fd = os.open(self.path / "up.lock", os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
            # A file is made and gone: the lock file may be older than a read-only mount.
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
            # Empty for a moment where the other one has just begun to write.
            holder = Holder()
            with contextlib.suppress(ValueError, TypeError):
                holder = Holder(**json.loads(os.pread(self.lock_fd, 4096, 0)))
            patience = STOPPING_PATIENCE_S if holder.state == "stopping" else PATIENCE_S
            if time.monotonic() - began > patience:
                raise DataInUse(self.path, holder.pid, holder.url)
            time.sleep(0.05)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the directory for as long as this lasts; raises as `hold` does."""
        self.hold()
        try:
            yield
        finally:
            os.close(self.lock_fd)

    def announce(self, state: str, url: str = "") -> None:
        """Write into the lock file who holds it and what it is doing."""
        text = json.dumps(asdict(Holder(pid=os.getpid(), state=state, url=url)))
        # In place: a lock belongs to the file, and a new one under this name would be free.
        os.ftruncate(self.lock_fd, 0)
        os.pwrite(self.lock_fd, text.encode(), 0)

    def read_secret(self, name: str) -> str:
        """Return a secret kept in DIR; empty if there is none."""
        path = self.path / name
        return path.read_text().strip() if path.is_file() else ""

    def write_secret(self, name: str, secret: str) -> None:
        """Keep a secret in DIR, in a file (0600) of its own."""
        write_private(self.path / name, f"{secret}\n".encode())

    def kept_secret(self, name: str) -> str:
        """Return a secret kept in DIR, making it where there is none."""
        if kept := self.read_secret(name):
            return kept
        # 384 bits, made here: a secret that came with the program would be everybody's.
        secret = secrets.token_urlsafe(48)
        self.write_secret(name, secret)
        return secret


def runtime_dir(fingerprint: str) -> Path:
    """Return a short private directory for sockets; their paths are limited to 104 bytes."""
    for base in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108
        if not base or len(base) > LONGEST_BASE:
            continue
        path = Path(base) / f"missioncontrol-{os.getuid()}-{fingerprint}"
        with contextlib.suppress(OSError):
            path.mkdir(mode=PRIVATE_DIR, exist_ok=True)
        try:
            # Not stat: in everybody's /tmp, a link of somebody else's must not lead us elsewhere.
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
    # A new one at each start, where the usual names are somebody else's.
    return Path(tempfile.mkdtemp(prefix="mc-", dir="/tmp"))


def is_schema_current(data: Path) -> bool:
    """Say whether the last start migrated this very database to this very code."""
    try:
        return (data / STAMP).read_text() == _stamp_of(data)
    except OSError:
        return False


def keep_schema_stamp(data: Path) -> None:
    """Note that the database stands where this code wants it."""
    (data / STAMP).write_text(_stamp_of(data))


def forget_schema_stamp(data: Path) -> None:
    """Look again at the next start: another database stands there."""
    (data / STAMP).unlink(missing_ok=True)


def _stamp_of(data: Path) -> str:
    names = sorted(path.name for path in _PACKAGE.glob("*/migrations/[0-9]*.py"))
    database, file = os.environ.get("DATABASE_URL"), data / "missioncontrol.sqlite3"
    if not database:
        # By its inode: a file put in its place is another database.
        database = f"{file}:{file.stat().st_ino}" if file.exists() else "none"
    # With Django's version: its own migrations are among those that are applied.
    seen = "\n".join([*names, version("django"), database])
    return hashlib.sha256(seen.encode()).hexdigest()
