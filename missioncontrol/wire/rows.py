"""Convert stored rows and JSON columns to wire rows, and types that read incoming fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Strict, TypeAdapter

T = TypeVar("T")


def row_of(kind: type[T], source: object, /, **more: Any) -> T:
    """Return a stored row as a wire row: its attributes of the same names, and `more`.

    Attributes that the wire row does not name are left out; a related row becomes its id.
    """
    columns = _columns(kind, type(source))
    same = {name: getattr(source, column) for name, column in columns.items() if name not in more}
    return kind(**same, **more)


def _find_columns(kind: Any, source: Any) -> Mapping[str, str]:
    """Return, for each field of a wire row, the name of the source's attribute."""
    names = [field.name for field in fields(kind)]
    # Only the id of a related row, because reading the row itself would take a query.
    return {name: f"{name}_id" if hasattr(source, f"{name}_id") else name for name in names}


# Cached per pair of classes, because whole boards are converted with it.
_columns: Callable[[Any, Any], Mapping[str, str]] = cache(_find_columns)


# Cached per class: making an adapter takes milliseconds.
adapter_of: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def to_json(value: object) -> Any:
    """Return a dataclass as a JSON column stores it."""
    return adapter_of(type(value)).dump_python(value, mode="json")


def from_json(kind: type[T], stored: object) -> T:
    """Return the dataclass that a JSON column holds."""
    found: T = adapter_of(kind).validate_python(stored)
    return found


StrictInt = Annotated[int, Strict()]
"""A whole number; refuses `true`, which Python treats as 1."""


Moment = Annotated[
    datetime, AfterValidator(lambda moment: moment if moment.tzinfo else moment.replace(tzinfo=UTC))
]
"""A time; one without a zone is read as UTC, as in a query string."""
