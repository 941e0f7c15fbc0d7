"""Settings told by the annotations of frozen dataclasses.

`calls: Annotated[int, within(2, 50), "what it means"] = 3` is all there is to say: the JSON schema
of the field follows from it, and from that the checks, the errors and the documentation.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from guard.errors import PolicyInvalid

T = TypeVar("T")
Schema = dict[str, Any]
TABLE = "a table of fields"
SHARE: Schema = {"exclusiveMinimum": 0, "maximum": 1}
_NAMES = {int: "integer", float: "number", bool: "boolean", str: "string"}
# The types of JSON schema: in words, and the Python types that stand for each.
_TYPES: dict[str, tuple[str, Any]] = {
    "integer": ("a whole number", int),
    "number": ("a number", int | float),
    "boolean": ("true or false", bool),
    "string": ("a text", str),
    "array": ("a list of texts", list | tuple),
    "object": (TABLE, Mapping),
}
_CHECKS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": operator.ge,
    "exclusiveMinimum": operator.gt,
    "maximum": operator.le,
    "enum": lambda value, words: value in words,
    "pattern": lambda value, pattern: re.fullmatch(pattern, value) is not None,
    "items": lambda values, schema: all(holds(schema, one) for one in values),
    "propertyNames": lambda tables, schema: all(holds(schema, name) for name in tables),
    "maxProperties": lambda tables, most: len(tables) <= most,
}


def within(low: float, high: float) -> Schema:
    """Give the range of a number, both ends included."""
    return {"minimum": low, "maximum": high}


def one_of(words: Iterable[str]) -> Schema:
    """Give the texts that may stand there."""
    return {"type": "string", "enum": list(words)}


def holds(schema: Schema, value: Any) -> bool:
    """Tell whether a value may stand there; the fields of a table check themselves."""
    is_kind = isinstance(value, _TYPES[schema["type"]][1])
    # Python takes True for 1; who writes it does not mean a number.
    is_kind = is_kind and isinstance(value, bool) is (schema["type"] == "boolean")
    return is_kind and all(_CHECKS[key](value, schema[key]) for key in schema if key in _CHECKS)


def expected(schema: Schema) -> str:
    """Say what may stand there."""
    named = schema.get("items") or schema.get("propertyNames") or schema
    if "enum" in named:
        return f"{'one' if named is schema else 'names out'} of {', '.join(named['enum'])}"
    words, _ = _TYPES[schema["type"]]
    if "minimum" in schema:
        return f"{words} from {schema['minimum']:g} to {schema['maximum']:g}"
    if "exclusiveMinimum" in schema:
        return f"{words} above {schema['exclusiveMinimum']:g}, at most {schema['maximum']:g}"
    if "maxProperties" in schema:
        return f"at most {schema['maxProperties']} tables"
    return f"{words} such as {', '.join(schema['examples'])}" if "examples" in schema else words


class Field(NamedTuple):
    """One setting: its Python type, and the JSON schema with its range, default and meaning."""

    kind: Any
    schema: Schema

    def read(self, value: Any, base: Any) -> Any:
        """Take a value as JSON or TOML tells it; a table is read over what stands there.

        Raises:
            PolicyInvalid: it may not stand there; paths begin below this field.
        """
        if isinstance(base, Section):
            return read_table(value, base)
        if isinstance(base, Mapping) and isinstance(value, Mapping):
            names, found, problems = self.schema.get("propertyNames"), dict(base), Problems()
            for name, table in value.items():
                with problems.under(str(name)):
                    if names and not holds(names, name):
                        raise PolicyInvalid("", expected(names), name)
                    found[name] = read_table(table, base.get(name) or get_args(self.kind)[1]())
            problems.complain()
            return found
        if not holds(self.schema, value):
            raise PolicyInvalid("", expected(self.schema), value)
        if self.schema["type"] == "object":
            return self.kind.from_mapping(value, path="")
        return self.kind(value)


class Section:
    """A table of a policy: refuses, named, what its annotations do not allow."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name, (_, schema) in fields_of(type(self)).items():
            value = getattr(self, name)
            if not (value is None or is_dataclass(value) or holds(schema, value)):
                raise PolicyInvalid(name, expected(schema), value)


def _fields_of(shape: Any) -> dict[str, Field]:
    hints, found = get_type_hints(shape, include_extras=True), dict[str, Field]()
    for one in fields(shape):
        hint = hints[one.name]
        kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        kind = get_args(kind)[0] if isinstance(kind, UnionType) else kind  # `X | None`
        schema = schema_of(kind)
        for note in notes:
            schema |= note if isinstance(note, dict) else {"description": note}
        if one.default is not None and one.default is not MISSING:
            schema["default"] = one.default
        found[one.name] = Field(kind, schema)
    return found


# Gives the fields of a dataclass by name, in order.
# Annotated: mypy takes a dataclass for no key of a cache.
fields_of: Callable[[Any], dict[str, Field]] = functools.cache(_fields_of)


def schema_of(kind: Any) -> Schema:
    """Give the JSON schema of a type: of a table, that of each of its fields."""
    shape = get_origin(kind) or kind
    if shape is tuple:
        return {"type": "array", "items": {"type": "string"}}
    if shape is Mapping:
        return {"type": "object", "additionalProperties": schema_of(get_args(kind)[1])}
    if issubclass(shape, StrEnum):
        return one_of(shape)
    if issubclass(shape, Section):
        properties = {name: one.schema for name, one in fields_of(shape).items()}
        return {"type": "object", "additionalProperties": False, "properties": properties}
    return {"type": _NAMES.get(kind, "object")}


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


def read_table(table: Any, base: T, known: Collection[str] | None = None) -> T:
    """Give `base` with the fields that a table sets; what is null is not said.

    `known`: what may be named, where it is not every field.

    Raises:
        PolicyInvalid: names every wrong field, with what was expected.
    """
    if not isinstance(table, Mapping):
        raise PolicyInvalid("", TABLE, table)
    if isinstance(base, dict):  # whoever knows what may be in it reads it later
        return {**base, **table}  # type: ignore[return-value]
    own, values, problems = fields_of(type(base)), {}, Problems()
    known = own if known is None else known
    # A name misspelt is told before the rest, which may be wrong because of it.
    for name in sorted(table, key=known.__contains__):
        with problems.under(str(name)):
            if name not in known:
                raise PolicyInvalid("", expected(one_of(known)), name)
            if name in own and table[name] is not None:
                values[name] = own[name].read(table[name], getattr(base, name))
    with problems.under(""):  # fields that do not go together
        base = replace(base, **values)  # type: ignore[type-var]
    problems.complain()
    return base
