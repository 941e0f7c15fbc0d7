"""A function called in a process of its own, with so much time and memory and no more."""

import mmap
import os
import time

import pytest

from missioncontrol.detection import sandbox
from missioncontrol.detection.sandbox import LimitExceeded, run_limited


def reserve(size):
    # As a thread's arena is, of libraries that start one a processor: addresses, and no memory.
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as reserved:
        return len(reserved)


def take(size):
    return len(bytearray(size))


def work_for_ever():
    while True:
        pass


def fail():
    raise ValueError("as it should")


def test_it_returns_what_the_function_returns():
    assert run_limited(os.path.join, "a", "b", cpu_s=5) == "a/b"


@pytest.mark.parametrize("module", ["pickle", "resource", "missioncontrol"])
def test_it_imports_nothing_from_the_working_directory(module, monkeypatch, tmp_path):
    (tmp_path / f"{module}.py").write_text("raise SystemExit('an agent wrote this')")
    monkeypatch.chdir(tmp_path)

    assert run_limited(len, "abc", cpu_s=5) == 3


def test_memory_that_is_only_reserved_is_not_counted():
    assert run_limited(reserve, 2 * sandbox.MAX_MEMORY, cpu_s=5) > sandbox.MAX_MEMORY


def test_used_memory_is_counted():
    with pytest.raises(LimitExceeded):
        run_limited(take, 2 * sandbox.MAX_MEMORY, cpu_s=5)


def test_a_function_that_computes_for_ever_is_ended():
    with pytest.raises(LimitExceeded):
        run_limited(work_for_ever, cpu_s=1)


def test_a_function_that_waits_for_ever_is_ended_too(monkeypatch):
    monkeypatch.setattr(sandbox, "CLOCK_FACTOR", 1)

    with pytest.raises(LimitExceeded):
        run_limited(time.sleep, 60, cpu_s=1)


def test_an_error_of_the_function_is_reported_with_its_message():
    with pytest.raises(RuntimeError, match="as it should"):
        run_limited(fail, cpu_s=5)
