"""Keep our processes running, and end all of them with us.

Every child joins the process group of a *watchdog* (see watchdog.py), so that
`kill -9` of this process ends them too. A terminal's Ctrl-C reaches only this
process, which then ends the children in order.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from missioncontrol.up import watchdog
from missioncontrol.up.errors import ChildFailed

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
TICK_S = 0.25
FIRST_BACKOFF_S = 0.2
MAX_BACKOFF_S = 15.0
HEALTHY_AFTER_S = 20.0
STOP_TIMEOUT_S = 8.0
LOG_LIMIT_BYTES = 8_000_000
LOG_CHECK_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How to start one child. `stops_last` marks one that the others need until they end."""

    name: str
    argv: list[str]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    pass_fds: tuple[int, ...] = ()
    stops_last: bool = False


@dataclass(slots=True, kw_only=True)
class Child:
    """A command and its current process."""

    command: Command
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    failures: int = 0
    due_at: float = 0.0

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None


class Supervisor:
    """Start children, restart those that die, and stop everything once."""

    def __init__(self, *, lock_fd: int, report: Callable[[str], None]) -> None:
        self._children: dict[str, Child] = {}
        self._report = report
        self._lock_fd = lock_fd
        self._alive_r, self._alive_w = os.pipe()
        self._wake_r, self._wake_w = os.pipe()
        self._stop_requests = 0
        self._log_checked_at = time.monotonic()
        # Read at the start: if `uv run` around us is killed, nobody forwards a signal.
        self._parent = os.getppid()
        self._has_ended = False
        self._watchdog = self._start_watchdog(group=0)
        self._group = self._watchdog.pid

    def _start_watchdog(self, *, group: int) -> subprocess.Popen[bytes]:
        """Start the watchdog as the leader of a new group (0), or in the existing one."""
        return subprocess.Popen(
            # Isolated and without site-packages: installed packages can neither slow nor break it.
            [sys.executable, "-I", "-S", watchdog.__file__, str(self._alive_r)],
            # A flock lasts as long as any descriptor of it: the watchdog's outlives us, until all
            # have ended.
            pass_fds=(self._alive_r, self._lock_fd),
            process_group=group,
            stdin=subprocess.DEVNULL,
        )

    def start(self, command: Command) -> None:
        """Start a child and keep it running from now on."""
        shorten_log(command.log)
        child = Child(command=command)
        self._children[command.name] = child
        self._spawn(child)

    def _spawn(self, child: Child) -> None:
        command = child.command
        with command.log.open("ab") as log:
            child.process = subprocess.Popen(
                command.argv,
                env={**os.environ, **command.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=command.pass_fds,
                process_group=self._group,
            )
        # Not the wall clock, which may be set: it would show a long life, or none.
        child.started_at = time.monotonic()

    def has(self, name: str) -> bool:
        """Say whether a child of that name is kept running."""
        return name in self._children

    def stop_child(self, name: str) -> None:
        """End a child for good."""
        # Removed first, or `restart_dead` would start it again.
        self._terminate([self._children.pop(name)])

    def log_of(self, name: str) -> Path:
        """Return a child's log file."""
        return self._children[name].command.log

    def check_running(self, name: str) -> None:
        """Raise ChildFailed if a child that should be starting has died."""
        child = self._children[name]
        if child.is_running:
            return
        last_line = ""
        with contextlib.suppress(OSError):
            lines = child.command.log.read_text(errors="replace").splitlines()
            last_line = next((line.strip() for line in reversed(lines) if line.strip()), "")
        raise ChildFailed(name, child.command.log, last_line)

    def catch_signals(self) -> None:
        """Turn Ctrl-C, SIGTERM and a closed terminal into an orderly end."""

        # Only counted, because a handler runs between any two lines of ours.
        def count_request(*_: object) -> None:
            self._stop_requests += 1

        # Python writes a byte for each signal, and only to a non-blocking pipe.
        os.set_blocking(self._wake_w, False)
        signal.set_wakeup_fd(self._wake_w, warn_on_full_buffer=False)
        # Without a handler a child's death is ignored, and no byte is written for it.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for stop_signal in STOP_SIGNALS:
            # `nohup` sets a hang-up to be ignored.
            is_ignored = signal.getsignal(stop_signal) is signal.SIG_IGN
            if not (is_ignored and stop_signal is signal.SIGHUP):
                signal.signal(stop_signal, count_request)

    @property
    def is_stopping(self) -> bool:
        """Whether somebody asked for the end, or the `uv run` around us is gone."""
        return self._stop_requests > 0 or (
            "UV_RUN_RECURSION_DEPTH" in os.environ and os.getppid() != self._parent
        )

    def run(self, *, each_tick: Callable[[], None] = lambda: None) -> None:
        """Watch the children until somebody asks to stop; call `each_tick` each time."""
        while not self.is_stopping:
            self.wait(TICK_S)
            self.restart_dead()
            each_tick()

    def wait(self, seconds: float) -> None:
        """Wait, but wake at once for a signal or a child's death."""
        # A signal writes a byte into this pipe (`catch_signals`).
        readable, _, _ = select.select([self._wake_r], [], [], seconds)
        if readable:
            os.read(self._wake_r, 4096)

    def restart_dead(self) -> None:
        """Restart children that died, once their pause is over; keep the logs small."""
        for child in self._children.values():
            at = time.monotonic()
            if child.is_running:
                continue
            if child.process is not None:
                code = child.process.returncode
                child.failures = (
                    0 if at - child.started_at > HEALTHY_AFTER_S else child.failures + 1
                )
                # Longer each time: the restarts of a child that cannot start would overload the
                # machine.
                wait = min(FIRST_BACKOFF_S * 2 ** max(child.failures - 1, 0), MAX_BACKOFF_S)
                child.process, child.due_at = None, at + wait
                ending = f"code {code}"
                if code is not None and code < 0:
                    ending = signal.Signals(-code).name
                self._report(
                    f"{child.command.name} ended ({ending}); again in {wait:.1f} s, "
                    f"its log is {child.command.log}"
                )
            elif at >= child.due_at:
                self._spawn(child)
        if self._watchdog.poll() is not None:
            # Into the existing group: the children stay in it, and are still ended with it.
            self._watchdog = self._start_watchdog(group=self._group)
        if time.monotonic() - self._log_checked_at > LOG_CHECK_S:
            self._log_checked_at = time.monotonic()
            for kept in self._children.values():
                shorten_log(kept.command.log)

    def stop(self) -> None:
        """End every child: those that others need last, and those that linger by force.

        The watchdog then ends whatever a child left behind.
        """
        if self._has_ended:
            return
        self._has_ended = True
        for stops_last in (False, True):
            running = [child for child in self._children.values() if child.is_running]
            self._terminate([one for one in running if one.command.stops_last is stops_last])
        # The watchdog waits for the end of this pipe.
        os.close(self._alive_w)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._watchdog.wait(timeout=5)

    def _terminate(self, group: list[Child]) -> None:
        for process in _processes(group):
            process.terminate()
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while any(c.is_running for c in group) and time.monotonic() < deadline:
            # Asked twice: a person who presses Ctrl-C again will not wait.
            if self._stop_requests > 1:
                break
            self.wait(0.05)
        for process in _processes(group):
            if process.poll() is None:
                process.kill()
                process.wait()


def _processes(group: list[Child]) -> Iterator[subprocess.Popen[bytes]]:
    return (c.process for c in group if c.process is not None)


def shorten_log(log: Path) -> None:
    """Move a long log's content aside and go on in the same file.

    Children write with O_APPEND, so they continue at the new end.
    """
    with contextlib.suppress(OSError):
        if log.stat().st_size > LOG_LIMIT_BYTES:
            shutil.copyfile(log, log.with_suffix(".old.log"))
            os.truncate(log, 0)
