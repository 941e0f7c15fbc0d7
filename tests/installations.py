"""Real installations: `manage.py up` as a person starts it, in a directory of its own."""

import http.cookiejar
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("MISSIONCONTROL_SHARED") or ROOT.parent / "shared")
"""Recorded runs and samples, which are read and never copied."""
SETTINGS = "missioncontrol.settings"

PATIENCE_S = 300.0
"""How long a test waits for what it knows will come: a machine of two noisy cores may need
minutes, and one that is quick never waits so long."""


INTERPRETER = """
import io, json, sys
from contextlib import redirect_stdout
import django
django.setup()
from django.db import connections
for line in sys.stdin:
    code, *sys.argv[1:] = json.loads(line)
    with redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    connections.close_all()
    print(json.dumps(printed.getvalue()), flush=True)
"""
"""Runs one piece of code after another; ends at the first that fails."""


class StartFailed(Exception):
    """`up` ended before it served; the text is its standard error."""

    def __init__(self, code, words):
        super().__init__(words)
        self.code = code


class Installation:
    """One Mission Control: its data directory, its parent process, its JSON line.

    `checkout`: another one than ours, which has an environment of its own. `folder`: where the
    person stands who starts it, if not in the checkout.
    """

    def __init__(self, data, *options, checkout=None, folder=None, **environment):
        self.data = Path(data)
        self.root = Path(checkout or ROOT)
        self.folder = folder or self.root
        self._python = str(self.root / ".venv/bin/python") if checkout else sys.executable
        self.options = options or ("--port", "0")
        self.environment = environment
        self.process: Any = None
        self._interpreter: Any = None
        self.line = {}
        self._opener = None

    @property
    def url(self):
        return self.line["url"]

    @property
    def agent_key(self):
        return self.line["agent_key"]

    @property
    def project(self):
        return self.line["project"]

    def start(self):
        """Start it and wait for its line; returns itself."""
        # A file: nobody reads a pipe, and a full one would stop the parent.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed when we go
        weakref.finalize(self, self._stderr.close)
        self.process = subprocess.Popen(
            [
                *(self._python, self.root / "manage.py", "up"),
                *("--json", "--data", self.data, *self.options),
            ],
            cwd=self.folder,
            env=self.own_environment(),
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
        )
        first = self.process.stdout.readline()
        if not first:
            raise StartFailed(self.stop(), self.output())
        self.line = json.loads(first)
        self._opener = None
        return self

    def output(self):
        """Return what its last start wrote to standard error so far."""
        self._stderr.seek(0)
        return self._stderr.read().decode()

    def own_environment(self):
        """Return the environment in which `manage.py` works on this installation."""
        own = {
            "MISSIONCONTROL_DATA": str(self.data),
            "DJANGO_SETTINGS_MODULE": SETTINGS,
            # As under `uv run`: when this test run is killed, it ends too.
            "UV_RUN_RECURSION_DEPTH": "1",
        }
        return {**_plain_environment(), **own, **self.environment}

    def stop(self, by=signal.SIGTERM):
        """End it; returns its exit code."""
        self.leave_python()
        if self.process.poll() is None:
            self.process.send_signal(by)
        code = self.process.wait(timeout=PATIENCE_S)
        self.process.stdout.close()
        return code

    @contextmanager
    def away(self, by=signal.SIGTERM):
        """Be gone for as long as this lasts; then serve again at the same address."""
        # Beside the port that it had may be one from which another process calls somebody.
        self.options = ("--port", str(urlsplit(self.url).port), "--https-port", "0")
        self.stop(by=by)
        try:
            yield
        finally:
            self.start()

    def restart(self, by=signal.SIGTERM):
        with self.away(by=by):
            pass

    def processes(self):
        """Return the pid of every process of this installation, with its command line."""
        marker = f"MISSIONCONTROL_DATA={self.data}".encode()
        ours = {pid for pid in all_pids() if marker in read_proc(pid, "environ").split(b"\0")}
        # Redis writes its title over its environment: it is found by its group.
        groups = {group_of(pid) for pid in ours} - {os.getpgrp(), None}
        ours |= {pid for pid in all_pids() if group_of(pid) in groups}
        return {pid: read_proc(pid, "cmdline").replace(b"\0", b" ").decode() for pid in ours}

    def pid_of(self, part):
        """Return the oldest process whose command line has this part."""
        pids = sorted(pid for pid, line in self.processes().items() if part in line)
        return pids[0] if pids else None

    def in_python(self, code, *args):
        """Run Python on its database, as who has the machine can; returns what that printed.

        All of it in one process: to start one that has Django takes two seconds.
        """
        if self._interpreter is None:
            self._interpreter = subprocess.Popen(
                [self._python, "-c", INTERPRETER],
                cwd=self.root,
                env=self.own_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        self._interpreter.stdin.write(json.dumps([code, *args]) + "\n")
        self._interpreter.stdin.flush()
        printed = self._interpreter.stdout.readline()
        if not printed:  # the next test's code gets a process of its own
            self.leave_python()
            raise AssertionError("it failed, as told on standard error")
        return json.loads(printed)

    def leave_python(self):
        """End the process of `in_python`, if there is one."""
        if self._interpreter:
            self._interpreter.communicate()
            self._interpreter = None

    def login_link(self):
        """Ask for another one-time link, as a person in the terminal does."""
        return subprocess.run(
            [self._python, "manage.py", "login_link"],
            cwd=self.root,
            env=self.own_environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    # --- talking to it ------------------------------------------------------------

    def cookies(self):
        """Sign in by the link, once, and return the session's cookies."""
        self._signed_in()
        return {cookie.name: cookie.value for cookie in self._jar}

    def get(self, path):
        """GET as the signed-in person; returns the parsed JSON."""
        with self._signed_in().open(self.url + path, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def ask(self, method, path, body, *, key=None, wait=None):
        """Send JSON as the agent; returns the status and the parsed answer."""
        prefer = {"Prefer": f"wait={wait}"} if wait else {}
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {key or self.agent_key}",
                "Content-Type": "application/json",
                **prefer,
            },
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return response.status, json.load(response)

    def _signed_in(self):
        if self._opener is None:
            self._jar = http.cookiejar.CookieJar()
            cookies = urllib.request.HTTPCookieProcessor(self._jar)
            self._opener = urllib.request.build_opener(cookies)
            self._opener.open(self.line["login_url"], timeout=PATIENCE_S).close()
        return self._opener


@contextmanager
def an_installation(data, *options, **environment):
    """Start an installation, and end it whatever happens."""
    with a_database() as database:
        running = Installation(data, *options, **database, **environment).start()
        try:
            yield running
        finally:
            running.stop()


@contextmanager
def a_database():
    """Give an empty database of its own where DATABASE_URL names a PostgreSQL server."""
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        yield {}
        return
    import psycopg

    name = f"mc_up_{uuid4().hex[:12]}"
    maintenance = urlsplit(url)._replace(path="/postgres").geturl()
    with psycopg.connect(maintenance, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            own = urlsplit(url)._replace(path=f"/{name}").geturl()
            yield {"DATABASE_URL": own, "MISSIONCONTROL_PREFIX": name}
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def wait_for(claim, *, seconds=PATIENCE_S, shown=lambda: ""):
    """Wait until a claim holds; returns what it answered. Else `shown` says what there was."""
    deadline = time.monotonic() + seconds
    while not (answer := claim()):
        assert time.monotonic() < deadline, f"it did not come true in time {shown()}"
        time.sleep(0.02)
    return answer


def all_pids():
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def read_proc(pid, name):
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def is_zombie(pid):
    return read_proc(pid, "stat").rpartition(b")")[2].split()[:1] == [b"Z"]


def group_of(pid):
    stat = read_proc(pid, "stat").rpartition(b")")[2].split()
    return int(stat[2]) if stat else None


def _plain_environment():
    """Leave out what belongs to the test run itself, its private broker too."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MISSIONCONTROL_", "DJANGO_", "PYTEST_", "UV_RUN"))
    }
    if kept.get("REDIS_URL", "").startswith("unix:"):
        del kept["REDIS_URL"]
    return kept
