"""A pytest plugin that notes which functions of ours each test calls (`-p tests.bench.calls`).

Only calls are traced, not lines: that costs a suite about twice its time, and tells
which tests can mind a change inside a function. Written to $CALLS_FILE as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import TypedDict

import pytest

HERE = f"{Path.cwd()}/"
OURS = (f"{HERE}guard/", f"{HERE}missioncontrol/")

AT_IMPORT = ""
"""In a test's place: what is called before the first, as modules are imported."""


class Calls(TypedDict):
    """How long a test took, in seconds, and what it called, as `path:name` of a function."""

    seconds: float
    functions: list[str]


_by_test: dict[str, Calls] = {}
_failed: set[str] = set()


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Iterator[None]:
    """Trace what the settings, their apps and the tests' surroundings import."""
    with _tracing(AT_IMPORT):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Trace what the tests import."""
    with _tracing(AT_IMPORT):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Trace a test with its fixtures, in every thread it starts."""
    with _tracing(item.nodeid.split("[")[0]):
        return (yield)


@contextmanager
def _tracing(test: str) -> Iterator[None]:
    seen: dict[int, CodeType] = {}  # by its place: to hash code takes long

    def note(frame: FrameType, event: str, argument: object) -> None:
        seen[id(frame.f_code)] = frame.f_code

    began = time.perf_counter()
    threading.settrace(note)
    sys.settrace(note)
    try:
        yield
    finally:
        sys.settrace(None)
        threading.settrace(None)
        _keep(test, time.perf_counter() - began, seen.values())


def _keep(test: str, seconds: float, seen: Iterable[CodeType]) -> None:
    known = _by_test.setdefault(test, {"seconds": 0.0, "functions": []})
    ours = {
        f"{code.co_filename.removeprefix(HERE)}:{code.co_qualname}"
        for code in seen
        if code.co_filename.startswith(OURS)
    }
    known["seconds"] += seconds
    known["functions"] = sorted({*known["functions"], *ours})


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Leave out what does not pass: it would mind everything."""
    if report.failed:
        _failed.add(report.nodeid.split("[")[0])


def pytest_sessionfinish() -> None:
    """Write what was called."""
    _write()


def pytest_runtest_logfinish() -> None:
    """Write it now and then: a long run that is broken off has not been in vain."""
    if len(_by_test) % 10 == 0:
        _write()


def _write() -> None:
    passed = {test: calls for test, calls in _by_test.items() if test not in _failed}
    Path(os.environ["CALLS_FILE"]).write_text(json.dumps(passed), "utf-8")
