"""The changes themselves, and who is asked; what becomes of them is measured, not asserted."""

from __future__ import annotations

import ast

import pytest

from tests.bench.calls import AT_IMPORT
from tests.bench.mutate import Mutant, find_callers, mutants_of, runs_at_import


def changed(source: str) -> set[str]:
    text = source.encode()
    return {mutant.written_into(text).decode() for mutant in mutants_of("m.py", text)}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("a < b", {"(a >= b)", "(a <= b)"}),
        ("a and b", {"(a or b)", "(a)", "(b)"}),
        ("a if b else c", {"(a if not b else c)"}),
        ("not a", {"(a)"}),
        ("f(3)", {"f((4))", "f((2))"}),
        ("0.0", {"(0.1)", "(-0.1)"}),
        ("any(x)", {"(all(x))"}),
        ("[x for x in y if x]", {"[x for x in y if (not x)]"}),
    ],
)
def test_one_thing_changes_at_a_time(source, wanted):
    assert changed(source) == wanted


def test_what_does_not_run_stays_as_it_is():
    assert changed("def f(a: Literal[1]) -> Literal[2]: 'Give 3.'") == set()
    assert changed("@once(1)\nclass A:\n    a: Literal[1]\n") == set()


def test_a_change_knows_the_function_it_stands_in():
    source = b"A = 1\n@cached\ndef f():\n    'K\xc3\xb6rper'; return not x\n"

    assert {mutant.function for mutant in mutants_of("m.py", source)} == {None, "f"}
    assert all(ast.parse(mutant.written_into(source)) for mutant in mutants_of("m.py", source))


def calls_of(**functions):
    return {test: {"seconds": 0.1, "functions": places} for test, places in functions.items()}


def a_change(function, module="guard/m.py"):
    return Mutant(module=module, line=1, function=function, span=(0, 1), was="1", now="2")


def test_it_asks_the_tests_that_call_the_changed_function(tmp_path):
    calls = calls_of(one=["guard/m.py:f"], other=["guard/m.py:g"])

    assert find_callers(a_change("f"), calls, tmp_path) == {"one"}
    assert find_callers(a_change("h"), calls, tmp_path) == set()


def test_what_runs_at_import_is_asked_of_whoever_calls_the_module(tmp_path):
    calls = calls_of(one=["guard/m.py:f"], other=["guard/n.py:f"])
    calls |= {AT_IMPORT: {"seconds": 1.0, "functions": ["guard/m.py:rule"]}}

    for function in (None, "rule", "rule.<locals>.proves"):
        assert runs_at_import(a_change(function), calls)
        assert find_callers(a_change(function), calls, tmp_path) == {"one"}
    assert not runs_at_import(a_change("f"), calls)


def test_types_alone_are_asked_of_whoever_calls_those_that_import_them(tmp_path):
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard/n.py").write_text("from guard.m import A\n")
    (tmp_path / "guard/o.py").write_text("from guard import m\n")
    (tmp_path / "guard/p.py").write_text("from guard import q\n")
    calls = calls_of(one=["guard/n.py:f"], two=["guard/o.py:f"], three=["guard/p.py:f"])

    assert find_callers(a_change(None), calls, tmp_path) == {"one", "two"}
