"""The command lines of our processes: the same ones that production runs."""

from __future__ import annotations

import json
import resource
import socket
import sys
from pathlib import Path
from typing import Any

from missioncontrol import env
from missioncontrol.up import tls, valkey
from missioncontrol.up.data_dir import DataDir
from missioncontrol.up.frontend import ROOT
from missioncontrol.up.supervisor import Command

# They spend nearly all their time waiting for an endpoint, and cost little.
JUDGE_THREADS = 8
# Bytes. Daphne closes a socket that sends more than a megabyte in one message; a board of a
# thousand runs is two. Incoming messages have their own limit (`api.daphne_requests`).
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
# What macOS allows a process, whatever limit it reports; it and many shells begin with 256 or
# 1,024.
MAX_OPEN_FILES = 10_240
SAFE_PYTHON = [sys.executable, "-P", "-m", "missioncontrol.safe_path"]
# The system checks would import every address and serializer, which no worker uses.
CELERY = [*SAFE_PYTHON, "celery", "-A", "missioncontrol.celery", "--skip-checks"]
WEB_ROLE = {"MISSIONCONTROL_ROLE": "web"}
# One process, without a parent that hands each message to a child and back.
SOLO_POOL = "--pool=solo"


def raise_open_files_limit() -> None:
    """Let this process and its children hold many connections: each waiting agent is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def web(
    data: DataDir,
    listener: socket.socket,
    secure: tls.CertificateFiles | None = None,
    secure_port: int = 0,
) -> Command:
    """Serve on a socket that is already open; without an access log, because links are secrets.

    `secure`: serve phones over HTTPS beside it, on every address.
    """
    also = (_secure_endpoint(secure, secure_port),) if secure else ()
    # Twisted's `fd` endpoints speak IPv4 only; on IPv6 web opens the address itself.
    if listener.family == socket.AF_INET:
        argv = _daphne(f"fd:fileno={listener.fileno()}", *also)
        return _command(data, "web", argv, env=WEB_ROLE, pass_fds=(listener.fileno(),))
    host, port = listener.getsockname()[:2]
    # Twisted splits an endpoint's description at colons.
    interface = str(host).replace(":", r"\:")
    argv = _daphne(f"tcp6:port={port}:interface={interface}", *also)
    return _command(data, "web", argv, env=WEB_ROLE)


def phone_web(data: DataDir, secure: tls.CertificateFiles, port: int) -> Command:
    """Serve phones over HTTPS, on every address, while the other web process goes on."""
    return _command(data, "phone", _daphne(_secure_endpoint(secure, port)), env=WEB_ROLE)


def _daphne(*endpoints: str) -> list[str]:
    return [
        *(*SAFE_PYTHON, "daphne", "--verbosity", "0", "--no-server-name"),
        *("--websocket-max-message-size", str(MAX_MESSAGE_BYTES)),
        *(word for endpoint in endpoints for word in ("--endpoint", endpoint)),
        "missioncontrol.asgi:application",
    ]


def _secure_endpoint(served: tls.CertificateFiles, port: int) -> str:
    """Twisted opens this address itself: its `fd` endpoints speak no TLS."""
    certificate = {
        "privateKey": served.key,
        "certKey": served.chain,
        "extraCertChain": served.authority,
    }
    # Twisted splits an endpoint's description at colons.
    written = {
        name: str(path).replace("\\", "\\\\").replace(":", r"\:")
        for name, path in certificate.items()
    }
    files = (f"{name}={path}" for name, path in written.items())
    return ":".join(["ssl", str(port), *files, "interface=0.0.0.0"])


def detectors(data: DataDir) -> list[Command]:
    """Run detection, each for the runs in its queue: nothing else comes between a turn and its
    verdict.
    """
    # Each has its own queue: a run's turns all go to one of them, which keeps its engine.
    numbers = range(env.number("MISSIONCONTROL_WORKERS", 2))
    return [
        _worker(data, f"detector-{number}", f"detect-{number}", SOLO_POOL) for number in numbers
    ]


def worker(data: DataDir) -> Command:
    """Do everything else; judge where the local judge is used, and detect for a silent detector."""
    return _worker(data, "worker", "oversight", SOLO_POOL)


def judge(data: DataDir) -> Command:
    """Ask the model that judges: a question takes seconds, so it has threads in its own process."""
    return _worker(data, "judge", "judge", "--pool=threads", f"--concurrency={JUDGE_THREADS}")


def _worker(data: DataDir, name: str, queue_name: str, *pool: str) -> Command:
    argv = [
        *CELERY,
        *("worker", *pool, f"--queues={queue(queue_name)}", f"--hostname={name}@%h"),
        *("--without-gossip", "--without-mingle", "--loglevel=WARNING"),
    ]
    return _command(data, name, argv, env={"MISSIONCONTROL_ROLE": "worker"})


def queue(name: str) -> str:
    """Name a queue as settings does; `up` chooses the prefix after settings were read."""
    return f"{env.text('MISSIONCONTROL_PREFIX', 'mc')}-{name}"


def beat(data: DataDir) -> Command:
    """Start the sweeper. Its schedule stays in memory, because there is nothing to remember."""
    argv = [*CELERY, "beat", "--scheduler=celery.beat.Scheduler", "--loglevel=WARNING"]
    return _command(data, "beat", argv, env={"MISSIONCONTROL_ROLE": "beat"})


def broker(data: DataDir, server: valkey.ValkeyServer, socket_path: Path) -> Command:
    """Carry dispatches and broadcasts; the others need it until they end."""
    # It ends last: the others still send messages while they end.
    argv = valkey.command(server, socket_path=socket_path)
    return _command(data, "valkey", argv, stops_last=True)


def demo(data: DataDir, *, url: str, keys: dict[str, str], model_url: str | None) -> Command:
    """Run the demo agents against this very server."""
    settings = {
        "url": url,
        "projects": keys,
        "model_url": model_url,
        "dir": str(data.path / "demo" / "work"),
    }
    # In the environment: everybody could read the keys on a command line.
    variables = {"MISSIONCONTROL_DEMO": json.dumps(settings)}
    return _command(data, "demo", [*SAFE_PYTHON, "missioncontrol.demo"], env=variables)


def _command(data: DataDir, name: str, argv: list[str], **more: Any) -> Command:
    """Return a process with a log of its own: two that write one would truncate each other's."""
    return Command(name=name, argv=argv, log=data.logs / f"{name}.log", **more)


def import_path(present: str) -> str:
    """Return a PYTHONPATH on which children find this very package."""
    # Ours first: an installed Mission Control must not be imported instead of a checkout.
    return str(ROOT) if not present else f"{ROOT}:{present}"
