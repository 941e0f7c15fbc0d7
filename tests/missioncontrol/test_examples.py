"""The examples in the server's docstrings, and the errors that docstrings name."""

import builtins
import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "missioncontrol").rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_its_docstrings_are_true(name):
    results = doctest.testmod(importlib.import_module(name))

    assert results.attempted
    assert results.failed == 0


def test_the_errors_that_docstrings_announce_exist():
    sources = [
        path.read_text("utf-8")
        for room in ("guard", "missioncontrol")
        for path in (ROOT / room).rglob("*.py")
    ]
    defined = {name for source in sources for name in re.findall(r"(?:class|import) (\w+)", source)}
    sections = [
        part for source in sources for part in re.findall(r"Raises:\n((?: +.+\n)+)", source)
    ]
    announced = {
        name for part in sections for name in re.findall(r"^ +([A-Z]\w+): ", part, re.MULTILINE)
    }

    assert announced
    assert announced - defined - set(vars(builtins)) == set()
