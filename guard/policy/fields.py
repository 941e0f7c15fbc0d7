"""Settings told by the annotations of frozen dataclasses.

From them follow the checks, the reader, the errors, the JSON schema, a form and the documentation:
`calls: Annotated[int, Within(2, 50), "what it means"] = 3` is all there is to say.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from guard.errors import PolicyInvalid

T = TypeVar("T")
TABLE = "a table of fields"
_TEXT = ("a text", "string", str)
_KINDS: dict[Any, tuple[str, str, Any]] = {
    int: ("a whole number", "integer", int),
    float: ("a number", "number", (int, float)),
    bool: ("true or false", "boolean", bool),
}
"""In words, in JSON schema, and the Python types that stand for it."""


@dataclass(frozen=True, slots=True)
class Within:
    """The range of a number, both ends included; `above`: the lower one is not."""

    low: float
    high: float
    above: bool = False

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high and not (self.above and value == self.low)

    def __str__(self) -> str:
        words = "above {:g}, at most {:g}" if self.above else "from {:g} to {:g}"
        return words.format(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Like:
    """The shape of a text: told to people in words, held against a regular expression."""

    words: str
    pattern: str

    def __contains__(self, value: str) -> bool:
        return re.fullmatch(self.pattern, value) is not None

    def __str__(self) -> str:
        return f"that is {self.words}"


@dataclass(frozen=True, slots=True)
class Field:
    """One setting: its type, its default, the range or the words allowed, what it means.

    `kind` is a number, a text, a `StrEnum`, a tuple of texts, a table, or a table for each name.
    """

    name: str
    kind: Any
    default: Any
    allowed: Any
    says: str

    @property
    def expected(self) -> str:
        """Say what may stand there."""
        if isinstance(self.allowed, tuple):
            return f"{'names out' if self.is_list else 'one'} of {', '.join(self.allowed)}"
        words = "a list of texts" if self.is_list else _KINDS.get(self.kind, _TEXT)[0]
        return f"{words} {self.allowed}" if self.allowed else words

    @property
    def is_list(self) -> bool:
        """Tell whether a list of values stands there."""
        return get_origin(self.kind) is tuple

    @property
    def is_table(self) -> bool:
        """Tell whether further fields stand there, or a table for each of some names."""
        return is_dataclass(self.kind) or get_origin(self.kind) is Mapping

    def holds(self, value: Any) -> bool:
        """Tell whether a value may stand there; tables check themselves."""
        if self.is_list:
            one = replace(self, kind=str)
            return isinstance(value, list | tuple) and all(map(one.holds, value))
        if self.is_table:
            return True
        is_kind = isinstance(value, _KINDS.get(self.kind, _TEXT)[2])
        is_kind = is_kind and isinstance(value, bool) is (self.kind is bool)
        return is_kind and (self.allowed is None or value in self.allowed)

    def read(self, value: Any, base: Any) -> Any:
        """Take a value as JSON or TOML tells it; a table is read over what stands there.

        Raises:
            PolicyInvalid: it may not stand there; paths begin below this field.
        """
        if get_origin(self.kind) is Mapping:
            return _read_tables(value, base, get_args(self.kind)[1], self.allowed)
        if is_section(self.kind):
            return read_table(value, base)
        if self.is_table and isinstance(value, Mapping):
            return self.kind.from_mapping(value, path="")
        if self.is_table or not self.holds(value):
            raise PolicyInvalid("", TABLE if self.is_table else self.expected, value)
        return tuple(value) if self.is_list else self.kind(value)

    def schema(self) -> dict[str, Any]:
        """Give its JSON schema."""
        if self.is_table:
            return schema_of(self.kind)
        found: dict[str, Any] = {"type": _KINDS.get(self.kind, _TEXT)[1]}
        if isinstance(self.allowed, tuple):
            found["enum"] = list(self.allowed)
        if self.is_list:
            found = {"type": "array", "items": found}
        if isinstance(self.allowed, Within):
            low = "exclusiveMinimum" if self.allowed.above else "minimum"
            found |= {low: self.allowed.low, "maximum": self.allowed.high}
        if isinstance(self.allowed, Like):
            found["pattern"] = f"^(?:{self.allowed.pattern})$"
        if self.default is not None:
            found["default"] = list(self.default) if self.is_list else self.default
        return {**found, "description": self.says} if self.says else found


class Section:
    """A table of a policy: refuses, named, what its annotations do not allow."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name, one in fields_of(type(self)).items():
            value = getattr(self, name)
            if value is not None and not one.holds(value):
                raise PolicyInvalid(name, one.expected, value)


