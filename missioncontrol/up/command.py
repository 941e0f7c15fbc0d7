"""One start, in order. Everything `manage.py up` does can be read here."""

from __future__ import annotations

import http.client
import os
import socket
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from missioncontrol import clock, env, extras
from missioncontrol.extras import DemoRequest, PhoneStatus
from missioncontrol.up import addresses, frontend, options, processes, valkey
from missioncontrol.up.data_dir import (
    DataDir,
    is_schema_current,
    runtime_dir,
    write_schema_stamp,
)
from missioncontrol.up.errors import BrokerUnreachable, CannotStart, ChildSilent
from missioncontrol.up.options import EVERYWHERE, LOOPBACK, Options
from missioncontrol.up.supervisor import Supervisor

if TYPE_CHECKING:
    from missioncontrol.up.banner import Banner
    from missioncontrol.up.tls import CertificateFiles

INTERRUPTED = 130
VALKEY_START_S = 30.0
# Long, because a first start on a busy machine takes minutes; one that died is reported at once.
START_LIMIT_S = 300.0


def main(argv: list[str]) -> int:
    """Start Mission Control and run until somebody ends it; return the exit code."""
    chosen = options.parse(argv)
    try:
        Start(chosen).run()
    except CannotStart as error:
        report(str(error))
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def report(line: str) -> None:
    """Print a line for the person at the terminal; stdout is for the result."""
    print(f"mission control: {line}", file=sys.stderr, flush=True)


