"""Tests in forks of one process that has collected them, each with one function changed."""

from __future__ import annotations

import contextlib
import gc
import inspect
import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A changed file, what it held before, and the tests that are asked; no file: no change."""

    file: Path | None = None
    before: bytes = b""
    function: str | None = None
    line: int = 0
    tests: Sequence[str]
    time_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Pytest's exit code (None: out of time), and the test that failed."""

    code: int | None
    by: str | None = None


def wait_for(child: int, time_s: float | None) -> int | None:
    """Wait for the exit code of a process; None: it ran out of time and was killed."""
    ends = time.monotonic() + (time_s or float("inf"))
    try:
        while time.monotonic() < ends:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
    except KeyboardInterrupt:
        os.killpg(child, signal.SIGKILL)
        raise
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


class Forks:
    """A plugin of a pytest process, and the line to it from the process that asks."""

    def __init__(self) -> None:
        self.asking, self.answering = multiprocessing.Pipe()
        self.process = 0

    def begin(self, process: int) -> None:
        """Ask this process once it has read the tree; should it die, asking raises EOFError."""
        self.process = process
        self.answering.close()
        self.asking.recv()

    def ask(self, change: Change) -> Verdict | None:
        """Try a change. None: it takes effect only where its module is imported anew."""
        if change.file and change.function is None:
            return None
        self.asking.send(
            (change.file, change.before, change.function, change.line, change.tests, change.time_s)
        )
        message = self.asking.recv()
        return message and Verdict(code=message[0], by=message[1])

    def end(self) -> None:
        """End the process and wait for it."""
        self.asking.send(None)
        wait_for(self.process, 60)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer what is asked, instead of running everything."""
        self.asking.close()  # that who asks is gone is heard here
        self.items = defaultdict[str, list[pytest.Item]](list)
        for item in session.items:
            self.items[item.nodeid.split("[")[0]].append(item)
        _build_database(session)
        self.functions = _functions_by_place()
        gc.freeze()
        self.answering.send(True)
        with contextlib.suppress(EOFError):
            while asked := self.answering.recv():
                *change, tests, time_s = asked
                self.answering.send(self._try(change, tests, time_s))
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Say at once why a test failed: a fork ends without a summary."""
        if report.failed:
            os.write(1, f"\n{report.nodeid} {report.longreprtext}\n".encode())

    def _try(
        self, change: list[Any], tests: list[str], time_s: float | None
    ) -> tuple[int | None, str | None] | None:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.setsid()
                os.close(reading)
                code = self._run_changed(change, tests, writing)
            except BaseException as error:  # noqa: BLE001 - nothing may escape into the parent's code
                os.write(writing, repr(error).encode())
                code = 3
            os._exit(code)
        os.close(writing)
        ended = wait_for(child, time_s)
        by = os.read(reading, 4096).decode() or None
        os.close(reading)
        _clear_up(child)
        return None if ended == NOT_HERE else (ended, by)

    def _run_changed(self, change: list[Any], tests: list[str], writing: int) -> int:
        if change[0] and not self._put_in_place(*change):
            return NOT_HERE
        _take_own_database()
        items = [item for test in tests for item in self.items[test]]
        if not items:
            return 5
        for item, following in zip(items, [*items[1:], None], strict=True):
            session = item.session
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following or session)
            if session.testsfailed:
                os.write(writing, item.nodeid.split("[")[0].encode())
                return 1
        return 0

    def _put_in_place(self, file: Path, before: bytes, function: str, line: int) -> bool:
        """Give the function that is loaded the changed code; tell whether that is the change."""
        old = [*_outermost(compile(before, str(file), "exec"))]
        new = [*_outermost(compile(file.read_bytes(), str(file), "exec"))]
        name = function.partition(".<locals>")[0]
        pairs = [
            (was, now)
            for was, now in zip(old, new, strict=True)
            if was.co_qualname == name and was.co_firstlineno <= line
        ]
        was, now = pairs[-1]
        if was == now:
            return False
        loaded = self.functions[_place(was)]
        try:
            for one in loaded:
                one.__code__ = now
        except ValueError:  # it no longer uses a variable of its surroundings
            return False
        return bool(loaded)


NOT_HERE = 99
"""The exit code of a fork that cannot put a change in place."""


def _outermost(code: CodeType) -> Iterator[CodeType]:
    """Give the functions and methods of a module, not those inside them."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            if part.co_flags & inspect.CO_OPTIMIZED:
                yield part
            else:
                yield from _outermost(part)


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _functions_by_place() -> dict[tuple[str, str, int], list[FunctionType]]:
    found = defaultdict[tuple[str, str, int], list[FunctionType]](list)
    for one in gc.get_objects():
        if type(one) is FunctionType:  # a lazy object would wake up when asked for its class
            found[_place(one.__code__)].append(one)
    return found


def _build_database(session: pytest.Session) -> None:
    """Run a test that needs the database, and let what it built for all stand."""
    for item in session.items:
        function = getattr(item, "function", None)
        if (
            "project" in getattr(item, "fixturenames", ())
            and not inspect.iscoroutinefunction(function)
            and not any(mark.kwargs for mark in item.iter_markers("django_db"))
        ):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=session)
            session.testsfailed = 0
            from django.db import connections

            connections.close_all()
            return


def _take_own_database() -> None:
    """Copy SQLite's file: a fork that is killed leaves the next one's as it was."""
    connections = cast("Any", sys.modules.get("django.db")).connections
    if connections["default"].vendor == "sqlite":
        settings = connections["default"].settings_dict
        if Path(settings["NAME"]).is_file():
            own = f"{settings['NAME']}.{os.getpid()}"
            shutil.copy(settings["NAME"], own)
            settings["NAME"] = own


def _clear_up(child: int) -> None:
    """Remove what a fork left: processes and the copy of the database."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    data = os.environ.get("MISSIONCONTROL_DATA")
    for left in Path(data).glob(f"*.{child}*") if data else ():
        left.unlink(missing_ok=True)
