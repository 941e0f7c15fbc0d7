"""Read tables of a policy into frozen dataclasses; every wrong field is told.

Generic over the dataclass: its fields' types say what is expected, its
`__post_init__` what is in bounds. A new section needs no code here.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from guard.errors import PolicyInvalid

T = TypeVar("T")


class Problems:
    """Collects what is wrong, so that a person mends a file in one go."""

    def __init__(self) -> None:
        self._found: list[PolicyInvalid] = []

    def note(self, field: str, expected: str, got: object) -> None:
        """Take note of a wrong field."""
        self._found.append(PolicyInvalid(field, expected, got))

    def take(self, error: PolicyInvalid, path: str = "") -> None:
        """Take over what another reader found, as standing at `path`."""
        self._found.extend((error.under(path) if path else error).problems)

    def complain(self) -> None:
        """Raise the first problem, with the others in it, if there is one.

        Raises:
            PolicyInvalid: something is wrong.
        """
        if self._found:
            first, *others = self._found
            raise PolicyInvalid(first.field, first.expected, first.got, others)


def read_section(table: object, default: T, path: str, problems: Problems) -> T:
    """Give `default` with the fields a table names; wrong ones are noted, and stay."""
    if not isinstance(table, Mapping):
        problems.note(path, "a table of fields", table)
        return default
    shape: Any = type(default)
    known = types_of(shape)
    check_known(table, known, f"{path}.", problems)
    read = {
        name: _read(value, known[name], f"{path}.{name}", problems)
        for name, value in table.items()
        if name in known
    }
    good = {name: value for name, value in read.items() if value is not _WRONG}
    return _build(default, good, path, problems)


def check_known(
    table: Mapping[str, Any], known: Iterable[str], path: str, problems: Problems
) -> None:
    """Note every name that does not exist, with the ones that do."""
    names = tuple(known)
    for name in table:
        if name not in names:
            problems.note(f"{path}{name}", f"one of {', '.join(names)}", name)


@functools.cache
def types_of(shape: Any) -> dict[str, Any]:
    """Give the fields of a dataclass with their types, in order."""
    hints = get_type_hints(shape)
    return {known.name: hints[known.name] for known in fields(shape)}


def _build(default: T, values: dict[str, Any], path: str, problems: Problems) -> T:
    """Set the values; where bounds refuse, each alone tells which one is out."""
    try:
        return replace(default, **values)  # type: ignore[type-var]
    except PolicyInvalid as error:
        refused = 0
        for name, value in values.items():
            try:
                replace(default, **{name: value})  # type: ignore[type-var]
            except PolicyInvalid as one:
                problems.note(f"{path}.{name}", one.expected, one.got)
                refused += 1
        if not refused:
            name = error.field.rsplit(".", 1)[-1]
            problems.note(f"{path}.{name}", error.expected, error.got)
        return default


_WRONG: Any = object()


def _read(value: object, kind: Any, path: str, problems: Problems) -> Any:
    try:
        return read_value(value, kind, path)
    except PolicyInvalid as error:
        problems.take(error)
        return _WRONG


def read_value(value: object, kind: Any, path: str) -> Any:
    """Read one value as a type: numbers, words, yes or no, lists of words.

    Raises:
        PolicyInvalid: says what was expected instead.
    """
    origin = get_origin(kind)
    if origin in {Union, types.UnionType}:
        chosen = [one for one in get_args(kind) if one is not types.NoneType]
        return None if value is None else read_value(value, chosen[0], path)
    if origin is tuple:
        return _read_words(value, path)
    if origin is Literal:
        return _read_choice(value, get_args(kind), path)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(_read_choice(value, [str(one) for one in kind], path))
    return _READERS[kind](value, path)


def _read_choice(value: object, choices: Iterable[Any], path: str) -> Any:
    known = list(choices)
    if value not in known:
        raise PolicyInvalid(path, f"one of {', '.join(map(str, known))}", value)
    return value


def _read_words(value: object, path: str) -> tuple[str, ...]:
    words = list(value) if isinstance(value, list | tuple) else [None]
    if not all(isinstance(word, str) for word in words):
        raise PolicyInvalid(path, "a list of texts", value)
    return tuple(str(word) for word in words)


def _read_int(value: object, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise PolicyInvalid(path, "a whole number", value)
    return value


def _read_float(value: object, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PolicyInvalid(path, "a number", value)
    return float(value)


def _read_bool(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise PolicyInvalid(path, "true or false", value)
    return value


def _read_text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise PolicyInvalid(path, "a text", value)
    return value


def _read_decimal(value: object, path: str) -> Decimal:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        number = Decimal("NaN")
    if isinstance(value, bool) or not number.is_finite():
        raise PolicyInvalid(path, "a decimal number", value)
    return number


_READERS: dict[Any, Any] = {
    int: _read_int,
    float: _read_float,
    bool: _read_bool,
    str: _read_text,
    Decimal: _read_decimal,
}
