"""What the package promises as a whole."""

from __future__ import annotations

import doctest
import importlib
import logging
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import guard
from guard.cli import COMMANDS, main

LISTED = """
import sys
before = set(sys.modules)
import guard, guard.engine, guard.policy, guard.redact, guard.judge.heuristics
from guard import *
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""
WITHOUT_RAPIDFUZZ = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
sys.modules["rapidfuzz"] = sys.modules["rapidfuzz.fuzz"] = None
from guard.judge.complaints import closest_path
for _ in range(3):
    print(closest_path("app/auth_token.py", ["app/auth/token.py", "README.md"]))
"""
WITHOUT_PRICES = """
import sys
sys.modules["genai_prices"] = None
from guard.pricing import price
from guard.turn import Usage
for n in range(3):
    print(price(Usage(input=n), model="gpt-4o-mini", provider="openai"))
"""
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(guard.__path__, "guard.")
    if not module.name.startswith(("guard.sdk", "guard.adapters", "guard.runtime"))
)


def in_a_fresh_process(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout


def test_importing_it_loads_the_standard_library_and_rapidfuzz_only():
    loaded = set(in_a_fresh_process(LISTED).split())

    assert loaded - set(sys.stdlib_module_names) <= {"guard", "rapidfuzz"}


@pytest.mark.parametrize(
    "module", ["guard.sdk.session", "guard.hooks.command", "guard.hooks.forwarding"]
)
def test_modules_that_start_often_load_no_asyncio(module):
    loaded = in_a_fresh_process(f"import sys, {module}; print(*sys.modules)").split()

    assert "asyncio" not in loaded
    assert not {"django", "pydantic"} & set(loaded)


def test_without_rapidfuzz_it_says_so_once_and_goes_on_by_words():
    output = in_a_fresh_process(WITHOUT_RAPIDFUZZ)

    assert output.count("rapidfuzz is not installed") == 1
    assert output.count("Match(path='app/auth/token.py'") == 3


def test_without_prices_it_says_so_once_and_nothing_costs_anything_known():
    output = in_a_fresh_process(WITHOUT_PRICES)

    assert output.count("genai-prices is not installed") == 1
    assert output.splitlines().count("None") == 3


def test_its_public_names_are_sorted_and_there():
    assert guard.__all__ == sorted(guard.__all__, key=lambda name: (not name.isupper(), name))
    assert set(guard.__all__) == set(guard._LAZY)
    for name in guard.__all__:
        assert getattr(guard, name).__name__ == name if name[1:2].islower() else True
    assert set(guard.__all__) <= set(dir(guard))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Enigne"):
        _ = guard.Enigne


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_its_docstrings_are_true(name):
    results = doctest.testmod(importlib.import_module(name))

    assert results.failed == 0


def test_the_examples_in_the_detectors_page_are_true():
    page = Path(__file__).resolve().parents[2] / "docs" / "detectors.md"

    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_can_be_asked_for_help(name, capsys):
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])

    assert caught.value.code == 0
    assert name in capsys.readouterr().out


def test_without_a_command_it_says_what_there_is(capsys):
    with pytest.raises(SystemExit) as caught:
        main([])

    assert caught.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


def test_nothing_logs_above_debug_on_import():
    assert logging.getLogger("guard").level == logging.NOTSET


def test_a_reader_that_hangs_up_early_is_no_error(tmp_path):
    turn = '{"role": "user", "content": "hi"}\n'
    for n in range(300):
        (tmp_path / f"{n}.jsonl").write_text(turn)
    files = " ".join(str(tmp_path / f"{n}.jsonl") for n in range(300))

    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m guard.cli replay --json {files} | head -1"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