class Start:
    """The state of one start: the data directory, the socket, the processes."""

    https_listener: socket.socket | None
    certificate_files: CertificateFiles | None

    def __init__(self, chosen: Options) -> None:
        self.options = chosen
        self.data = DataDir(chosen.data)
        self.https_port = options.https_port(chosen)

    def run(self) -> None:
        """Start everything, print where it is, and keep it running."""
        # First of all: if two start on one directory, the second is refused and touches nothing.
        self.data.acquire_lock()
        self.data.write_status("starting")
        listener = addresses.open_listener(self.options.host, self.options.port)
        self.url = addresses.url_of(listener)
        # Scripts cannot resolve the name that browsers resolve by themselves.
        self.page_url = self.url if self.options.json else addresses.page_url(self.url)
        # HTTPS has its own port and certificate; the port too is opened before anything is started.
        self.https_listener = self.certificate_files = None
        if self.options.https:
            self.https_listener, self.certificate_files = self.open_https()
        # Before the children, which serve it; after the ports, so that a taken one is reported at
        # once.
        frontend.ensure_built(cache=self.data.path / "cache", report=report)
        # From here on: others may read the built front end, but not data and logs.
        os.umask(0o077)
        self._set_environment()
        # It was open before this start, but is not yet.
        if extras.is_phone_requested(self.data.path):
            extras.record_phone_status(self.data.path, extras.PhoneStatus())
        processes.raise_open_files_limit()
        supervisor = Supervisor(lock_fd=self.data.lock_fd, report=report)
        supervisor.catch_signals()
        try:
            self._start_broker(supervisor)
            # If there is nothing to migrate, web need not wait for the check.
            if is_schema_current(self.data.path):
                self._launch_web(supervisor, listener)
            banner = self._prepare_database()
            write_schema_stamp(self.data.path)
            self._launch_web(supervisor, listener)
            self._serve(supervisor, banner)
        finally:
            # A start that finds this one ending waits longer.
            self.data.write_status("stopping", self.url)
            supervisor.stop()

    def open_https(self) -> tuple[socket.socket, CertificateFiles]:
        """Open the port of HTTPS; return its socket, and a certificate of this machine."""
        from missioncontrol.up import tls

        listener = addresses.open_listener(EVERYWHERE, self.https_port, option="--https-port")
        names = addresses.certified_names(self.options.host)
        return listener, tls.ensure_certificate(self.data.path, names=names, at=clock.now())

    def _set_environment(self) -> None:
        """Decide the settings of this process and of every child."""
        self.data.ensure_secret("secret.key")
        ensure_vapid_key(self.data)
        # Where a phone in the same network reaches this; empty if nowhere.
        address = addresses.lan_address()
        if self.options.public_url:
            self.phone_url = self.options.public_url
        elif self.https_listener is not None:
            self.phone_url = addresses.url_of(
                self.https_listener, address or LOOPBACK, scheme="https"
            )
        elif self.options.lan and address:
            self.phone_url = f"http://{address}:{self.url.rsplit(':', 1)[-1]}"
        else:
            self.phone_url = ""
        hosts = addresses.accepted_hosts(
            listen_host=self.options.host, public_url=self.options.public_url
        )
        os.environ.update(
            MISSIONCONTROL_DATA=str(self.data.path),
            MISSIONCONTROL_HOSTS=",".join(hosts),
            MISSIONCONTROL_PUBLIC_URL=self.options.public_url,
            MISSIONCONTROL_PHONE_URL=self.phone_url,
            MISSIONCONTROL_HTTPS_PORT=str(self.https_port),
            MISSIONCONTROL_SUPERVISED="1",
            MISSIONCONTROL_DURABLE="1" if self.options.durable else "0",
            PYTHONPATH=processes.import_path(os.environ.get("PYTHONPATH", "")),
            # A child's last words must be in its log, however it ends.
            PYTHONUNBUFFERED="1",
        )
        if not os.environ.get("DATABASE_URL"):
            # Nobody else can share a file of ours, so keep apart from others on one broker.
            os.environ.setdefault("MISSIONCONTROL_PREFIX", f"mc-{self.data.fingerprint}")

    def _start_broker(self, supervisor: Supervisor) -> None:
        if given := os.environ.get("REDIS_URL"):
            check_broker(given)
            return
        server = valkey.find_valkey()
        report(f"broker: {server.origin}")
        socket_path = runtime_dir(self.data.fingerprint) / "valkey.sock"
        # A socket left by a killed broker would keep the new one from listening.
        socket_path.unlink(missing_ok=True)
        supervisor.start(processes.broker(self.data, server, socket_path))
        if not valkey.wait_until_answering(socket_path, timeout_s=VALKEY_START_S):
            supervisor.check_running("valkey")
            raise ChildSilent("valkey", supervisor.log_of("valkey"), VALKEY_START_S)
        os.environ["REDIS_URL"] = valkey.url_of(socket_path)

    def _prepare_database(self) -> Banner:
        """Set up Django in this process: the database, the first project, the links."""
        import django

        django.setup()
        from django.db import connections

        from missioncontrol.up import database
        from missioncontrol.up.banner import make_banner

        database.ensure_migrated(report)
        # The children have their own connections; ours would stay open as long as they run.
        try:
            return make_banner(
                self.data, self.options, self.url, page_url=self.page_url, phone_url=self.phone_url
            )
        finally:
            connections.close_all()

    def _launch_web(self, supervisor: Supervisor, listener: socket.socket) -> None:
        if supervisor.has("web"):
            return
        port = self.https_listener.getsockname()[1] if self.https_listener else 0
        supervisor.start(processes.web(self.data, listener, self.certificate_files, port))
        if self.https_listener is not None:
            self.https_listener.close()  # web opens it itself in a moment
        if listener.family != socket.AF_INET:
            listener.close()

    def _serve(self, supervisor: Supervisor, banner: Banner) -> None:
        for command in (*processes.detectors(self.data), processes.worker(self.data)):
            supervisor.start(command)
        if not wait_until_serving(supervisor, self.url):
            return
        judging = [processes.judge(self.data)] if env.text("MISSIONCONTROL_JUDGE_URL") else []
        for command in (processes.beat(self.data), *judging):
            supervisor.start(command)
        self.data.write_status("serving", self.page_url)
        if self.options.json:
            print(banner.as_json(), flush=True)
        else:
            banner.write_for_person(sys.stdout)
        supervisor.run(each_tick=ExtrasRunner(self, supervisor).update)
        report("stopping")


