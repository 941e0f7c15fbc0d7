"""The examples in the server's docstrings."""

import doctest
import importlib
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
