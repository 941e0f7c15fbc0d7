"""Settings declared by the annotations of frozen dataclasses.

`calls: Annotated[int, within(2, 50), "what it means"] = 3` is a complete declaration: the JSON
schema of a table is made from it, and from that the checks, the errors and the documentation. A
table is first checked against its schema, which finds all errors; then it is laid over others.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from pkgutil import resolve_name
from typing import Any, Self, cast, get_type_hints

from guard.errors import PolicyInvalid

Schema = dict[str, Any]
_TYPES: dict[str, Any] = {
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "string": str,
    "array": (list, tuple),
    "object": Mapping,
}
# The keywords of JSON schema that we use for a single value; those for tables are handled apart.
_CHECKS: dict[str, Callable[[Any, Any], bool]] = {
    # In Python True is an int, but whoever writes true does not mean a number.
    "type": lambda value, name: (
        isinstance(value, _TYPES[name]) and isinstance(value, bool) is (name == "boolean")
    ),
    "minimum": operator.ge,
    "exclusiveMinimum": operator.gt,
    "maximum": operator.le,
    "enum": lambda value, words: value in words,
    "pattern": lambda value, pattern: re.fullmatch(pattern, value) is not None,
    "items": lambda values, schema: not any(problems(schema, one) for one in values),
    **dict.fromkeys(("maxLength", "maxItems", "maxProperties"), lambda one, most: len(one) <= most),
}


def typed(name: str, expected: str, **words: Any) -> Schema:
    """Return the schema of a type; `errorMessage`, also shown by editors, says what is expected."""
    return {"type": name, **words, "errorMessage": expected}


def within(low: float, high: float) -> Schema:
    """Return the schema of a number in a range, inclusive; of a whole number if `low` is one."""
    name, words = ("integer", "a whole") if isinstance(low, int) else ("number", "a")
    return typed(name, f"{words} number from {low:g} to {high:g}", minimum=low, maximum=high)


def one_of(words: Collection[str]) -> Schema:
    """Return the schema of a text that is one of these."""
    return typed("string", f"one of {', '.join(words)}", enum=[*words])


def record(fields: Schema) -> Schema:
    """Return the schema of a table with these fields and no others."""
    return typed("object", "a table of fields", properties=fields, additionalProperties=False)


SHARE = typed("number", "a number above 0, at most 1", exclusiveMinimum=0, maximum=1)


def _schema_of(shape: Any) -> Schema:
    hints, found = get_type_hints(shape, include_extras=True), dict[str, Schema]()
    for one in fields(shape):
        hint = hints[one.name]
        schema, *meaning = getattr(hint, "__metadata__", None) or (schema_of(hint),)
        found[one.name] = schema | dict(zip(("description",), meaning, strict=False))
        if one.default is not None and one.default is not MISSING:
            found[one.name]["default"] = one.default
    return record(found)


# Returns the JSON schema of a dataclass. Annotated: mypy does not take a dataclass for hashable.
schema_of: Callable[[Any], Schema] = functools.cache(_schema_of)


def problems(schema: Schema, value: Any) -> list[PolicyInvalid]:
    """Return everything that is wrong with a value; paths are relative to it."""
    for word in schema:
        if word in _CHECKS and not _CHECKS[word](value, schema[word]):
            return [PolicyInvalid("", schema["errorMessage"], value)]
    found: list[PolicyInvalid] = []
    if "reader" in schema:  # its reader checks what a schema cannot
        try:
            resolve_name(schema["reader"])(value)
        except PolicyInvalid as error:
            found += error.problems
    elif schema["type"] == "object":
        own, others = schema.get("properties", {}), schema["additionalProperties"]
        # Misspelt names come first: other errors may follow from them.
        for name in sorted(value, key=own.__contains__):
            inner = own.get(name, others)
            if not inner:
                found.append(PolicyInvalid(str(name), one_of(own)["errorMessage"], name))
            elif value[name] is not None or name not in own:  # null counts as a missing field
                found += [one.under(str(name)) for one in problems(inner, value[name])]
    return found


def check(schema: Schema, value: Any, name: str = "") -> None:
    """Raise PolicyInvalid with everything that is wrong with a value, if anything is."""
    if found := problems(schema, value):
        raise PolicyInvalid(found[0].field or name, found[0].expected, found[0].got, found[1:])


class Table:
    """A table of a policy; it raises PolicyInvalid for values that its annotations do not allow."""

    __slots__ = ()

    def __post_init__(self) -> None:
        schema = schema_of(type(self))
        own = schema["properties"]
        # Values that are dataclasses were checked when they were created.
        check(schema, {name: one for name in own if not is_dataclass(one := getattr(self, name))})

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Self:
        """Read a table over the defaults; PolicyInvalid: names every wrong field."""
        check(schema_of(cls), table)
        return cast("Self", merge(cls(), table))


def merge(base: Any, value: Any, schema: Schema | None = None) -> Any:
    """Lay a checked value over another; null in it changes nothing."""
    if schema and "reader" in schema:
        return resolve_name(schema["reader"])(value)
    if not isinstance(value, Mapping):
        return tuple(value) if isinstance(value, list) else value
    if isinstance(base, Table):
        own = schema_of(type(base))["properties"]
        named = [name for name in value if name in own and value[name] is not None]
        values = {name: merge(getattr(base, name), value[name], own[name]) for name in named}
        return replace(base, **values) if values else base  # type: ignore[type-var]
    base, named = base or {}, [name for name in value if value[name] is not None]
    return {**base, **{name: merge(base.get(name), value[name]) for name in named}}