def ensure_vapid_key(data: DataDir) -> None:
    """Make the key that signs pushes at the first start; it is never in the database."""
    if os.environ.get("VAPID_PRIVATE_KEY") or data.read_secret("vapid.key"):
        return
    from missioncontrol.notify.vapid import new_private_key

    data.write_secret("vapid.key", new_private_key())


def check_broker(url: str) -> None:
    """Raise BrokerUnreachable unless the server of REDIS_URL answers."""
    import redis

    # Without the password, because the error is shown on a terminal.
    where = url.rsplit("@", 1)[-1]
    try:
        client = redis.Redis.from_url(
            # Celery's scheme for a socket, which redis-py does not know.
            url.replace("redis+socket://", "unix://"),
            socket_timeout=3,
            socket_connect_timeout=3,
        )
        client.ping()
        client.close()
    except (redis.RedisError, ValueError) as error:
        raise BrokerUnreachable(where, str(error)) from None


def wait_until_serving(supervisor: Supervisor, url: str, *, limit_s: float = START_LIMIT_S) -> bool:
    """Wait for the first answer; False if somebody asked to stop meanwhile.

    The listening socket is open already, so the first request waits in its queue
    and is answered the moment the web process takes over: no polling delay.

    Raises:
        ChildFailed: The web process died.
        ChildSilent: Nothing answered in time.
    """
    deadline = time.monotonic() + limit_s
    while not is_serving(url):
        # A wrong setting may end web: report that at once, not after minutes.
        supervisor.check_running("web")
        if supervisor.is_stopping:
            return False
        if time.monotonic() > deadline:
            raise ChildSilent("web", supervisor.log_of("web"), limit_s)
    return True


def is_serving(url: str) -> bool:
    """Say whether the liveness probe answers 200."""
    target = urlsplit(url)
    probe = http.client.HTTPConnection(target.hostname or "", target.port or 80, timeout=3)
    try:
        probe.request("GET", "/healthz")
        return probe.getresponse().status == http.HTTPStatus.OK
    except (TimeoutError, OSError, http.client.HTTPException):
        return False
    finally:
        probe.close()


class ExtrasRunner:
    """What is started on request, and which part of it runs now."""

    def __init__(self, start: Start, supervisor: Supervisor) -> None:
        self._start = start
        self._supervisor = supervisor
        self._demo: DemoRequest | None = None
        self._phone_url = ""

    def update(self) -> None:
        """Start what is requested, and end what no longer is."""
        start, data = self._start, self._start.data
        request = extras.requested_demo(data.path)
        if request != self._demo:
            if self._demo is not None:
                # Its keys are those of another demo, whose agents must not go on.
                self._supervisor.stop_child("demo")
            self._demo = request
            if request is not None:
                model = start.options.demo_model
                demo = processes.demo(data, url=start.url, keys=request.keys, model_url=model)
                self._supervisor.start(demo)
        # Otherwise HTTPS was on from the start.
        if not start.phone_url:
            wanted, runs = extras.is_phone_requested(data.path), self._supervisor.has("phone")
            if wanted and not runs:
                self._open_phone_access()
            elif runs and not wanted:
                self._supervisor.stop_child("phone")
            elif runs and not extras.phone_status(data.path).url:
                port = int(self._phone_url.rsplit(":", 1)[1])
                # Reported only once it answers: before that, a phone's connection would be refused.
                with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
                    extras.record_phone_status(data.path, PhoneStatus(url=self._phone_url))

    def _open_phone_access(self) -> None:
        """Serve HTTPS on every address of this machine, and record what prevents it."""
        start, data = self._start, self._start.data
        try:
            listener, served = start.open_https()
        except CannotStart as error:
            # Otherwise every tick would try again and report the problem again.
            extras.request_phone(data.path, on=False)
            extras.record_phone_status(data.path, PhoneStatus(problem=str(error)))
            return
        # Opened to learn its number, and closed: web opens the address itself.
        with listener:
            port = listener.getsockname()[1]
            at = addresses.lan_address() or LOOPBACK
            self._phone_url = addresses.url_of(listener, at, scheme="https")
        extras.record_phone_status(data.path, PhoneStatus())
        self._supervisor.start(processes.phone_web(data, served, port))