def is_section(kind: Any) -> bool:
    """Tell whether a type is a table of a policy."""
    return isinstance(kind, type) and issubclass(kind, Section)


def _fields_of(shape: Any) -> dict[str, Field]:
    hints, found = get_type_hints(shape, include_extras=True), {}
    for one in fields(shape):
        hint, notes = hints[one.name], dict[type, Any]()
        while get_origin(hint) in {Annotated, Union, UnionType}:
            hint, *others = get_args(hint)
            notes |= {type(note): note for note in others}
        words = tuple(hint) if isinstance(hint, type) and issubclass(hint, StrEnum) else None
        allowed = notes.get(Within) or notes.get(Like) or notes.get(tuple) or words
        found[one.name] = Field(one.name, hint, one.default, allowed, notes.get(str, ""))
    return found


fields_of: Callable[[Any], dict[str, Field]] = functools.cache(_fields_of)
"""Gives the fields of a dataclass by name, in order."""


def schema_of(kind: Any) -> dict[str, Any]:
    """Give the JSON schema of a table, or of a table for each name."""
    if get_origin(kind) is Mapping:
        return {"type": "object", "additionalProperties": schema_of(get_args(kind)[1])}
    if not is_section(kind):
        return {"type": "object"}
    properties = {name: one.schema() for name, one in fields_of(kind).items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


class Problems(list[PolicyInvalid]):
    """Collects what is wrong, so that a person mends a file in one go."""

    @contextmanager
    def under(self, path: str) -> Iterator[None]:
        """Take over what is wrong with what stands at `path`, and go on."""
        try:
            yield
        except PolicyInvalid as error:
            self.extend(error.under(path).problems)

    def complain(self) -> None:
        """Raise the first problem, with the others in it, if there is one."""
        for first in self[:1]:
            raise PolicyInvalid(first.field, first.expected, first.got, self[1:])


def check_names(names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse every name that does not exist, telling the ones that do."""
    expected = f"one of {', '.join(known)}"
    Problems(
        PolicyInvalid(str(name), expected, name) for name in names if name not in known
    ).complain()


def read_table(table: Any, base: T, known: Iterable[str] | None = None) -> T:
    """Give `base` with the fields that a table sets; what is null is not said.

    `known`: what may be named, where it is not every field.

    Raises:
        PolicyInvalid: names every wrong field, with what was expected.
    """
    if not isinstance(table, Mapping):
        raise PolicyInvalid("", TABLE, table)
    own, values, problems = fields_of(type(base)), {}, Problems()
    with problems.under(""):
        check_names(table, own if known is None else known)
    for name, value in table.items():
        if name in own and value is not None:
            with problems.under(str(name)):
                values[name] = own[name].read(value, getattr(base, name))
    with problems.under(""):  # fields that do not go together
        base = replace(base, **values)  # type: ignore[type-var]
    problems.complain()
    return base


def _read_tables(tables: Any, base: Mapping[str, Any], kind: Any, known: Any) -> dict[str, Any]:
    if not isinstance(tables, Mapping):
        raise PolicyInvalid("", "a table for each name", tables)
    found, problems = dict(base), Problems()
    if not is_section(kind):  # who knows what may be in them reads them later
        both = [name for name in tables if isinstance(tables[name], Mapping) and name in found]
        return {**found, **tables} | {name: {**found[name], **tables[name]} for name in both}
    with problems.under(""):
        check_names(tables, known)
    for name in filter(known.__contains__, tables):
        with problems.under(name):
            found[name] = read_table(tables[name], base.get(name) or kind())
    problems.complain()
    return found
