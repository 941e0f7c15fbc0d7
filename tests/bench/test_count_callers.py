"""What the counter of single readers takes for one."""

from __future__ import annotations

from pathlib import Path

from tests.bench.count_callers import count

MODULE = """
class Desk:
    def open(self):
        return self._once() + self._twice() + self._twice() + _passed_on(_key)

    def _once(self):
        return self._once()

    def _twice(self):
        return 2

class Shelf:
    def _twice(self):
        return 2

def _passed_on(key):
    return key

def _key():
    return 1

def _unread():
    return Desk()._unread
"""


def counted(folder: Path, **modules: str) -> dict[str, bool]:
    """Return the functions with one reader by name, and whether it calls them."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return {part.name: part.readers[0].called for part in count([str(folder)])[1]}


def test_a_reader_is_whoever_else_names_a_function_once(tmp_path):
    assert counted(tmp_path, desk=MODULE) == {"_once": True, "_passed_on": True, "_key": False}


def test_a_method_that_another_module_calls_too_has_two(tmp_path):
    other = "class Wide(Desk):\n    def close(self):\n        return self._once()\n"
    assert "_once" not in counted(tmp_path, desk=MODULE, wide=other)


def test_a_function_is_not_meant_by_what_another_module_calls_the_same(tmp_path):
    other = "def close(shelf):\n    return shelf._passed_on()\n"
    assert "_passed_on" in counted(tmp_path, desk=MODULE, shelf=other)


def test_what_yields_or_calls_itself_or_is_decorated_cannot_stand_in_its_caller(tmp_path):
    (tmp_path / "parts.py").write_text(
        "def take(n):\n    return _plain(n), _each(n), _down(n), _kept(n)\n"
        "def _plain(n):\n    return n\n"
        "def _each(n):\n    yield n\n"
        "def _down(n):\n    return _down(n - 1)\n"
        "@cache\ndef _kept(n):\n    return n\n"
    )
    once = count([str(tmp_path)])[1]
    assert {part.name: part.could_be_inlined for part in once} == {
        "_plain": True,
        "_each": False,
        "_down": False,
        "_kept": False,
    }


def test_migrations_are_left_out(tmp_path):
    (tmp_path / "migrations").mkdir()
    assert counted(tmp_path, **{"migrations/first": MODULE}) == {}
