"""No regular expression of the edge or the engine can be made slow by a text."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import guard
import missioncontrol
from guard.redact import redact
from tests.property.hostile import Shape, shapes

PACKAGES = (guard, missioncontrol)
NOT_IMPORTED = re.compile(r".*\.(?:__main__|migrations\..*)")
SHORT, LONG = 1_000, 16_000
MOST_TIMES_PLAIN = 100
"""Measured: 30 at most; an expression that takes quadratic time takes 500 and more."""
PLAIN = "The quick brown fox, id 42, jumped over src/dogs.py and 12 lazy lines. "
ANCHORED = {"match", "fullmatch"}
EXPRESSION_WORDS = re.compile(
    r"\bre\.[a-z]+\(|\.(?:match|fullmatch|search|finditer|findall|sub|subn|split)\("
)


def modules() -> Iterator[Any]:
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if NOT_IMPORTED.fullmatch(found.name):
                continue
            try:
                yield importlib.import_module(found.name)
            except ImportError:  # an adapter of a framework that is not installed
                if not found.name.startswith("guard.adapters."):
                    raise


def patterns_in(value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
    """Find the expressions of a module's value, in tuples, tables and small classes too."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, dict):
        yield from patterns_in(tuple(value.values()), depth)
    elif depth < 4 and isinstance(value, tuple | list | set | frozenset):
        for part in value:
            yield from patterns_in(part, depth + 1)
    elif depth < 4 and is_dataclass(value):
        parts = [getattr(value, field.name, None) for field in fields(value)]
        yield from patterns_in(parts, depth)


def syntax(module: Any) -> ast.AST:
    """Parse a module that asks an expression; to parse all takes seconds of every worker."""
    source = Path(module.__file__).read_text()
    return ast.parse(source if EXPRESSION_WORDS.search(source) else "")


def inline(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Find `re.search("…", text)` and its like: the method and the expression."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            yield node.func.attr, node.args[0].value


@cache
def expressions() -> dict[tuple[re.Pattern[str], bool], str]:
    """Return every expression, and whether it is only ever asked about a text's start."""
    used: dict[tuple[str, str], set[str]] = defaultdict(set)
    named: dict[re.Pattern[str], tuple[str, str]] = {}
    found: dict[tuple[re.Pattern[str], bool], str] = {}
    for module in modules():
        tree = syntax(module)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                used[module.__name__, node.value.id].add(node.attr)
        for method, pattern in inline(tree):
            if method not in {"compile", "escape"}:
                found[re.compile(pattern), method in ANCHORED] = f"{module.__name__}: {pattern}"
        for name, value in vars(module).items():
            for compiled in patterns_in(value):
                if isinstance(compiled.pattern, str):
                    named.setdefault(compiled, (module.__name__, name))
    for compiled, (module_name, name) in named.items():
        methods = used[module_name, name]
        anchored = bool(methods) and methods <= ANCHORED
        found.setdefault((compiled, anchored), f"{module_name}.{name}")
    return found


def cpu_s(pattern: re.Pattern[str], text: str, *, anchored: bool, times: int = 1) -> float:
    took = []
    for _ in range(times):
        began = time.thread_time()
        if anchored:
            pattern.match(text)
        else:
            for _match in pattern.finditer(text):
                pass
        took.append(time.thread_time() - began)
    return min(took)


def plain_s() -> float:
    text = PLAIN * (LONG // len(PLAIN))
    took = []
    for _ in range(5):
        began = time.thread_time()
        redact(text)
        took.append(time.thread_time() - began)
    return min(took)


def test_the_walk_finds_them():
    assert len(expressions()) > 150
    assert any("guard.reading.outcome" in where for where in expressions().values())
    for package in ("api", "demo", "notify"):
        assert any(f"missioncontrol.{package}" in where for where in expressions().values())


def slowest(pattern: re.Pattern[str], *, anchored: bool) -> list[Shape]:
    """Return the shapes that take longest, the worst first, as short texts tell."""
    return sorted(
        shapes(pattern), key=lambda shape: -cpu_s(pattern, shape.text(SHORT), anchored=anchored)
    )[:4]


def test_a_quadratic_expression_is_told():
    slow = re.compile(r"a[^b]*c")
    worst = slowest(slow, anchored=False)[0]

    assert cpu_s(slow, worst.text(LONG), anchored=False) > MOST_TIMES_PLAIN * plain_s()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "anchored"),
    [
        pytest.param(*key, id=where)
        for key, where in sorted(expressions().items(), key=lambda i: i[1])
    ],
)
def test_a_hostile_text_takes_little_more_than_a_plain_one(pattern, anchored):
    for shape in slowest(pattern, anchored=anchored):
        # One look may have been interrupted: what is quadratic is slow every time.
        took = (cpu_s(pattern, shape.text(LONG), anchored=anchored) for _ in range(5))
        assert any(once < MOST_TIMES_PLAIN * plain_s() for once in took), shape
